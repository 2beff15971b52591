// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Projection on the conserved momentum and energy after a step that preserves them approximately.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/integrators/centroidal.hpp"

namespace vms_ph {

/// The projection of vms_ph_dynamics/integrators/projection.py, with its workspace.
class Projection {
 public:
  explicit Projection(Centroidal& robot);

  /// Project (x.q, x.v) on the angular momentum and energy stored in x, after a step of dt s.
  ///
  /// Rounding of the energy is removed from x.energy too. Writes a failure to `result`.
  void project(SolverState& x, double dt, StepResult& result) noexcept;

 private:
  double at_rest(double dt) const noexcept;
  double gained(double dt) const noexcept;  ///< by a fall from rest for a step, J
  double rounding(const SolverState& x, double terms, double dt) const noexcept;
  void turn(SolverState& x, double dt, StepResult& result) noexcept;
  Screw momentum_in_base(const Eigen::VectorXd& q, const SolverState& x) const noexcept;

  Centroidal& robot_;
  Eigen::VectorXd start_, rates_, still_, slope_, along_, step_;
};

}  // namespace vms_ph
