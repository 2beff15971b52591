// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Time-stepping schemes: solver state, ports held over a step, steps, and loops with a control.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/tree.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// Ballistic motion of the centre of mass since a port last acted; on a planar base in its plane.
///
/// Times are passed as t plus elapsed, to avoid cancellation.
struct Fall {
  double start_time = 0.0;                                    ///< that instant, s
  Eigen::Vector3d centre_of_mass = Eigen::Vector3d::Zero();   ///< then, inertial frame, m
  Eigen::Vector3d linear_momentum = Eigen::Vector3d::Zero();  ///< then, inertial axes, kg m/s
  double mass = 0.0;                                          ///< kg
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();          ///< m/s^2

  Eigen::Vector3d centre_at(double t, double elapsed_time = 0.0) const;
  Eigen::Vector3d velocity_at(double t, double elapsed_time = 0.0) const;
  /// The motion after an impulse and the displacement that it causes.
  Fall after_impulse(double t, double elapsed_time, const Eigen::Vector3d& displacement,
                     const Eigen::Vector3d& impulse) const;
};

/// An energy as a sum of two numbers: a million small contributions leave no rounding error.
struct CompensatedSum {
  double value = 0.0, remainder = 0.0;  ///< J

  void add(double energy);
};

/// The unknown of an implicit scheme at the midpoints of the latest steps, the newest last.
struct PastSteps {
  static constexpr int kMaxSteps = 4;
  int count = 0;
  std::array<double, kMaxSteps> times{};
  std::array<Eigen::VectorXd, kMaxSteps> unknowns;

  void append(double t, const Eigen::Ref<const Eigen::VectorXd>& unknown);
  /// The polynomial through the points, at another time.
  void extrapolate(double t, Eigen::Ref<Eigen::VectorXd> unknown) const;
};

/// The state of a scheme between steps: the motion relative to the centre of mass, the motion of
/// the centre of mass, and the conserved quantities. As in vms_ph_dynamics.integrators; on a fixed
/// base nothing falls.
struct SolverState {
  Eigen::VectorXd q;   ///< (nq,)
  Eigen::VectorXd v;   ///< (nv,); of projected_rk4 and rk4
  Eigen::VectorXd pi;  ///< (n,) joint momenta; of discrete_gradient
  Fall fall;
  Eigen::Vector3d angular_momentum = Eigen::Vector3d::Zero();  ///< about the centre, inertial axes
  CompensatedSum energy;
  double t = 0.0;  ///< s
  PastSteps past_steps;
};

/// Angular momentum of rotors and wheels on a floating base, kg m^2/s in base axes. It changes at a
/// constant rate; the moment that causes it is part of the wrench on the base.
struct Spin {
  bool is_spinning = false;  ///< whether any rotor or wheel spins
  double start_time = 0.0;   ///< time of `momentum`, s
  Eigen::Vector3d momentum = Eigen::Vector3d::Zero();
  Eigen::Vector3d rate = Eigen::Vector3d::Zero();  ///< N m

  /// The gyroscopic moment on a base that turns with w at time t; it has no power.
  Eigen::Vector3d moment(double t, const Eigen::Vector3d& w) const {
    return (momentum + (t - start_time) * rate).cross(w);
  }
};

/// Efforts held over a step; see vms_ph_dynamics.forms.Ports.
struct Ports {
  bool has_efforts = false;               ///< whether any effort besides gravity acts
  Eigen::VectorXd torque;                 ///< (n,) N m or N; empty for none
  Eigen::VectorXd wrench_base;            ///< (b,) base axes, linear first
  bool has_wrench_end_effector = false;   ///< whether `wrench_end_effector` acts
  Screw wrench_end_effector;              ///< at the end effector in its axes
  Eigen::VectorXd damping, dry_friction;  ///< (n,) friction; empty for none
  double slip_speed = 1.0;  ///< rate of joints below which dry friction fades, rad/s or m/s
  Spin spin;                ///< whose gyroscopic moment follows the motion
};

enum class Failure : unsigned char {
  none,
  not_finite,            ///< the motion is not finite
  energy_error,          ///< by `error`, too much for the `limit` of the shape
  newton_stagnation,     ///< at a residual of `error`
  newton_not_converged,  ///< in `limit` steps
  energy_residual,       ///< the solution misses `error`
  ambiguous_wheels,      ///< the wheels allow more motions at a posture than elsewhere
};

/// The energies and the outcome of one step or of several.
struct StepResult {
  std::array<double, 3> supplied_energy{};  ///< by torques, at the base, at the end effector, J
  double dissipated_energy = 0.0;           ///< J
  int iterations = 0;                       ///< 0 for explicit schemes
  Failure failure = Failure::none;
  double error = 0.0, limit = 0.0;  ///< see Failure

