// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The integral of the errors of base and joints, as a displacement of their reference.
#pragma once

#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// A displacement of the reference by which a constant unknown force is carried; it is described in
/// vms_ph_controllers/references/integral_action.py.
class IntegralAction {
 public:
  explicit IntegralAction(int n);

  /// Remove the displacement.
  void restart() noexcept;

  /// Keep the displacement during a time step.
  void rest() noexcept;

  /// Advance by one time step.
  ///
  /// @param share   rate of the correction as a share of the natural frequency; 0 removes the
  ///                displacement at once.
  /// @param base    natural frequency of the base, rad/s; 0 where it is not held.
  /// @param shape   natural frequency of the joints, rad/s.
  /// @param away    error of the place of the base in the inertial frame, m.
  /// @param turned  attitude of the base relative to its reference; null where not corrected.
  /// @param offset  (n,) errors of the joints.
  /// @param dt      time step, s.
  void advance(double share, double base, double shape, const Eigen::Vector3d& away,
               const Eigen::Matrix3d* turned, const VectorV& offset, double dt) noexcept;

  const Eigen::Vector3d& place() const { return place_; }            ///< m, inertial frame
  const Eigen::Vector3d& place_rate() const { return place_rate_; }  ///< m/s
  const Eigen::Matrix3d& turn() const { return turn_; }              ///< minimum to reference
  const Eigen::Vector3d& turn_rate() const { return turn_rate_; }    ///< rad/s, axes of the minimum
  const VectorV& joints() const { return joints_; }                  ///< (n,)
  const VectorV& joint_rates() const { return joint_rates_; }        ///< (n,)

 private:
  Eigen::Vector3d place_, place_rate_, turned_, turn_rate_;
  Eigen::Matrix3d turn_;
  VectorV joints_, joint_rates_;
};

}  // namespace vms_ph
