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

/// Computed-torque servos, critically damped, for the degrees of freedom without effort commands.
/// After construction nothing allocates or throws.
class Servo {
 public:
  /// @param frequency            of all servos, rad/s.
  /// @param wheels               that do not slip; then joints drive the base.
  /// @throws ModelError  a mistake in the wheels.
  Servo(const Model& model, double frequency, const std::vector<Wheel>& wheels = {});

  /// Which of the nv degrees of freedom are held; the others are driven by their efforts.
  std::vector<bool> is_held;
  /// Desired velocity (nv,) of the held degrees of freedom; their target positions move with it.
  Eigen::VectorXd desired_rate;

  /// Set every target position to the present one.
  void hold_position(const Eigen::VectorXd& q) noexcept;
  /// Set the target of one degree of freedom to its present position; for a moving base, of all of
  /// its degrees of freedom.
  void hold_position(const Eigen::VectorXd& q, int dof) noexcept;
  /// Set the target of a joint, rad or m.
  void set_target(int joint, double position) noexcept;
  /// Advance the targets by a time, s.
  void advance(double dt) noexcept;

  /// Write the efforts of the held degrees of freedom into a vector of all efforts, (nv,).
  void compute_effort(const RobotState& state, Eigen::VectorXd& effort) noexcept;

 private:
  void solve_on_wheels(const RobotState& state) noexcept;

  const Model model_;
  double frequency_;
  Evaluation d_;
  std::optional<WheeledTerms> wheel_terms_;
  Eigen::VectorXd target_, next_target_, error_, acceleration_, torque_;
  MatrixV gram_;
  VectorV nu_rate_, force_;
};

}  // namespace vms_ph
