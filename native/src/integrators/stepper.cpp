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

Eigen::Vector3d Fall::centre_at(double t, double elapsed_time) const {
  const double fall_time = (t - start_time) + elapsed_time;
  return centre_of_mass + fall_time * (linear_momentum / mass + (0.5 * fall_time) * gravity);
}

Eigen::Vector3d Fall::velocity_at(double t, double elapsed_time) const {
  return linear_momentum / mass + ((t - start_time) + elapsed_time) * gravity;
}

Fall Fall::after_impulse(double t, double elapsed_time, const Eigen::Vector3d& displacement,
                         const Eigen::Vector3d& impulse) const {
  Fall next_fall = *this;
  next_fall.start_time = t + elapsed_time;
  next_fall.centre_of_mass = centre_at(t, elapsed_time) + displacement;
  next_fall.linear_momentum = mass * velocity_at(t, elapsed_time) + impulse;
  return next_fall;
}

void CompensatedSum::add(double energy) {
  // Neumaier's sum.
  const double summand = remainder + energy, new_value = value + summand;
  const bool is_larger = std::abs(value) >= std::abs(summand);
  const double larger = is_larger ? value : summand, smaller = is_larger ? summand : value;
  remainder = (larger - new_value) + smaller;
  value = new_value;
}

void PastSteps::append(double t, const Eigen::Ref<const Eigen::VectorXd>& unknown) {
  // Remove a point at the same time, or else the oldest one.
  const auto erase = [this](int index) {
    for (int i = index; i + 1 < count; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      times[slot] = times[slot + 1];
      unknowns[slot].swap(unknowns[slot + 1]);
    }
    --count;
  };
  for (int i = count; i-- > 0;) {
    if (times[static_cast<std::size_t>(i)] == t) erase(i);
  }
  if (count == kMaxSteps) erase(0);
  const auto newest_index = static_cast<std::size_t>(count++);
  times[newest_index] = t;
  unknowns[newest_index] = unknown;
}

void PastSteps::extrapolate(double t, Eigen::Ref<Eigen::VectorXd> unknown) const {
  unknown.setZero();
  for (std::size_t i = 0; i < kMaxSteps; ++i) {
    double weight = 1.0;
    for (std::size_t j = 0; j < kMaxSteps; ++j) {
      if (j != i) weight *= (t - times[j]) / (times[i] - times[j]);
    }
    unknown += weight * unknowns[i];
  }
}

void StepResult::add(const StepResult& other) {
  for (std::size_t i = 0; i < supplied_energy.size(); ++i)
    supplied_energy[i] += other.supplied_energy[i];
  dissipated_energy += other.dissipated_energy;
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
  MultiStepResult result;
  SolverState* current_state = &x;
  SolverState* next_state = &scratch;
  for (; result.steps < steps; ++result.steps) {
    const double t = t0 + static_cast<double>(first_step + result.steps) * dt;
    const StepResult step_result = step(*current_state, ports, t, dt, *next_state);
    if (step_result.failure != Failure::none) break;
    result.sum.add(step_result);
    result.sum.iterations = std::max(result.sum.iterations, step_result.iterations);
    std::swap(current_state, next_state);
  }
  if (current_state != &x) std::swap(x, scratch);
  return result;
}

std::unique_ptr<Stepper> make_stepper(const std::string& name, const Model& model, bool has_gravity,
                                      const std::vector<Wheel>& wheels) {
  if (!wheels.empty()) {
    if (name == "projected_rk4") return std::make_unique<WheeledRK4>(model, has_gravity, wheels);
    throw ModelError("a robot on wheels has the scheme 'projected_rk4'; given: '" + name + "'");
  }
  if (name == "rkmk4") return std::make_unique<RKMK4>(model, has_gravity);
  if (model.fluid() != nullptr) {
    throw ModelError("the scheme '" + name + "' does not cover robots in a fluid; rkmk4 does");
  }
  if (name == "projected_rk4") return std::make_unique<ProjectedRungeKutta>(model, has_gravity, 4);
  if (name == "projected_midpoint")
    return std::make_unique<ProjectedRungeKutta>(model, has_gravity, 2);
  if (name == "discrete_gradient") return std::make_unique<DiscreteGradient>(model, has_gravity);
  throw ModelError("there is no compiled scheme '" + name +
                   "'; there are projected_rk4, projected_midpoint, discrete_gradient and rkmk4");
}

