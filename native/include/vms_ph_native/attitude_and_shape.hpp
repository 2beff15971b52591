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

/// What a law wants of the base; vectors in the axes of the base.
struct BaseMotion {
  Eigen::Vector3d force = Eigen::Vector3d::Zero();  ///< N
  Eigen::Matrix3d attitude;                         ///< wanted
  Eigen::Vector3d turning;                          ///< of the wanted attitude, rad/s
  double kinetic = 0.0;                             ///< energy of the centre of mass, J
  double potential = 0.0;                           ///< energy of its place, J
  double damping = 0.0;                             ///< power of its damping, W
  double unactuated_power = 0.0;  ///< power of the force that the base does not have, W
  double carried = 0.0;     ///< power by arm and reference moving the minimum of its potential, W
  const char* reason = "";  ///< what is not as it should be, in words
};

/// Where the base is, and the inertia of the locked robot in it.
struct LockedBody {
  Eigen::Matrix3d rotation;  ///< of the base
  Eigen::Vector3d position;  ///< of the base, m
  Eigen::Vector3d centre;    ///< centre of mass in the frame of the base, m
  Eigen::Matrix3d inertia;   ///< about it
  double mass = 0.0;         ///< kg
};

/// Energy shaping of the attitude of a base and of the shape, with a force on the base given; the
/// law is described in vms_ph_controllers/laws/attitude_and_shape.py. What the force on the base
/// is, and which attitude is wanted, a law derived from this one says.
class AttitudeAndShape : public StagedController {
 protected:
  AttitudeAndShape(const Model& model, const Allocation& allocation);

  virtual BaseMotion base_motion(Evaluation& d, const LockedBody& body, double h) noexcept = 0;

  /// The attitude of reference for a wanted one.
  virtual Eigen::Matrix3d attitude_of(const Eigen::Matrix3d& rotation) const noexcept = 0;

  /// The twist of the reference for a wanted one.
  virtual Twist twist_of(const Twist& twist) const noexcept = 0;

  /// The bandwidth of the reference of the base, 1/s.
  virtual double bandwidth() const noexcept = 0;
  const AttitudeGains& gains_now() const noexcept override = 0;

  /// The natural frequency of the place of the base, rad/s; 0 if it is not held.
  virtual double place_frequency() const noexcept { return 0.0; }

  const PoseReference& base() const noexcept { return base_; }
  const IntegralAction& integral() const noexcept { return integral_; }

 private:
  void hold() noexcept override;
  const Command& control(const Reference& reference, double dt) noexcept override;
  void follow(const Reference& reference, double dt) noexcept;
  LockedBody locked_body() noexcept;
  bool switched(const Pose& error) noexcept;
  double shape(const Pose& error, const AttitudeGains& gains) noexcept;
  double displacing(const AttitudeGains& gains) const noexcept;
  void demand(const BaseMotion& base, const LockedBody& body, double h) noexcept;

  PosePotential potential_;
  PoseReference base_;
  JointReference joints_;
  IntegralAction integral_;
  SampledImpedance impedance_;
  double inertia_ = 0.0;
  bool started_ = false;
  VectorV shape_inertia_, positions_, offset_, error_, gradient_, desired_;
  MatrixV stiffness_, damping_;
  Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, kMaxVelocities> locked_;
  Eigen::Vector3d turn_lost_;
  VectorV shape_lost_;
};

}  // namespace vms_ph
