// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Runge-Kutta schemes: in velocities with a projection on momentum and energy balance, on the group
// of base motions, and for robots on wheels that do not slip.
#pragma once

#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/integrators/centroidal.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/wheels.hpp"

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

/// Take Runge-Kutta steps of order 4 on Pinocchio's aba without efforts: the baseline of
/// benchmarks.
///
/// @param q, v  (nq,) and (nv,) at the start, replaced by those at the end.
void pinocchio_rk4(const Model& model, Eigen::VectorXd& q, Eigen::VectorXd& v, double dt,
                   int steps);

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
