// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Rigid motions in space: poses as homogeneous matrices, twists linear first, in body axes.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace vms_ph {

/// The Stumpff functions c_1 to c_4 at s, the square of an angle t: c_1 = sin t / t,
/// c_2 = (1 - cos t) / t^2, c_3 = (t - sin t) / t^3, c_n = 1/n! - s c_{n+2}.
/// As in vms_ph_dynamics/groups/stumpff.py, computed without differences of nearly equal numbers.
struct Stumpff {
  explicit Stumpff(double s) noexcept;

  /// e(s) = (1 - (t/2) cot(t/2)) / t^2, of the inverse differential of the exponential.
  double inverse() const noexcept { return -(c4 - 0.5 * c3) / c2; }

  double c1, c2, c3, c4;
};

using Pose = Eigen::Matrix4d;
using Twist = Eigen::Matrix<double, 6, 1>;

/// The functions of vms_ph_dynamics/groups/spatial.py that the controllers use.
namespace se3 {

using Adjoint = Eigen::Matrix<double, 6, 6>;

inline Eigen::Matrix3d skew(const Eigen::Vector3d& w) noexcept {
  Eigen::Matrix3d hat;
  hat << 0.0, -w.z(), w.y(), w.z(), 0.0, -w.x(), -w.y(), w.x(), 0.0;
  return hat;
}

Pose inverse(const Pose& g) noexcept;

/// The pose reached by the twist u in unit time.
Pose exp(const Twist& u) noexcept;

/// The twist, of a rotation angle of at most pi, that reaches g in unit time; exact at 0 and at pi.
Twist log(const Pose& g) noexcept;

/// The rotation by a rotation vector, rad, and the vector of a rotation.
Eigen::Matrix3d rotation(const Eigen::Vector3d& vector) noexcept;
Eigen::Vector3d rotation_vector(const Eigen::Matrix3d& rotation) noexcept;
Eigen::Vector3d rotation_vector(const Eigen::Quaterniond& rotation) noexcept;

/// [[R, p^ R], [0, R]]: maps twists in body axes to those in the reference frame of g.
Adjoint Ad(const Pose& g) noexcept;

/// [[w^, v^], [0, w^]]: ad(u) v = [u, v].
Adjoint ad(const Twist& u) noexcept;

}  // namespace se3
}  // namespace vms_ph
