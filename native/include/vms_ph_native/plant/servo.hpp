// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The servos of a simulated robot, for joints without effort commands.
#pragma once

#include <optional>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// The torques of all joints, wheels and arm, under which these have given accelerations, in the
/// reduced equations. A wheel feels the mass of the robot that it drives.
///
/// After construction nothing allocates or throws.
class WheeledInverseDynamics {
 public:
  /// @param model                must outlive this.
  /// @throws ModelError  a mistake in the wheels.
  WheeledInverseDynamics(const Model& model, const std::vector<Wheel>& wheels);

  /// Replace accelerations (nv,), of which those of the joints are taken, by efforts: zero at the
  /// base, and the smallest torques. Where the wheels determine none, those against gravity.
  void solve(const RobotState& state, Eigen::VectorXd& values) noexcept;

 private:
  WheeledTerms terms_;
  Evaluation static_state_;
  Eigen::VectorXd zero_velocity_;
  MatrixV gram_;
  VectorV rates_, force_;
};

/// Computed-torque servos, critically damped, for the degrees of freedom without effort commands.
class Servo {
 public:
  /// @param frequency            of all servos, rad/s.
  /// @param wheels               that do not slip; then joints drive the base.
  /// @throws ModelError  a mistake in the wheels.
  Servo(const Model& model, double frequency, const std::vector<Wheel>& wheels = {});

  /// Which of the nv degrees of freedom are held; the others are driven by their efforts.
  std::vector<bool> active;
  /// Desired velocity of the held degrees of freedom, (nv,); their targets move with it.
  Eigen::VectorXd rate;

  /// Set every target to the present position.
  void hold_position(const Eigen::VectorXd& q) noexcept;
  /// Set the target of one degree of freedom to its present position; for a moving base, of all of
  /// its degrees of freedom.
  void hold_position(const Eigen::VectorXd& q, int freedom) noexcept;
  /// Set the target of a joint, rad or m.
  void set_target(int joint, double position) noexcept;
  /// Advance the targets by a time, s.
  void advance(double dt) noexcept;

  /// Write the efforts of the held degrees of freedom into a vector of all efforts, (nv,).
  void fill(const RobotState& state, Eigen::VectorXd& effort) noexcept;

 private:
  const Model model_;
  double frequency_;
  Evaluation d_;
  std::optional<WheeledInverseDynamics> wheeled_dynamics_;
  Eigen::VectorXd target_, advanced_, error_, acceleration_, torque_;
};

}  // namespace vms_ph