namespace {

// Share of the energies by which a step may miss its balance; see
// vms_ph_dynamics.integrators.balance.
constexpr double kRelativeTolerance = 1e-6;

}  // namespace

ClosedLoop::ClosedLoop(const Model& model, Stepper& stepper, bool has_gravity,
                       double rounding_energy)
    : model_(model),
      stepper_(stepper),
      dynamics_(model),
      has_gravity_(has_gravity),
      rounding_energy_(rounding_energy) {
  ports_.torque = Eigen::VectorXd::Zero(model.n());
  ports_.wrench_base = Eigen::VectorXd::Zero(model.b());
  state_.q = Eigen::VectorXd::Zero(model.nq());
  state_.v = Eigen::VectorXd::Zero(model.nv());
}

/// Energies in the inertial frame; `tree` is one at the joint positions of x, or null.
ClosedLoop::Energy ClosedLoop::energy(const SolverState& x, const Tree* tree) noexcept {
  stepper_.motion(x, state_.q, state_.v);
  if (evaluation_ == nullptr) {
    dynamics_.set_configuration(state_.q.data(), tree);
    dynamics_.set_velocity(state_.v.data());
  }
  const Dynamics& d = evaluation_ == nullptr ? dynamics_ : evaluation_->set_ahead(state_, tree);
  const double kinetic_energy = d.kinetic_energy();
  const double potential_energy = has_gravity_ ? d.potential_energy() : 0.0;
  return {kinetic_energy + potential_energy, kinetic_energy + std::abs(potential_energy)};
}

void ClosedLoop::run(Control& control, SolverState& x, SolverState& scratch,
                     const Ports& external_ports, double t0, double dt, long first_step, long steps,
                     LoopResult& result) noexcept {
  ports_.has_efforts = true;
  ports_.has_wrench_end_effector = external_ports.has_wrench_end_effector;
  ports_.wrench_end_effector = external_ports.wrench_end_effector;
  ports_.damping = external_ports.damping;
  ports_.dry_friction = external_ports.dry_friction;
  ports_.slip_speed = external_ports.slip_speed;
  result.total = MultiStepResult();
  SolverState* current_state = &x;
  SolverState* next_state = &scratch;
  evaluation_ = control.evaluation();
  if (evaluation_ != nullptr && &evaluation_->model() != &model_) evaluation_ = nullptr;
  state_.evaluation = evaluation_;
  Energy start_energy = energy(x, nullptr);
  for (long k = 0; k < steps; ++k) {
    ports_.torque = result.next_command.torque;
    if (external_ports.torque.size() > 0) ports_.torque += external_ports.torque;
    ports_.wrench_base = result.next_command.wrench_base;
    if (external_ports.wrench_base.size() > 0) ports_.wrench_base += external_ports.wrench_base;
    const double t = t0 + static_cast<double>(first_step + k) * dt;
    const StepResult step_result = stepper_.step(*current_state, ports_, t, dt, *next_state);
    if (step_result.failure != Failure::none) break;
    const Energy end_energy = energy(*next_state, stepper_.end_tree());
    double exchanged_energy = step_result.dissipated_energy;
    for (const double work : step_result.supplied_energy) exchanged_energy += std::abs(work);
    const double tolerance =
        kRelativeTolerance * (start_energy.magnitude + end_energy.magnitude + exchanged_energy) +
        2.0 * rounding_energy_;
    if (!(std::abs(end_energy.total - start_energy.total - step_result.net_energy()) <= tolerance))
      break;
    start_energy = end_energy;
    std::swap(current_state, next_state);
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
  if (current_state != &x) std::swap(x, scratch);
}

}  // namespace vms_ph
