// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Spring and damper of a pose, held for a sample beside other springs and dampers.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/springs.hpp"

namespace vms_ph {

using MatrixV6 = Eigen::Matrix<double, Eigen::Dynamic, 6, 0, kMaxVelocities, 6>;  // (nv,6)

/// The smallest of the min(rows, columns) singular values of a Jacobian; with two workspaces.
double smallest_singular_value(const Matrix6V& jacobian, MatrixV& gram,
                               SymmetricEigen& eigen) noexcept;

/// The pose of a frame as a task, in its own axes; see vms_ph_controllers/laws/pose_ida_pbc.py.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class PoseMotion {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;

  explicit PoseMotion(const Model& model);

  /// Compute the motion of a state, and the forces that cancel the coupling of its parts.
  void compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept;

  Matrix6V J, J_rate;    ///< task Jacobian and its derivative along the motion, (6,nv)
  Matrix6 inertia;       ///< (J M^-1 J^T)^-1
  MatrixV null_inertia;  ///< Pi^T M Pi (nv,nv) of the projector Pi onto motions beside the frame's
  Vector6 twist;         ///< of the frame
  Vector6 task_decoupling;               ///< the force that cancels the coupling, on the task
  VectorV null_decoupling;               ///< the same on all motions, (nv,)
  double smallest_singular_value = 0.0;  ///< of J

 private:
  void invert_mobility() noexcept;

  const int nv_;
  MatrixV scratch_, mobility_;
  MatrixV6 mass_inverse_jt_;
  VectorV null_velocity_, task_velocity_, coriolis_force_;
  SymmetricEigen eigen_, mobility_eigen_;
};

/// Stiffness and damping of an end effector along axes of its own or of the inertial frame.
struct AxisGains {
  AxisGains() = default;
  /// The same along all axes: N/m, N m/rad, N s/m, N m s/rad.
  AxisGains(double k, double k_rotation, double d, double d_rotation) noexcept {
    stiffness << k, k, k, k_rotation, k_rotation, k_rotation;
    damping << d, d, d, d_rotation, d_rotation, d_rotation;
  }

  /// Whether the springs, not the dampers, are those of another.
  bool has_same_springs(const AxisGains& other) const noexcept {
    return reference_share == other.reference_share && stiffness == other.stiffness &&
           (inverse_limits == other.inverse_limits).all();
  }

  /// Change the springs of others only by a share.
  void stay_near(const AxisGains& other, double share) noexcept {
    stiffness = other.stiffness + share * (stiffness - other.stiffness);
    inverse_limits = other.inverse_limits + share * (inverse_limits - other.inverse_limits);
  }

  Twist stiffness = Twist::Zero(), damping = Twist::Zero();  ///< (6,) linear first
  double reference_share = 1.0;  ///< along axes of the reference; the rest along fixed ones
  Eigen::Array2d inverse_limits = {0.0, 0.0};  ///< of force and moment, 1/N, 1/(N m); 0: no limit
};

