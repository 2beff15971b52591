// When to publish: on a grid of stamps, so that everybody with the same rate picks the same ones.
#pragma once

#include <cmath>
#include <cstdint>

#include <builtin_interfaces/msg/time.hpp>

namespace vms_ph_ros2_control {

class Sampling {
 public:
  explicit Sampling(double rate) : rate_(rate) {}

  /// Whether this stamp is the first in its slot of the grid.
  bool is_due(const builtin_interfaces::msg::Time& stamp) noexcept {
    // The slot within a second is enough to see that it changed, and keeps the digits.
    const auto slot = static_cast<std::int64_t>(std::floor(stamp.nanosec * 1e-9 * rate_ + 1e-6));
    const bool due = stamp.sec != sec_ || slot != slot_;
    sec_ = stamp.sec;
    slot_ = slot;
    return due;
  }

 private:
  double rate_;
  std::int32_t sec_ = 0;
  std::int64_t slot_ = -1;
};

}  // namespace vms_ph_ros2_control
