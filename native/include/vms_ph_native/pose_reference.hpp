// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// References that follow a target with bounded speed: of a pose, and of joints.
#pragma once

#include <optional>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// A pose that follows a target pose, or a twist, with bounded speed and acceleration.
class PoseReference {
 public:
  /// Restart at rest at a pose.
  void restart(const Pose& pose) noexcept;

  /// Set the target pose.
  void set_target(const Pose& target) noexcept;

  /// Displace the pose and its target, in the frame of the pose, m.
  void shift(const Eigen::Vector3d& displacement) noexcept;

  /// Advance towards a target pose, without one towards the position of a reference, and move with
  /// the velocity of the reference. What is not finite is ignored. See advance() for the rest.
  void follow(const Reference& reference, const std::optional<Pose>& target, double max_speed,
              double max_turn_rate, double bandwidth, double dt) noexcept;

  /// Advance by one time step.
  ///
  /// @param twist      to move with, in the axes of the reference; null to approach the target. A
  ///                   target that was set with it moves on with it.
  /// @param max_speed, max_turn_rate  of the linear motion, m/s, and of the rotation, rad/s.
  /// @param bandwidth  bandwidth of the approach to the target and of changes of the speed, 1/s.
  /// @param dt         time step, s.
  void advance(const Twist* twist, double max_speed, double max_turn_rate, double bandwidth,
               double dt) noexcept;

  const Pose& pose() const { return pose_; }                   ///< in the inertial frame
  const Twist& twist() const { return twist_; }                ///< in the axes of the reference
  const Twist& acceleration() const { return acceleration_; }  ///< rate of twist()
  bool is_resting() const { return is_resting_; }              ///< whether it rests at its target

 private:
  Pose pose_ = Pose::Identity(), target_ = Pose::Identity();
  Twist twist_ = Twist::Zero(), acceleration_ = Twist::Zero();
  bool has_target_ = false, is_resting_ = true, has_new_target_ = false, is_target_moving_ = false;
};

/// Joint positions that follow a target with bounded rates and bounded accelerations. Continuous
/// joints take the shorter way to it.
class JointReference {
 public:
  explicit JointReference(const Model& model);

  /// Restart at rest at positions (n,).
  void restart(const ConstVector& positions) noexcept;

  /// Set the target to the positions of a reference, if it has (n,) finite ones.
  void set_target(const Reference& reference) noexcept;

  /// Advance by one time step; see PoseReference::advance.
  void advance(double max_rate, double bandwidth, double dt) noexcept {
    advance(VectorV(VectorV::Constant(positions_.size(), max_rate)), bandwidth, dt);
  }

  /// The same with a largest speed for each joint, (n,).
  void advance(const VectorV& max_rates, double bandwidth, double dt) noexcept;

  /// Return positions (n,) relative to these, of continuous joints without whole turns.
  VectorV error_of(const VectorV& positions) const noexcept {
    return nearest(positions) - positions_;
  }

  const VectorV& positions() const { return positions_; }          ///< (n,)
  const VectorV& rates() const { return rates_; }                  ///< (n,)
  const VectorV& accelerations() const { return accelerations_; }  ///< (n,)
  bool is_resting() const { return is_resting_; }  ///< whether it rests at its target

 private:
  VectorV nearest(const VectorV& positions) const noexcept;

  VectorV positions_, rates_, accelerations_, target_, desired_rates_;
  VectorV turn_;  // 2 pi of continuous joints, else 0
  bool is_resting_ = true;
};

}  // namespace vms_ph
