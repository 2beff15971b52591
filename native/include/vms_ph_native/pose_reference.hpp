// A pose that moves smoothly to a target, with its velocity and acceleration.
#pragma once

#include "vms_ph_native/se3.hpp"

namespace vms_ph {

/// Follows a target pose, or a twist, with bounded speed and a bounded rate of speed.
class PoseReference {
 public:
  /// Rest at a pose.
  void restart(const Pose& pose) noexcept;

  /// Approach a pose from now on.
  void go_to(const Pose& target) noexcept;

  /// Move on by one time step.
  ///
  /// @param twist      to move with, in the axes of the reference; null: approach the target.
  /// @param speed      bound of the linear speed, m/s.
  /// @param turn       bound of the angular speed, rad/s.
  /// @param quickness  inverse time in which the speed changes and the target is approached, 1/s.
  /// @param dt         s.
  void advance(const Twist* twist, double speed, double turn, double quickness, double dt) noexcept;

  const Pose& pose() const { return pose_; }                   ///< in the inertial frame
  const Twist& twist() const { return twist_; }                ///< in the axes of the reference
  const Twist& acceleration() const { return acceleration_; }  ///< rate of twist()
  bool is_resting() const { return is_resting_; }              ///< whether the target is reached

 private:
  Pose pose_ = Pose::Identity(), target_ = Pose::Identity();
  Twist twist_ = Twist::Zero(), acceleration_ = Twist::Zero();
  bool has_target_ = false, is_resting_ = true;
};

}  // namespace vms_ph
