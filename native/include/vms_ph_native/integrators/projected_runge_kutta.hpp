// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Runge-Kutta in velocities, followed by a projection on momentum and energy balance.
#pragma once

#include <vector>

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
  Eigen::VectorXd start_, rates_, zero_velocity_, slope_, along_, step_;
};

/// One stage of an explicit scheme, each of which depends on the one before.
struct RungeKuttaStage {
  double lead;    ///< fraction of the step that has passed
  double weight;  ///< of its rates in the step
  double push;    ///< of its forces in the displacement of the centre of mass, of dt^2
};

/// Those of the classical scheme of fourth order.
inline constexpr RungeKuttaStage kClassical[] = {
    {0.0, 1.0 / 6, 1.0 / 6}, {0.5, 1.0 / 3, 1.0 / 6}, {0.5, 1.0 / 3, 1.0 / 6}, {1.0, 1.0 / 6, 0.0}};

/// Explicit Runge-Kutta with exact momentum and power balance; see
/// vms_ph_dynamics/integrators/projected_runge_kutta.py.
class ProjectedRungeKutta : public Stepper {
 public:
  int order() const override { return order_; }
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next) noexcept override;
  const Tree* placed() const noexcept override { return &robot_.tree; }
  void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept override;

 protected:
  ProjectedRungeKutta(const Model& model, bool gravity, int order,
                      std::vector<RungeKuttaStage> stages);

 private:
  void free_rk4(const SolverState& x, double dt, SolverState& next) noexcept;
  void free_midpoint(const SolverState& x, double dt, SolverState& next) noexcept;
  void accelerate(const SolverState& x, double lead, const Eigen::VectorXd& rate,
                  const Eigen::VectorXd& v, Eigen::VectorXd& a) noexcept;
  void forced(const SolverState& x, const Ports& ports, double t, double dt, SolverState& next,
              StepResult& result) noexcept;

  const int order_;
  const std::vector<RungeKuttaStage> stages_;
  Centroidal robot_;
  Projection projection_;
  Eigen::VectorXd zero_effort_, q_, v_, a_, mean_, mean_a_, rate_, reach_, force_, moving_;
  Eigen::VectorXd a2_, a3_, a4_;
};

/// The classical scheme of fourth order.
class ProjectedRK4 final : public ProjectedRungeKutta {
 public:
  ProjectedRK4(const Model& model, bool gravity);
};

/// The explicit midpoint rule, of second order, at half the cost.
class ProjectedMidpoint final : public ProjectedRungeKutta {
 public:
  ProjectedMidpoint(const Model& model, bool gravity);
};

/// `v + [u, v]/2 + [u, [u, v]]/12` in the base part: the rate of u for which exp(u) has the body
/// velocity v.
Screw inverse_differential(const Screw& u, const Screw& v);

}  // namespace vms_ph
