// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/closed_loop.hpp"

#include <cmath>
#include <utility>

namespace vms_ph {
namespace {

// Share of the energies by which a step may miss its balance; see
// vms_ph_dynamics.integrators.balance.
constexpr double kRelativeTolerance = 1e-6;

}  // namespace

ClosedLoop::ClosedLoop(const Model& model, Stepper& stepper, bool gravity, double floor)
    : stepper_(stepper), robot_(model), gravity_(gravity), rounding_energy_(floor) {
  ports_.torque = Eigen::VectorXd::Zero(model.n());
  ports_.wrench_base = Eigen::VectorXd::Zero(model.b());
  state_.q = Eigen::VectorXd::Zero(model.nq());
  state_.v = Eigen::VectorXd::Zero(model.nv());
  state_.terms = &robot_;
}

ClosedLoop::Energy ClosedLoop::energy(const SolverState& x) noexcept {
  stepper_.motion(x, state_.q, state_.v);
  if (const Tree* placed = stepper_.placed()) {
    robot_.copy_configuration(*placed, state_.q.data());
  } else {
    robot_.set_configuration(state_.q.data());
  }
  robot_.set_velocity(state_.v.data());
  const double kinetic = robot_.kinetic_energy();
  const double potential = gravity_ ? robot_.potential_energy() : 0.0;
  return {kinetic + potential, kinetic + std::abs(potential)};
}

void ClosedLoop::run(Control& control, SolverState& x, SolverState& scratch,
                     const Ports& external_ports, double t0, double dt, long first, long steps,
                     LoopResult& result) noexcept {
  ports_.any = true;
  ports_.has_tool = external_ports.has_tool;
  ports_.tool = external_ports.tool;
  ports_.viscous = external_ports.viscous;
  ports_.coulomb = external_ports.coulomb;
  ports_.slip = external_ports.slip;
  result.done = MultiStepResult();
  SolverState* current = &x;
  SolverState* next = &scratch;
  Energy before = energy(x);
  for (long k = 0; k < steps; ++k) {
    ports_.torque = result.now.torque;
    if (external_ports.torque.size() > 0) ports_.torque += external_ports.torque;
    ports_.wrench_base = result.now.wrench_base;
    if (external_ports.wrench_base.size() > 0) ports_.wrench_base += external_ports.wrench_base;
    const double t = t0 + (static_cast<double>(first) + static_cast<double>(k)) * dt;
    const StepResult part = stepper_.step(*current, ports_, t, dt, *next);
    if (part.failure != Failure::none) break;
    const Energy after = energy(*next);
    double exchanged_energy = part.dissipated;
    for (const double supplied : part.supplied) exchanged_energy += std::abs(supplied);
    const double tolerance =
        kRelativeTolerance * (before.size + after.size + exchanged_energy) + 2.0 * rounding_energy_;
    if (!(std::abs(after.total - before.total - part.net()) <= tolerance)) break;
    before = after;
    std::swap(current, next);
    result.done.result.add(part);
    ++result.done.steps;
    const Command* command = control.update(state_, dt);
    if (command == nullptr) break;
    result.fits = command->torque.size() == ports_.torque.size() &&
                  command->wrench_base.size() == ports_.wrench_base.size();
    if (!result.fits) break;
    std::swap(result.before, result.now);
    result.now.torque = command->torque;
    result.now.wrench_base = command->wrench_base;
  }
  if (current != &x) std::swap(x, scratch);
}

}  // namespace vms_ph
