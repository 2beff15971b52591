// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A potential on poses without Euler angles, unwinding or undesired equilibria.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/se3.hpp"

namespace vms_ph {

/// 1/2 e^T k_p e + 4 k_r (1 - s eta) of the pose (R, e) of a body in its reference.
///
/// eta is the scalar part of the unit quaternion, s a sign that is switched where s eta falls below
/// minus a margin (C. G. Mayhew, R. G. Sanfelice, A. R. Teel, IEEE Trans. Automatic Control 56(11),
/// 2011); see vms_ph_controllers/potentials/pose_potential.py.
class PosePotential {
 public:
  /// Restart at a pose error with the sign of the shorter rotation.
  void restart(const Pose& error) noexcept;

  /// Set the pose error; return whether the sign was switched.
  bool follow(const Pose& error) noexcept;

  /// The potential at the pose error set last, J; k_position in N/m, k_rotation in N m/rad
  /// for small angles.
  double value(const Pose& error, double k_position, double k_rotation) const noexcept;

  /// The gradient as a wrench in the axes of the body, linear first.
  Twist gradient(const Pose& error, double k_position, double k_rotation) const noexcept;

 private:
  Eigen::Vector4d quaternion_ = Eigen::Vector4d::UnitW();  // x, y, z, w
  double sign_ = 1.0;
};

}  // namespace vms_ph