  double net_energy() const {
    return supplied_energy[0] + supplied_energy[1] + supplied_energy[2] - dissipated_energy;
  }
  void add(const StepResult& other);
  std::string reason() const;  ///< one sentence about the failure
};

/// The result of many steps; fewer than requested when the next one fails.
struct MultiStepResult {
  long steps = 0;  ///< number of them
  StepResult sum;
};

/// A scheme for one robot: one thread at a time. After begin() nothing allocates or throws.
class Stepper {
 public:
  virtual ~Stepper() = default;

  virtual int order() const = 0;

  /// The solver state for a motion (q, v) in the inertial frame; unless defined, the motion itself.
  virtual SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t);

  /// One step of dt s from time t.
  /// @param x     solver state; it is not changed.
  /// @param next_state  that after the step, made by begin(), not x; undefined after a failure.
  virtual StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                          SolverState& next_state) noexcept = 0;

  /// The tree at the end of the last step, if there is one.
  virtual const Tree* end_tree() const noexcept { return nullptr; }

  /// The motion in the inertial frame.
  virtual void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept;

  /// Take `steps` steps, the first from t0 + first_step * dt; stop before one that fails.
  ///
  /// @param x     solver state at the start, replaced by that at the end.
  /// @param scratch  as `next_state` of step().
  MultiStepResult run(SolverState& x, const Ports& ports, double t0, double dt, long first_step,
                      long steps, SolverState& scratch) noexcept;
};

/// Make a scheme by its name for a robot, which must outlive it.
///
/// @param has_gravity  whether it acts.
/// @param wheels       that do not slip; the scheme is then projected_rk4.
/// @throws ModelError  an unknown name, or a robot that the scheme is not for.
std::unique_ptr<Stepper> make_stepper(const std::string& name, const Model& model, bool has_gravity,
                                      const std::vector<Wheel>& wheels = {});

/// Efforts of a control, constant over a step.
struct CommandEfforts {
  Eigen::VectorXd torque;       ///< (n,)
  Eigen::VectorXd wrench_base;  ///< (b,)
};

/// The steps that a loop has taken.
struct LoopResult {
  MultiStepResult total;
  CommandEfforts last_command, next_command;  ///< over the last step, and after it
  bool sizes_match = true;  ///< whether the efforts of the control were of the robot's size
};

/// What acts on the robot in a loop.
class Control {
 public:
  virtual ~Control() = default;

  /// The command for a state, dt s after the last one; null where it has failed.
  virtual const Command* update(const RobotState& state, double dt) noexcept = 0;

  virtual Evaluation* evaluation() noexcept { return nullptr; }  ///< as Controller::evaluation()
};

/// A law on a reference that does not move.
class ConstantReference final : public Control {
 public:
  ConstantReference(Controller& law, const Reference& reference)
      : law_(law), reference_(reference) {}

  const Command* update(const RobotState& state, double dt) noexcept override {
    return &law_.update(state, reference_, dt);
  }
  Evaluation* evaluation() noexcept override { return law_.evaluation(); }

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
  /// @param rounding_energy  energy that a step may miss by rounding, J.
  /// @param has_gravity  whether it acts, as in the scheme.
  ClosedLoop(const Model& model, Stepper& stepper, bool has_gravity, double rounding_energy);

  /// Take steps, the first from t0 + first_step * dt, with an update of the control after each.
  ///
  /// It stops before a step that fails or does not close its energy balance; the control has not
  /// been updated for that one. It stops as well after a step at whose end the control fails.
  ///
  /// @param x        solver state at the start, replaced by that at the end.
  /// @param scratch     as `next_state` of Stepper::step().
  /// @param external_ports  efforts besides those of the control.
  /// @param result   contains the efforts over the first step as `next_command`.
  void run(Control& control, SolverState& x, SolverState& scratch, const Ports& external_ports,
           double t0, double dt, long first_step, long steps, LoopResult& result) noexcept;

 private:
  struct Energy {
    double total, magnitude;  // magnitude: kinetic plus that of the potential energy
  };
  Energy energy(const SolverState& x, const Tree* tree) noexcept;

  const Model& model_;
  Stepper& stepper_;
  Evaluation* evaluation_ = nullptr;  ///< that of the control, if it is of this model
  Dynamics dynamics_;                 ///< otherwise
  const bool has_gravity_;
  const double rounding_energy_;
  Ports ports_;       ///< external ones and the command
  RobotState state_;  ///< at the end of the step
};

}  // namespace vms_ph
