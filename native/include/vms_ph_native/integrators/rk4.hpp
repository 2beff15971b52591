// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The classical Runge-Kutta scheme in velocities, the explicit baseline.
#pragma once

#include <memory>

#include <Eigen/Core>

#include "vms_ph_native/integrators/centroidal.hpp"

namespace vms_ph {

/// RK4 on the coordinates of configuration and velocity, with accelerations by Pinocchio's
/// articulated-body algorithm. Quaternions and (cos, sin) pairs are normalised after the step. The
/// solver state is (q, v) in the inertial frame; momentum and energy are conserved to the order.
class RK4 final : public Stepper {
 public:
  RK4(const Model& model, bool gravity);
  ~RK4() override;

  int order() const override { return 4; }
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next) noexcept override;
  void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept override;

 private:
  void coordinate_rate(const Eigen::VectorXd& q, const Eigen::VectorXd& v) noexcept;
  void normalise(Eigen::VectorXd& q) const noexcept;

  Centroidal robot_;
  struct Algorithm;  ///< Pinocchio's model and workspace
  std::unique_ptr<Algorithm> algorithm_;
  Eigen::VectorXd q_, v_, force_, a_, qdot_, mean_q_, mean_a_;
};

}  // namespace vms_ph
