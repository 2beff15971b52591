// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The effort of the laws in inertially decoupled coordinates, and its integral action.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/springs.hpp"

namespace vms_ph {

/// A displacement of the reference, to the minimum of the potential, that compensates a constant
/// unknown force; see vms_ph_controllers/references/integral_action.py.
class IntegralAction {
 public:
  explicit IntegralAction(int n);

  /// Remove the displacement.
  void restart() noexcept;

  /// Hold the displacement: set its rates to zero.
  void hold_displacement() noexcept;

  /// Advance by one time step.
  ///
  /// @param gain    rate of the correction as a share of the natural frequency; 0 removes the
  ///                displacement at once.
  /// @param omega_base   natural frequency of the base, rad/s; 0 where it is not held.
  /// @param omega_shape  natural frequency of the joints, rad/s.
  /// @param position_error    error of the place of the base in the inertial frame, m.
  /// @param rotation_error  attitude of the base in its reference; null where not corrected.
  /// @param joint_error  (n,) errors of the joints.
  /// @param dt      time step, s.
  /// @param h       the horizon, s.
  void advance(double gain, double omega_base, double omega_shape,
               const Eigen::Vector3d& position_error, const Eigen::Matrix3d* rotation_error,
               const VectorV& joint_error, double dt, double h) noexcept;

  const Eigen::Vector3d& position() const { return position_; }            ///< m, inertial frame
  const Eigen::Vector3d& position_rate() const { return position_rate_; }  ///< m/s
  const Eigen::Matrix3d& rotation() const { return rotation_; }  ///< from minimum to reference
  /// In the axes of the minimum, rad/s.
  const Eigen::Vector3d& angular_velocity() const { return angular_velocity_; }
  const VectorV& joint_offset() const { return joint_offset_; }  ///< (n,)
  const VectorV& joint_rates() const { return joint_rates_; }    ///< (n,)

 private:
  Eigen::Vector3d position_, position_rate_, rotation_vector_, angular_velocity_;
  Eigen::Matrix3d rotation_;
  VectorV joint_offset_, joint_rates_;
};

/// The effort of springs, a reference, and damping of locked motion and shape, for a robot on a
/// moving base [A (59)]; the part of vms_ph_controllers.DecoupledVMSController without memory.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class DecoupledEffort {
 public:
  /// The model must outlive it.
  explicit DecoupledEffort(const Model& model);

  /// The springs of base and joints.
  struct Springs {
    double k_position = 0.0, k_rotation = 0.0;  ///< of the base, N/m and N m/rad
    VectorV k_shape, k_limit;                   ///< of the joints and at their limits, (n,)
    double limit_margin = 0.0;                  ///< before a limit, rad or m
  };

  /// The demanded motion; set before compute(), or by set_springs() and set_reference().
  struct Demand {
    VectorV gradient, stiffness;  ///< (nv,) of the potential, the stiffness is diagonal
    VectorV velocity;             ///< (nv,) of the reference
    VectorV acceleration;         ///< (nv,) of the reference
    bool is_resting = true;       ///< whether both are zero
    double base_damping = 0.0;    ///< damping of the locked motion, 1/s
    double shape_damping = 0.0;   ///< damping of the shape, 1/s
    double h = 0.0;               ///< the horizon, s
  } demand;

  /// Set gradient and stiffness of the demand, with its h, to those of springs; return their
  /// energy, J.
  ///
  /// @param potential  of the base, updated to its pose.
  /// @param pose       of the base in the frame of the minimum.
  /// @param joint_error  (n,) displacement of the joints from the minimum.
  double set_springs(const Evaluation& d, const Springs& springs, const PosePotential& potential,
                     const Pose& pose, const VectorV& joint_error) noexcept;

  /// Set velocity and acceleration of the demand to those of a reference.
  ///
  /// @param pose   of the base in the frame of its reference.
  /// @param twist  of the reference of the base in its axes; `acceleration` is its rate.
  /// @param rates  (n,) of the reference of the joints; `accelerations` are their rates.
  void set_reference(const Evaluation& d, const Pose& pose, const Twist& twist,
                     const Twist& acceleration, const ConstVector& rates,
                     const ConstVector& accelerations) noexcept;

  /// Set velocity and acceleration of the demand to zero.
  void set_reference_at_rest() noexcept;

  /// Compute the effort at a state.
  void compute(Evaluation& d) noexcept;

  VectorV velocity_error;     ///< (nv,)
  VectorV continuous_effort;  ///< (nv,) the effort in which the energy balance is stated
  VectorV sampled_effort;     ///< (nv,) with the reduced spring and the brake
  double base_kinetic_energy = 0.0, shape_kinetic_energy = 0.0;  ///< J
  double base_damping_power = 0.0, shape_damping_power = 0.0;    ///< W

  /// What was reduced; empty when nothing was.
  const char* reason() const noexcept { return impedance_.reason(); }

 private:
  const int b_, n_;
  JointLimitPotential joint_limits_;
  VectorV joint_positions_;
  SampledImpedance impedance_;
  MatrixV damping_, stiffness_;
};

}  // namespace vms_ph
