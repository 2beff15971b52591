// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A command interface whose last value acts for a limited time.
#pragma once

#include <cmath>
#include <limits>

#include <hardware_interface/handle.hpp>

namespace vms_ph_ros2_control {

/// Reads a command and keeps it until a timeout: a controller that no longer writes must not drive
/// the robot with its last effort. A value that was read is replaced by one of the next two
/// doubles, in turn, so that any that is written again is seen, at the latest in the next cycle,
/// and controllers that read their last command back, as a JointTrajectoryController does, find it
/// there.
class TimedCommand {
 public:
  using Handle = hardware_interface::CommandInterface::SharedPtr;

  TimedCommand() = default;
  explicit TimedCommand(Handle handle) : handle_(std::move(handle)) {}

  /// Forget the command, and what was written.
  void clear() noexcept {
    command_ = last_value_ = read_marker_ = kNone;
    if (handle_) std::ignore = handle_->set_value(kNone);
  }

  /// What was written last; NaN for nothing.
  double last_written_command() const noexcept { return handle_->get_optional().value_or(kNone); }

  /// The command of now; NaN when there is none.
  ///
  /// @param period   since the last call, s.
  /// @param timeout  time for which a command acts, s.
  double read(double period, double timeout) noexcept {
    const auto value = handle_ ? handle_->get_optional() : std::nullopt;
    const bool is_finite = value && std::isfinite(*value);
    if (is_finite && *value != read_marker_) {
      command_ = last_value_ = *value;
      age_ = 0.0;
    } else if (period > 0.0) {
      age_ += period;
      if (age_ > timeout) command_ = kNone;
    }
    if (is_finite) {
      // The largest doubles have no finite neighbours above.
      const double bound = last_value_ > 1.0 ? 0.0 : std::numeric_limits<double>::infinity();
      const double neighbour = std::nextafter(last_value_, bound);
      read_marker_ = read_marker_ == neighbour ? std::nextafter(neighbour, bound) : neighbour;
      std::ignore = handle_->set_value(read_marker_);
    }
    return command_;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Handle handle_;
  double command_ = kNone, last_value_ = kNone, read_marker_ = kNone, age_ = 0.0;
};

}  // namespace vms_ph_ros2_control