/// Forces of the spring and the damper of a pose in the velocities v (m,) of a robot, with its
/// twist J v. A law calls set_springs() with its other springs, then set_error() and compute(), and
/// adds the compensation of gravity to the forces.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class PoseEffort {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;

  /// @param velocity_dimension  of the law; wheels may leave fewer than the robot has.
  explicit PoseEffort(const Model& model, Eigen::Index velocity_dimension);
  explicit PoseEffort(const Model& model) : PoseEffort(model, model.nv()) {}

  /// Restart where the pose is that of the reference.
  void restart() noexcept {
    potential_.restart();
    task_damping_power = 0.0;
  }

  /// Set the other springs and dampers, except the null-space damping in `extra_damping`.
  ///
  /// @param energy     of the spring of the base, J.
  /// @param force      its gradient, (b,).
  /// @param stiffness  of it, (b,).
  /// @param limits     springs at the limits of the joints.
  /// @param attitude_damping  rate of the damping of the attitude of the base, 1/s.
  void set_springs(Evaluation& d, double energy, const ConstVector& force,
                   const ConstVector& stiffness, const LimitSprings& limits,
                   double attitude_damping) noexcept;

  /// Set the pose error and the gains of spring and damper.
  ///
  /// @param error      the pose in the axes of its reference.
  /// @param reference  its pose.
  /// @param twist      of the reference, in its axes.
  /// @param h          the horizon in which the spring accounts for that twist, s.
  void set_error(const Pose& error, const Pose& reference, const Twist& twist,
                 const AxisGains& axis_gains, double h) noexcept;

  /// The energy of springs at the error set last, J.
  double energy(const AxisGains& axis_gains) noexcept;

  /// Replace spring and damper along a direction, a unit vector in the axes of the pose, by a
  /// damping, N s/m; after set_error(), with its horizon.
  void replace_by_damper(const Eigen::Vector3d& direction, double damping, double h) noexcept;

  /// Pull the null space of J to a posture, after set_springs().
  ///
  /// @param mass_inverse_jt  (nv,6), with the momentum of the task for a velocity, (6,nv).
  /// @param posture_error    (n,) of the joints, rad or m; with their stiffness (n,).
  void hold_posture(const MatrixV6& mass_inverse_jt, const Matrix6V& momentum_map,
                    const VectorV& posture_error, const VectorV& stiffness) noexcept;

  /// Compute the forces.
  ///
  /// @param mass  (m,m) of the velocities, and their Jacobian J (6,m) and value v (m,).
  /// @param h     the horizon, s.
  void compute(const MatrixV& mass, const Matrix6V& J, const VectorV& v, double h) noexcept;

  // Other springs and dampers: energy, J, gradient (m,), stiffness and damping (m,m).
  double extra_energy = 0.0;
  VectorV extra_force;
  MatrixV extra_stiffness, extra_damping;

  SampledImpedance impedance;
  double potential_energy = 0.0;             ///< energy of all springs, J
  double task_damping_power = 0.0;           ///< power that the damping of the pose takes out, W
  double null_damping_power = 0.0;           ///< power dissipated by the other dampers, W
  double reference_power = 0.0;              ///< with which the reference moves the minimum, W
  double distance = 0.0;                     ///< of the pose to its reference, m
  Eigen::Array2d limit_demand = {0.0, 0.0};  ///< force and moment before limits, N and N m
  VectorV continuous_effort;  ///< (m,) the force in which the energy balance is stated
  VectorV sampled_effort;     ///< (m,) with the reduced spring
  VectorV posture_effort;     ///< (nv,) the part of both by hold_posture()

 private:
  struct Springs {
    double energy;
    Twist gradient;
    Eigen::Array2d limit_demand;  // force and moment that a limit would bound, N and N m
    double turning_power;         // of axes that turn, W
  };

  Springs springs(const AxisGains& axis_gains, Matrix6& stiffness) const noexcept;

  PosePotential potential_;
  Pose error_ = Pose::Identity();
  Eigen::Matrix3d axes_ = Eigen::Matrix3d::Identity();  // of the reference
  Eigen::Vector3d omega_ = Eigen::Vector3d::Zero();     // of the reference, in its axes
  double turning_power_ = 0.0;                          // of axes that turn, W
  Matrix6 scratch_ = Matrix6::Zero();
  MatrixV null_projector_, null_stiffness_;
  Twist reference_twist_, spring_wrench_, feedforward_;  // in axes of the pose
  Matrix6 stiffness_, damping_;
  VectorV gradient_, reference_effort_, null_force_;
  MatrixV total_stiffness_, total_damping_;
};

/// Split a mass matrix (m,m) between a task with the Jacobian J (6,m) and its null space: write
/// M^-1 J^T, the momentum of the task per velocity, Lambda J, and the inertia M - J^T Lambda J.
/// Directions that are being lost fade into it where sigma_min is near zero.
void split_inertia(const MatrixV& mass, const Matrix6V& J, MatrixV6& mass_inverse_jt,
                   Matrix6V& momentum_map, MatrixV& null_inertia,
                   double sigma_min = HUGE_VAL) noexcept;

}  // namespace vms_ph
