// Rigid motions in space: poses as homogeneous matrices, twists linear first, in body axes.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

using Pose = Eigen::Matrix4d;
using Twist = Eigen::Matrix<double, 6, 1>;

/// The group of vms_ph_dynamics/groups/se3.py, as far as the controllers need it.
namespace se3 {

using Adjoint = Eigen::Matrix<double, 6, 6>;

Eigen::Matrix3d skew(const Eigen::Vector3d& w) noexcept;

Pose inverse(const Pose& g) noexcept;

/// The pose reached by the twist x in unit time.
Pose exp(const Twist& x) noexcept;

/// The twist, turning by pi at most, that reaches g in unit time; exact at 0 and at pi.
Twist log(const Pose& g) noexcept;

/// [[R, p^ R], [0, R]]: takes twists in the body's axes to those of the frame that g counts in.
Adjoint Ad(const Pose& g) noexcept;

/// [[w^, v^], [0, w^]]: ad(x) y = [x, y].
Adjoint ad(const Twist& x) noexcept;

}  // namespace se3
}  // namespace vms_ph
