// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// Publication times on a grid of stamps, so that all publishers of one rate choose the same stamps.
#pragma once

#include <cmath>
#include <cstdint>

#include <builtin_interfaces/msg/time.hpp>

namespace vms_ph_ros2_control {

class Sampling {
 public:
  explicit Sampling(double rate) : rate_(rate) {}

  /// Whether this stamp is the first in its interval of the grid.
  bool is_due(const builtin_interfaces::msg::Time& stamp) noexcept {
    // Seconds since 1970 use most digits of a double: whole intervals are counted separately.
    const double until = stamp.sec * rate_, whole = std::floor(until);
    const double rest = until - whole + stamp.nanosec * 1e-9 * rate_;
    const auto slot =
        static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(std::floor(rest + 1e-6));
    const bool due = slot != slot_;
    slot_ = slot;
    return due;
  }

 private:
  double rate_;
  std::int64_t slot_ = -1;
};

}  // namespace vms_ph_ros2_control
