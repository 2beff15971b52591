// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A simulated robot with a law in its loop: sample, update, hold, step.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/integrators/stepper.hpp"

namespace vms_ph {

/// Efforts of a control held over a step.
struct HeldCommand {
  Eigen::VectorXd torque;       ///< (n,)
  Eigen::VectorXd wrench_base;  ///< (b,)
};

/// The steps that a loop has taken.
struct LoopResult {
  MultiStepResult done;
  HeldCommand before, now;  ///< the efforts over the last step, and those after it
  bool fits = true;         ///< whether the efforts of the control were of the robot's size
};

/// What acts on the robot in a loop.
class Control {
 public:
  virtual ~Control() = default;

  /// The command for a state, dt s after the last one; null where it has failed.
  virtual const Command* update(const RobotState& state, double dt) noexcept = 0;
};

/// A law on a reference that does not move.
class HeldReference final : public Control {
 public:
  HeldReference(Controller& law, const Reference& reference) : law_(law), reference_(reference) {}

  const Command* update(const RobotState& state, double dt) noexcept override {
    return &law_.update(state, reference_, dt);
  }

 private:
  Controller& law_;
  const Reference& reference_;
};

/// A scheme for one robot with a control in its loop: one thread at a time. After construction it
/// does not allocate or throw.
class ClosedLoop {
 public:
  /// Scheme and model must outlive the loop.
  ///
  /// @param floor    energy that a step may miss by rounding, J.
  /// @param gravity  whether it acts, as in the scheme.
  ClosedLoop(const Model& model, Stepper& stepper, bool gravity, double floor);

  /// Take steps, the first from t0 + first * dt, with an update of the control after each.
  ///
  /// It stops before a step that fails or does not close its energy balance; the control has not
  /// been updated for that one. It stops as well after a step at whose end the control fails.
  ///
  /// @param x        solver state at the start, replaced by that at the end.
  /// @param scratch     as `next` of Stepper::step().
  /// @param external_ports  efforts besides those of the control.
  /// @param result   contains the efforts over the first step as `now`.
  void run(Control& control, SolverState& x, SolverState& scratch, const Ports& external_ports,
           double t0, double dt, long first, long steps, LoopResult& result) noexcept;

 private:
  struct Energy {
    double total, size;
  };
  Energy energy(const SolverState& x) noexcept;

  Stepper& stepper_;
  Dynamics robot_;
  const bool gravity_;
  const double rounding_energy_;
  Ports ports_;
  RobotState state_;
};

}  // namespace vms_ph
