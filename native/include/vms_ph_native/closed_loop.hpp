// A simulated robot with a law in its loop: sample, update, hold, step.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/integrators/stepper.hpp"

namespace vms_ph {

/// Efforts of a law held over a step.
struct HeldCommand {
  Eigen::VectorXd torque;       ///< (n,)
  Eigen::VectorXd wrench_base;  ///< (b,)
};

/// The steps that a loop has taken.
struct LoopResult {
  MultiStepResult done;
  HeldCommand before, now;  ///< the efforts over the last step, and those after it
};

/// A law and a scheme for one robot: one thread at a time. After construction nothing allocates or
/// throws.
class ClosedLoop {
 public:
  /// Law, scheme and model must outlive the loop.
  ///
  /// @param floor    energy that a step may miss by rounding, J.
  /// @param gravity  whether it acts, as in the scheme.
  ClosedLoop(const Model& model, Controller& law, Stepper& stepper, bool gravity, double floor);

  /// Take steps, the first from t0 + first * dt, with an update of the law after each.
  ///
  /// It stops before a step that fails or does not close its energy balance; the law has not been
  /// updated for that one.
  ///
  /// @param x        solver state at the start, replaced by that at the end.
  /// @param room     as `next` of Stepper::step().
  /// @param outside  efforts besides those of the law.
  /// @param result   holds the efforts over the first step as `now`.
  void run(SolverState& x, SolverState& room, const Ports& outside, const Reference& reference,
           double t0, double dt, long first, long steps, LoopResult& result) noexcept;

 private:
  struct Energy {
    double total, size;
  };
  Energy energy(const SolverState& x) noexcept;

  Controller& law_;
  Stepper& stepper_;
  Dynamics robot_;
  const bool gravity_;
  const double floor_;
  Ports ports_;
  RobotState state_;
};

}  // namespace vms_ph
