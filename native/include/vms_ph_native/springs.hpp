// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Springs of a pose, of a base, and at the limits of joints.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Energy of a spring, J, and its gradient in the axes of the body, N or N m.
struct SpringEnergy {
  double energy;
  Eigen::Vector3d gradient;

  /// Limit the gradient so that it stays that of a potential; return the share that remains.
  /// The limit is given as 1/N or 1/(N m), 0 for none; `stiffness` is the largest one.
  double limit_force(double inverse_limit, double stiffness) noexcept;
};

/// 1/2 e^T k_p e + 4 k_r (1 - s eta) of the pose (R, e) of a body in its reference, with the sign s
/// and the scalar part eta of vms_ph_controllers/potentials/pose_potential.py.
class PosePotential {
 public:
  /// Take the sign of the shorter rotation at the next pose error.
  void restart() noexcept { *this = PosePotential(); }

  /// Set the pose error; return whether the sign was switched.
  bool set_error(const Pose& error) noexcept;

  /// The potential at the pose error set last, J; stiffness in N/m and, for small angles, N m/rad.
  double energy(const Pose& error, double k_position, double k_rotation) const noexcept;

  /// The gradient as a wrench in the axes of the body, linear first.
  Twist gradient(const Pose& error, double k_position, double k_rotation) const noexcept;

  /// The same for stiffnesses (3,3) in the axes of the reference: of the position, 1/2 e^T K e, and
  /// of the attitude, 4 eps^T K eps / (1 + s eta).
  SpringEnergy position_spring(const Pose& error, const Eigen::Matrix3d& stiffness) const noexcept;
  SpringEnergy attitude_spring(const Eigen::Matrix3d& stiffness) const noexcept;

  /// An upper bound (3,3) of the Hessian of that of the attitude, in the axes of the body, N m/rad.
  Eigen::Matrix3d hessian_bound(const Eigen::Matrix3d& stiffness) const noexcept;

  /// The rate of the energy of the attitude, W, as the axes of the reference turn, rad/s, against
  /// those of a stiffness.
  double rotation_power(const Eigen::Matrix3d& stiffness,
                        const Eigen::Vector3d& angular_velocity) const noexcept;

 private:
  Eigen::Vector4d quaternion_ = Eigen::Vector4d::UnitW();  // x, y, z, w
  double sign_ = 1.0;
};

/// The components of a twist or wrench that a base has: (b,), none of a fixed one.
VectorB base_components(const Twist& twist, int b) noexcept;

/// A PosePotential of the base about its pose at the last restart. Its stiffness is given by a
/// frequency relative to the locked inertia there.
class BaseSpring {
 public:
  explicit BaseSpring(const Model& model)
      : force(VectorB::Zero(model.b())), stiffness(force), b_(model.b()) {}

  /// Hold the base where it is in a state.
  void restart(Evaluation& d) noexcept;

  /// Hold the base at another pose from now on.
  void set_rest_pose(const Pose& pose) noexcept { rest_pose_ = pose; }

  /// Compute the spring at a pose of the base, with a frequency in rad/s and the shares in [0, 1]
  /// of the springs of position and attitude that are in force.
  void compute(const Pose& pose, double frequency, double position_share,
               double rotation_share) noexcept;

  double energy = 0.0;       ///< J
  VectorB force, stiffness;  ///< gradient of the potential and stiffnesses, (b,)

 private:
  const int b_;
  PosePotential potential_;
  Pose rest_pose_ = Pose::Identity();
  double mean_mass_ = 0.0, mean_inertia_ = 0.0;
};

/// The springs at the limits of the joints, in a state.
struct LimitSprings {
  double energy = 0.0;       ///< J
  VectorV force, stiffness;  ///< gradient and stiffness, (n,)
};

/// 1/2 k d^2 with d the depth of a joint within the margin before its limit.
class JointLimitPotential {
 public:
  explicit JointLimitPotential(const Model& model)
      : lower_(model.min_position()), upper_(model.max_position()) {}

  /// Depths d (n,) of the joints within the margin; negative at the lower limits.
  VectorV depth(const VectorV& positions, double margin) const noexcept;

  /// The springs of joints at `positions` (n,) that move at `rates` (n,), with stiffnesses (n,).
  /// The stiffness of those that begin to act within the time h, s, counts as well.
  LimitSprings springs(const VectorV& positions, const VectorV& rates, const VectorV& stiffness,
                       double margin, double h) const noexcept;

  /// Joint positions (n,) clipped to the margins.
  /// Joints that were beyond a margin at the last positions may stay there, but move no further.
  VectorV clip_positions(const VectorV& positions, const VectorV& last_positions,
                         double margin) const noexcept;

 private:
  VectorV lower_, upper_;
};

}  // namespace vms_ph
