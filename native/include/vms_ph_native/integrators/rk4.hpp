// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The explicit Runge-Kutta method of fourth order, on the group of motions.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/integrators/centroidal.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// The configuration reached by Runge-Kutta steps of order 4 on Pinocchio's aba, without efforts.
///
/// @throws ModelError  q or v has a wrong size.
Eigen::VectorXd pinocchio_rk4(const Model& model, const Eigen::VectorXd& q0,
                              const Eigen::VectorXd& v0, double dt, int steps);

/// Classical Runge-Kutta on the group of base motions, in velocities; see
/// vms_ph_dynamics/integrators/rkmk4.py. The solver state is (q, v) in the inertial frame; momentum
/// and energy are conserved to the order. Drag is part of the dissipated energy.
class RKMK4 final : public Stepper {
 public:
  /// @throws ModelError  a robot with more than `kMaxVelocities` degrees of freedom.
  RKMK4(const Model& model, bool gravity);

  int order() const override { return 4; }
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next) noexcept override;

 private:
  void accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept;

  Model model_;
  Dynamics robot_;
  FluidTerms fluid_;
  Centroidal centroidal_;  ///< for the efforts of the ports
  Eigen::VectorXd q_, v_, a_, rate_, mean_, mean_a_, reach_, acting_;
  MatrixV mass_, coriolis_;
  VectorV force_, weight_;
};

}  // namespace vms_ph
