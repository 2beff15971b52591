// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/stepper.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

Eigen::Vector3d Fall::centre_at(double t, double elapsed) const {
  const double s = (t - start_time) + elapsed;
  return centre + s * (linear_momentum / mass + (0.5 * s) * gravity);
}

Eigen::Vector3d Fall::velocity_at(double t, double elapsed) const {
  return linear_momentum / mass + ((t - start_time) + elapsed) * gravity;
}

Fall Fall::after_impulse(double t, double elapsed, const Eigen::Vector3d& displacement,
                         const Eigen::Vector3d& impulse) const {
  Fall next_fall = *this;
  next_fall.start_time = t + elapsed;
  next_fall.centre = centre_at(t, elapsed) + displacement;
  next_fall.linear_momentum = mass * velocity_at(t, elapsed) + impulse;
  return next_fall;
}

void CompensatedSum::add(double energy) {
  // Neumaier's sum.
  const double summand = remainder + energy, total = value + summand;
  const bool is_larger = std::abs(value) >= std::abs(summand);
  const double larger = is_larger ? value : summand, smaller = is_larger ? summand : value;
  remainder = (larger - total) + smaller;
  value = total;
}

void PastSteps::append(double t, const Eigen::Ref<const Eigen::VectorXd>& value) {
  // Remove a point at the same time, or else the oldest one.
  const auto erase = [this](int index) {
    for (int i = index; i + 1 < count; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      times[slot] = times[slot + 1];
      values[slot].swap(values[slot + 1]);
    }
    --count;
  };
  for (int i = count; i-- > 0;) {
    if (times[static_cast<std::size_t>(i)] == t) erase(i);
  }
  if (count == kPoints) erase(0);
  const auto last = static_cast<std::size_t>(count++);
  times[last] = t;
  values[last] = value;
}

void PastSteps::extrapolate(double t, Eigen::Ref<Eigen::VectorXd> out) const {
  out.setZero();
  for (std::size_t i = 0; i < kPoints; ++i) {
    double weight = 1.0;
    for (std::size_t j = 0; j < kPoints; ++j) {
      if (j != i) weight *= (t - times[j]) / (times[i] - times[j]);
    }
    out += weight * values[i];
  }
}

void StepResult::add(const StepResult& other) {
  for (std::size_t i = 0; i < supplied.size(); ++i) supplied[i] += other.supplied[i];
  dissipated += other.dissipated;
}

std::string StepResult::reason() const {
  char text[200] = "";
  switch (failure) {
    case Failure::none:
      break;
    case Failure::not_finite:
      return reasons::step_not_finite;
    case Failure::energy_error:
      std::snprintf(text, sizeof text,
                    "the energy is off by %.3g J after the step, too much for the %.3g J of the "
                    "shape: the step is too long for the motion",
                    error, limit);
      break;
    case Failure::newton_stagnation:
      std::snprintf(text, sizeof text, "Newton's iteration stalls at a residual of %.3g", error);
      break;
    case Failure::newton_not_converged:
      std::snprintf(text, sizeof text, "Newton's iteration has not converged in %.0f steps", limit);
      break;
    case Failure::energy_residual:
      std::snprintf(text, sizeof text, "the solution misses an energy of %.3g J", error);
      break;
    case Failure::ambiguous_wheels:
      return "the wheels allow more motions at this posture than elsewhere";
  }
  return text;
}

SolverState Stepper::begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) {
  SolverState x;
  x.q = q;
  x.v = v;
  x.t = t;
  return x;
}

void Stepper::motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept {
  q = x.q;
  v = x.v;
}

MultiStepResult Stepper::run(SolverState& x, const Ports& ports, double t0, double dt,
                             long first_step, long steps, SolverState& scratch) noexcept {
  MultiStepResult total;
  SolverState* current = &x;
  SolverState* next = &scratch;
  for (; total.steps < steps; ++total.steps) {
    const double t = t0 + (static_cast<double>(first_step) + static_cast<double>(total.steps)) * dt;
    const StepResult step_result = step(*current, ports, t, dt, *next);
    if (step_result.failure != Failure::none) break;
    total.sum.add(step_result);
    total.sum.iterations = std::max(total.sum.iterations, step_result.iterations);
    std::swap(current, next);
  }
  if (current != &x) std::swap(x, scratch);
  return total;
}

