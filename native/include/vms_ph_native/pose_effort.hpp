// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Spring and damper of a pose, held for a sample beside springs and damping of what else is held.
#pragma once

#include "vms_ph_native/held_impedance.hpp"
#include "vms_ph_native/joint_limit_potential.hpp"
#include "vms_ph_native/pose_potential.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Stiffness, N/m and N m/rad, and damping, N s/m and N m s/rad, of a pose.
struct PoseGains {
  double stiffness, stiffness_rotation, damping, damping_rotation;
};

/// What the spring and the damper of a pose demand in the velocities v (m,) of a robot, with its
/// twist J v. A law sets what else is held, calls aim() and compute(), and adds the compensation of
/// gravity to the forces.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class PoseEffort {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;

  /// @param velocities  number of velocities of the law; wheels may leave fewer than the robot has.
  explicit PoseEffort(const Model& model, Eigen::Index velocities);
  explicit PoseEffort(const Model& model) : PoseEffort(model, model.nv()) {}

  /// Restart where the pose is that of the reference.
  void restart() noexcept { potential_.restart(Pose::Identity()); }

  /// Set what else is held, beside the damping of the null space in `rest_damping`.
  ///
  /// @param energy     of what holds the base, J.
  /// @param force      its gradient, (b,).
  /// @param stiffness  of it, (b,).
  /// @param limits     springs at the limits of the joints.
  /// @param turning    rate of the damping of the attitude of the base, 1/s.
  void hold(Evaluation& d, double energy, const ConstVector& force, const ConstVector& stiffness,
            const LimitSprings& limits, double turning) noexcept;

  /// Set what spring and damper see.
  ///
  /// @param error  the pose in the axes of its reference.
  /// @param twist  of the reference, in its axes.
  /// @param h      the horizon in which the spring accounts for that twist, s.
  void aim(const Pose& error, const Twist& twist, const PoseGains& gains, double h) noexcept;

  /// Replace spring and damper along a direction, a unit vector in the axes of the pose, by a
  /// damping, N s/m; after aim(), with its horizon.
  void release(const Eigen::Vector3d& direction, double damping, double h) noexcept;

  /// Compute the forces.
  ///
  /// @param mass  (m,m) of the velocities, and their Jacobian J (6,m) and value v (m,).
  /// @param h     the horizon, s.
  void compute(const MatrixV& mass, const Matrix6V& J, const VectorV& v, double h) noexcept;

  // What else is held: energy, J, gradient (m,), stiffness and damping (m,m).
  double rest_energy = 0.0;
  VectorV rest_force;
  MatrixV rest_stiffness, rest_damping;

  HeldImpedance held;
  double potential = 0.0;        ///< energy of all springs, J
  double damping_task = 0.0;     ///< power that the damping of the pose takes out, W
  double damping_null = 0.0;     ///< power that the damping of what else is held takes out, W
  double reference_power = 0.0;  ///< with which the reference moves the minimum, W
  double distance = 0.0;         ///< of the pose to its reference, m
  VectorV wanted;                ///< (m,) the force in which the energy balance is stated
  VectorV sent;                  ///< (m,) with the reduced spring

 private:
  PosePotential potential_;
  Twist lead_, spring_, drift_;
  Matrix6 stiffness_, damping_;
  VectorV gradient_, carried_, on_null_;
  MatrixV whole_stiffness_, whole_damping_;
};

/// Split a mass matrix (m,m) between a task with the Jacobian J (6,m) and its null space: write the
/// momentum of the task per velocity, Lambda J, and the inertia M - J^T Lambda J.
void split_inertia(const MatrixV& mass, const Matrix6V& J, Matrix6V& momentum,
                   MatrixV& null_inertia) noexcept;

}  // namespace vms_ph
