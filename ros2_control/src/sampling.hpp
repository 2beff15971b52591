// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
