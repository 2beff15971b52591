// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Runge-Kutta for robots on wheels that do not slip.
#pragma once

#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/integrators/centroidal.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// Fourth-order Runge-Kutta-Munthe-Kaas on configuration and independent velocities; see
/// vms_ph_dynamics/nonholonomic/stepper.py.
///
/// The velocity is S(q) nu at every time, so that the constraints are met to rounding. At the end
/// of a step the speed is scaled, by the error of the scheme, so that the energy has changed by
/// exactly the energies at the ports. The solver state is (q, v) in the inertial frame.
class WheeledRK4 final : public Stepper {
 public:
  /// @param model        must outlive the scheme.
  /// @throws ModelError  a mistake in the wheels, or a robot in a fluid.
  WheeledRK4(const Model& model, bool gravity, const std::vector<Wheel>& wheels);

  int order() const override { return 4; }

  /// @throws ModelError  the independent velocities do not determine the others there.
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next) noexcept override;

 private:
  Failure evaluate_at(const Eigen::VectorXd& from, double lead) noexcept;
  double energy() noexcept;
  void accelerate(const Ports& ports, double elapsed, StepResult& result) noexcept;

  const bool gravity_;
  const Model& model_;
  Centroidal robot_;
  WheeledTerms terms_;
  RobotState at_;
  // Rates of the coordinates of a step (nv,) and of the independent velocities (m,), and their
  // means.
  Eigen::VectorXd rate_, mean_, reach_, force_, velocity_;
  VectorV slope_, mean_slope_;
};

}  // namespace vms_ph