std::unique_ptr<Stepper> make_stepper(const std::string& name, const Model& model, bool gravity,
                                      const std::vector<Wheel>& wheels) {
  if (!wheels.empty()) {
    if (name == "projected_rk4") return std::make_unique<WheeledRK4>(model, gravity, wheels);
    throw ModelError("a robot on wheels has the scheme 'projected_rk4'; given: '" + name + "'");
  }
  if (name == "rkmk4") return std::make_unique<RKMK4>(model, gravity);
  if (model.fluid() != nullptr) {
    throw ModelError("the scheme '" + name + "' does not cover robots in a fluid; rkmk4 does");
  }
  if (name == "projected_rk4") return std::make_unique<ProjectedRungeKutta>(model, gravity, 4);
  if (name == "projected_midpoint") return std::make_unique<ProjectedRungeKutta>(model, gravity, 2);
  if (name == "discrete_gradient") return std::make_unique<DiscreteGradient>(model, gravity);
  throw ModelError("there is no compiled scheme '" + name +
                   "'; there are projected_rk4, projected_midpoint, discrete_gradient and rkmk4");
}

namespace {

// Share of the energies by which a step may miss its balance; see
// vms_ph_dynamics.integrators.balance.
constexpr double kRelativeTolerance = 1e-6;

}  // namespace

ClosedLoop::ClosedLoop(const Model& model, Stepper& stepper, bool gravity, double rounding_energy)
    : stepper_(stepper), robot_(model), has_gravity_(gravity), rounding_energy_(rounding_energy) {
  ports_.torque = Eigen::VectorXd::Zero(model.n());
  ports_.wrench_base = Eigen::VectorXd::Zero(model.b());
  state_.q = Eigen::VectorXd::Zero(model.nq());
  state_.v = Eigen::VectorXd::Zero(model.nv());
}

ClosedLoop::Energy ClosedLoop::energy(const SolverState& x) noexcept {
  stepper_.motion(x, state_.q, state_.v);
  robot_.set_configuration(state_.q.data());
  robot_.set_velocity(state_.v.data());
  const double kinetic = robot_.kinetic_energy();
  const double potential = has_gravity_ ? robot_.potential_energy() : 0.0;
  return {kinetic + potential, kinetic + std::abs(potential)};
}

void ClosedLoop::run(Control& control, SolverState& x, SolverState& scratch,
                     const Ports& external_ports, double t0, double dt, long first_step, long steps,
                     LoopResult& result) noexcept {
  ports_.acts = true;
  ports_.has_tool = external_ports.has_tool;
  ports_.tool_wrench = external_ports.tool_wrench;
  ports_.viscous = external_ports.viscous;
  ports_.coulomb = external_ports.coulomb;
  ports_.slip = external_ports.slip;
  result.total = MultiStepResult();
  SolverState* current = &x;
  SolverState* next = &scratch;
  Energy start = energy(x);
  for (long k = 0; k < steps; ++k) {
    ports_.torque = result.next_command.torque;
    if (external_ports.torque.size() > 0) ports_.torque += external_ports.torque;
    ports_.wrench_base = result.next_command.wrench_base;
    if (external_ports.wrench_base.size() > 0) ports_.wrench_base += external_ports.wrench_base;
    const double t = t0 + (static_cast<double>(first_step) + static_cast<double>(k)) * dt;
    const StepResult step_result = stepper_.step(*current, ports_, t, dt, *next);
    if (step_result.failure != Failure::none) break;
    const Energy end = energy(*next);
    double exchanged_energy = step_result.dissipated;
    for (const double supplied : step_result.supplied) exchanged_energy += std::abs(supplied);
    const double tolerance =
        kRelativeTolerance * (start.magnitude + end.magnitude + exchanged_energy) +
        2.0 * rounding_energy_;
    if (!(std::abs(end.total - start.total - step_result.net_energy()) <= tolerance)) break;
    start = end;
    std::swap(current, next);
    result.total.sum.add(step_result);
    ++result.total.steps;
    const Command* command = control.update(state_, dt);
    if (command == nullptr) break;
    result.sizes_match = command->torque.size() == ports_.torque.size() &&
                         command->wrench_base.size() == ports_.wrench_base.size();
    if (!result.sizes_match) break;
    std::swap(result.last_command, result.next_command);
    result.next_command.torque = command->torque;
    result.next_command.wrench_base = command->wrench_base;
  }
  if (current != &x) std::swap(x, scratch);
}

}  // namespace vms_ph
