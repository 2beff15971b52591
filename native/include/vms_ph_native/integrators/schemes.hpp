// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The schemes, in the motion about the centre of mass: the energy- and momentum-conserving one with
// no projection; Runge-Kutta in velocities with a projection on momentum and energy balance, on the
// group of base motions, and for robots on wheels that do not slip.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/tree.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// Rounding of energies, as a share of their terms; as in the Python schemes.
constexpr double kEnergyRounding = 8.0 * std::numeric_limits<double>::epsilon();

/// The split of a robot's motion; see vms_ph_dynamics/integrators/centroidal.py. A workspace.
class CentroidalRobot {
 public:
  CentroidalRobot(const Model& robot, bool has_gravity);

  const Model model;
  Tree tree;
  const int centre_dim;  ///< dimensions in which the centre of mass moves freely: 0, 2 or 3
  const double mass;     ///< kg

  bool can_fall() const noexcept { return centre_dim > 0; }
  /// Write the motion (q, v) in the inertial frame at time t as one about the centre of mass.
  void split(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t, SolverState& x) noexcept;

  /// From a frame at `origin` with `velocity` to the inertial one, in place.
  void to_inertial(const Eigen::Vector3d& origin, const Eigen::Vector3d& velocity,
                   Eigen::VectorXd& q, Eigen::VectorXd& v) const noexcept;

  /// From base axes to inertial axes.
  Eigen::Matrix3d rotation(const Eigen::VectorXd& q) const noexcept;

  Eigen::Vector3d base_position(const Eigen::VectorXd& q) const noexcept;
  void set_base_position(const Eigen::Vector3d& origin, Eigen::VectorXd& q) const noexcept;

  /// Move the centre of mass of q to the origin and evaluate the tree there.
  void move_centre_to_origin(const Eigen::Matrix3d& rotation, Eigen::VectorXd& q) const noexcept;

  /// Kinetic energy of a motion plus the potential of the gravity that acts on the shape, J.
  double energy(const Eigen::VectorXd& q, const Eigen::VectorXd& v) noexcept;

  /// Generalised force (nv,) of all efforts but gravity at time t, at the tree's configuration.
  void port_force(const Ports& ports, double t, const Eigen::VectorXd& v,
                  Eigen::VectorXd& force) noexcept;

  /// Add the work of these efforts at a velocity (nv,) in the inertial frame, held for a duration.
  void add_port_energies(const Ports& ports, const Eigen::VectorXd& v, double duration,
                         StepResult& result) const noexcept;

 private:
  double friction_effort(const Ports& ports, int joint, double rate) const noexcept;

  Eigen::VectorXd end_effector_force_;  ///< (nv,) of that wrench
};

/// Finds the fixed point of a sweep; see vms_ph_dynamics/integrators/implicit.py.
class FixedPointSolver {
 public:
  /// Evaluates one sweep from a guess of the unknown; false when the result is not finite.
  using Sweep = std::function<bool(const Eigen::VectorXd& unknown, Eigen::VectorXd& image)>;

  explicit FixedPointSolver(int size);

  Eigen::VectorXd unknown;  ///< the guess, then the solution

  /// Solve; the last sweep made is that of the solution. Writes iterations and failure.
  bool solve(const Sweep& sweep, StepResult& result) noexcept;

 private:
  bool solve_by_newton(const Sweep& sweep, StepResult& result) noexcept;

  Eigen::VectorXd iterate_, image_, residual_, step_, trial_, trial_residual_;
  Eigen::MatrixXd jacobian_;
};

/// Advances by the Cayley map of the velocity in the middle of the step, with Gonzalez' correction
/// of the shape force; see vms_ph_dynamics/integrators/discrete_gradient.py.
class DiscreteGradient final : public Stepper {
 public:
  DiscreteGradient(const Model& model, bool has_gravity);

  int order() const override { return 2; }
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next_state) noexcept override;
  void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept override;

 private:
  /// An energy and the magnitude of its terms; the velocity is in `velocity_`.
  struct Energy {
    double value, magnitude;
  };

  bool sweep(const Eigen::VectorXd& unknown, Eigen::VectorXd& image) noexcept;
  void set_guess(const SolverState& x, double t, double dt, bool ignores_past_steps) noexcept;
  Energy evaluate_energy(const Eigen::VectorXd& q, const Eigen::Vector3d& angular_momentum,
                         const Eigen::VectorXd& pi) noexcept;
  /// The factor for correct_momenta() that closes the energy balance.
  double multiplier(const Eigen::VectorXd& image, const Eigen::Vector3d& end_momentum) noexcept;
  void correct_momenta(double lambda) noexcept;
  void remove_rounding_error(StepResult& result) noexcept;
  void centroidal_motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept;
  Eigen::Vector3d to_base(const Eigen::VectorXd& q, const Eigen::Vector3d& vector) const noexcept;

  CentroidalRobot robot_;
  Tree end_tree_;  ///< evaluated at the end of the step; that of robot_ in the middle
  FixedPointSolver free_solver_, forced_solver_;
  Eigen::VectorXd joint_inertias_;  ///< (n,) of the joints in the discrete gradient
  double root_mean_inertia_ = 1.0;  ///< root of their mean
  Eigen::VectorXd zero_effort_, increment_, q_mid_, v_mid_, force_, shape_force_, pi_mean_,
      velocity_, weighted_step_;  ///< the last: joint step times inertia
  // The present step:
  const SolverState* start_state_ = nullptr;
  const Ports* ports_ = nullptr;
  SolverState* end_state_ = nullptr;
  double t_ = 0.0, dt_ = 0.0, step_norm_ = 0.0;  ///< norm of the joint step in their inertia
  Eigen::Vector3d start_momentum_ = Eigen::Vector3d::Zero();  ///< angular, base axes
};

