// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The servos of a simulated robot, for joints without effort commands.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/model.hpp"
#include "wheeled_inverse_dynamics.hpp"

namespace vms_ph_ros2_control {

/// Computed-torque servos, critically damped, for the degrees of freedom without effort commands.
class Servo {
 public:
  /// @param frequency            of all servos, rad/s.
  /// @param wheels               that do not slip; then joints drive the base.
  /// @throws vms_ph::ModelError  a mistake in the wheels.
  Servo(const vms_ph::Model& model, double frequency,
        const std::vector<vms_ph::Wheel>& wheels = {});
  ~Servo();

  /// Which of the nv degrees of freedom are held; the others are driven by their efforts.
  std::vector<bool> held;
  /// Desired velocity of the held degrees of freedom, (nv,); their targets move with it.
  Eigen::VectorXd rate;

  /// Set every target to the present position.
  void rest_at(const Eigen::VectorXd& q) noexcept;
  /// Set the target of one degree of freedom to its present position; for a moving base, of all of
  /// its degrees of freedom.
  void rest_at(const Eigen::VectorXd& q, int freedom) noexcept;
  /// Set the target of a joint, rad or m.
  void go_to(int joint, double position) noexcept;
  /// Advance the targets by a time, s.
  void advance(double dt) noexcept;

  /// Write the efforts of the held degrees of freedom into a vector of all efforts, (nv,).
  void fill(const vms_ph::RobotState& state, Eigen::VectorXd& effort) noexcept;

 private:
  void solve(const vms_ph::RobotState& state) noexcept;
  void add_fluid(const vms_ph::RobotState& state) noexcept;

  struct Workspace;
  vms_ph::Model model_;
  double frequency_;
  vms_ph::FluidTerms fluid_;
  std::optional<WheeledInverseDynamics> rolling_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace vms_ph_ros2_control
