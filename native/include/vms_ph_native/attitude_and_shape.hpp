// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The attitude of a base and the joints of its arm, in the inertially decoupled coordinates.
#pragma once

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/decoupled_effort.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of attitude and shape.
struct AttitudeGains : OutputGains {
  double frequency_attitude = 7.0, frequency_shape = 10.0, damping_ratio = 0.9;
  double base_speed = 0.5, base_turn = 0.5, joint_speed = 0.5;
  double integral = 0.0;

  static const GainTable<AttitudeGains>& table();
};

/// Desired force and attitude of the base, and their energies; vectors in base axes.
struct BaseMotion {
  Eigen::Vector3d force = Eigen::Vector3d::Zero();  ///< N
  Eigen::Matrix3d attitude;                         ///< desired rotation, inertial frame
  Eigen::Vector3d angular_velocity;                 ///< of the desired attitude, rad/s
  double kinetic = 0.0;                             ///< energy of the centre of mass, J
  double potential = 0.0;                           ///< energy of its position, J
  double damping = 0.0;                             ///< power of its damping, W
  double unactuated_power = 0.0;  ///< power of the force that the base cannot apply, W
  double minimum_power = 0.0;     ///< power by which arm and reference move the minimum, W
  const char* reason = "";        ///< why the motion is limited; empty otherwise
};

/// Pose of the base and inertia of the robot with locked joints.
struct LockedBody {
  Eigen::Matrix3d rotation;  ///< of the base
  Eigen::Vector3d position;  ///< of the base, m
  Eigen::Vector3d centre;    ///< centre of mass in the frame of the base, m
  Eigen::Matrix3d inertia;   ///< about it
  double mass = 0.0;         ///< kg
};

/// Energy shaping of the attitude of a base and of the shape; see
/// vms_ph_controllers/laws/attitude_and_shape.py. A derived law defines the force on the base and
/// the desired attitude.
class AttitudeAndShape : public StagedController {
 protected:
  AttitudeAndShape(const Model& model, const Allocation& allocation);

  virtual BaseMotion base_motion(Evaluation& d, const LockedBody& body, double h) noexcept = 0;

  /// The attitude of the reference for a desired one.
  virtual Eigen::Matrix3d attitude_of(const Eigen::Matrix3d& rotation) const noexcept = 0;

  /// The twist of the reference for a desired one.
  virtual Twist twist_of(const Twist& twist) const noexcept = 0;

  /// The bandwidth of the reference of the base, 1/s.
  virtual double bandwidth() const noexcept = 0;
  const AttitudeGains& gains_now() const noexcept override = 0;

  /// The natural frequency of the position of the base, rad/s; 0 if it is not controlled.
  virtual double position_frequency() const noexcept { return 0.0; }

  const PoseReference& base() const noexcept { return base_; }
  const IntegralAction& integral() const noexcept { return integral_; }

 private:
  void hold() noexcept override;
  const Command& control(const Reference& reference, double dt) noexcept override;
  void follow(const Reference& reference, double dt) noexcept;
  LockedBody locked_body() noexcept;
  double compute_potentials(const Pose& error, const AttitudeGains& gains) noexcept;
  double integral_power(const AttitudeGains& gains) const noexcept;
  void compute_effort(const BaseMotion& base, const LockedBody& body, double h) noexcept;

  PosePotential potential_;
  PoseReference base_;
  JointReference joints_;
  IntegralAction integral_;
  SampledImpedance impedance_;
  double inertia_ = 0.0;
  VectorV shape_inertia_, positions_, offset_, error_, gradient_, desired_;
  MatrixV stiffness_, damping_;
  Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, kMaxVelocities> locked_;
  Eigen::Vector3d damping_moment_;
  VectorV damping_torque_;
};

}  // namespace vms_ph