/// The projection of vms_ph_dynamics/integrators/projection.py, with its workspace.
class Projection {
 public:
  explicit Projection(CentroidalRobot& robot);

  /// Project (x.q, x.v) on the angular momentum and energy stored in x, after a step of dt s.
  ///
  /// Rounding of the energy is removed from x.energy too. Writes a failure to `result`.
  void project(SolverState& x, double dt, StepResult& result) noexcept;

 private:
  double rest_threshold(double dt) const noexcept;  ///< energy below which a robot rests, J
  double fall_energy(double dt) const noexcept;     ///< by a fall from rest for a step, J
  /// Rounding error of an energy whose terms add up to a magnitude, J.
  double tolerance(const SolverState& x, double magnitude, double dt) const noexcept;
  void correct_along_gradient(SolverState& x, double dt, StepResult& result) noexcept;
  Screw momentum_in_base(const Eigen::VectorXd& q, const SolverState& x) const noexcept;

  CentroidalRobot& robot_;
  Eigen::VectorXd start_q_, joint_rates_, locked_velocity_, gradient_, direction_, increment_;
};

/// One stage of an explicit scheme, each of which depends on the one before.
struct RungeKuttaStage {
  double fraction;             ///< of the step that has passed
  double weight;               ///< of its rates in the step
  double displacement_weight;  ///< of its forces in that of the centre of mass, of dt^2
};

/// Those of the classical scheme of fourth order.
inline constexpr RungeKuttaStage kRK4Stages[] = {
    {0.0, 1.0 / 6, 1.0 / 6}, {0.5, 1.0 / 3, 1.0 / 6}, {0.5, 1.0 / 3, 1.0 / 6}, {1.0, 1.0 / 6, 0.0}};

/// Explicit Runge-Kutta with exact momentum and power balance; see
/// vms_ph_dynamics/integrators/projected_runge_kutta.py.
class ProjectedRungeKutta final : public Stepper {
 public:
  /// @param order  4 for the classical scheme, 2 for the explicit midpoint rule, at half the cost.
  ProjectedRungeKutta(const Model& model, bool has_gravity, int order);

  int order() const override { return order_; }
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next_state) noexcept override;
  const Tree* end_tree() const noexcept override { return &robot_.tree; }
  void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept override;

 private:
  void take_free_step(const SolverState& x, double dt, SolverState& next_state) noexcept;
  void accelerate(const SolverState& x, double duration, const Eigen::VectorXd& rate,
                  const Eigen::VectorXd& v, Eigen::VectorXd& a) noexcept;
  void take_forced_step(const SolverState& x, const Ports& ports, double t, double dt,
                        SolverState& next_state, StepResult& result) noexcept;

  const int order_;
  std::vector<RungeKuttaStage> stages_;
  CentroidalRobot robot_;
  Projection projection_;
  Eigen::VectorXd zero_effort_, q_, v_, a_, mean_rate_, mean_a_, rate_, increment_, force_,
      inertial_velocity_, a2_, a3_, a4_;  ///< accelerations of stages
};

/// `v + [u, v]/2 + [u, [u, v]]/12` in the base part: rate of u so that exp(u) has body velocity v.
Screw dexp_inverse(const Screw& u, const Screw& v);

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
  WheeledRK4(const Model& model, bool has_gravity, const std::vector<Wheel>& wheels);

  int order() const override { return 4; }

  /// @throws ModelError  the independent velocities do not determine the others there.
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next_state) noexcept override;

 private:
  Failure evaluate_at(const Eigen::VectorXd& start_q, double fraction) noexcept;
  double energy() noexcept;
  void compute_rates(const Ports& ports, double duration, StepResult& result) noexcept;

  const bool has_gravity_;
  const Model& model_;
  CentroidalRobot robot_;
  WheeledTerms terms_;
  RobotState stage_;
  // Rates of the coordinates of a step (nv,) and of the independent velocities (m,), and means.
  Eigen::VectorXd rate_, mean_rate_, increment_, force_, velocity_;
  VectorV nu_rate_, mean_nu_rate_;
};

/// Take Runge-Kutta steps of order 4 on Pinocchio's aba without efforts: for benchmarks.
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
  RKMK4(const Model& model, bool has_gravity);

  int order() const override { return 4; }
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next_state) noexcept override;

 private:
  void accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept;

  Model model_;
  Evaluation d_;
  CentroidalRobot robot_;  ///< for the efforts of the ports
  Eigen::VectorXd q_, v_, a_, rate_, mean_rate_, mean_a_, increment_, port_force_;
};

}  // namespace vms_ph
