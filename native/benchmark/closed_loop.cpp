// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A law in the loop of the integrator at 1 kHz, and what it consists of; times are per step.
#include "vms_ph_native/closed_loop.hpp"

#include <memory>

#include "contender.hpp"
#include "vms_ph_native/decoupled_vms.hpp"
#include "vms_ph_native/integrators/projected_runge_kutta.hpp"
#include "vms_ph_native/supervisor.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace vms_ph {
namespace {

using Eigen::VectorXd;

constexpr double kPeriod = 1e-3, kRounding = 1e-9;
constexpr int kSteps = 200;  // of one update

/// A robot that moves under a guarded law; every update begins at the same motion.
template <class Scheme>
struct Loop {
  explicit Loop(const Model& m)
      : model(m), scheme(m, true), guard(m, law(m)), loop(m, scheme, true, kRounding) {
    // Near the middle of the ranges, away from singular postures.
    VectorXd middle = VectorXd::Constant(m.nv(), m.b() == 0 ? 0.4 : 0.0);
    for (int i = 0; i < m.n(); ++i) {
      const double centre = 0.5 * (m.lower()[i] + m.upper()[i]);
      if (std::isfinite(centre)) middle[m.b() + i] += centre;
    }
    state.q = VectorXd::Zero(m.nq());
    m.integrate(m.neutral_configuration(), middle, state.q);
    state.v = VectorXd::Constant(m.nv(), 0.2);
    start = here = next = scheme.begin(state.q, state.v, 0.0);
    guard.reset(state);
    const Command& command = guard.update(state, reference, kPeriod);
    first = {command.torque, command.wrench_base};
    ports.any = true;
    ports.torque = first.torque;
    ports.wrench_base = first.wrench_base;
  }

  static std::unique_ptr<Controller> law(const Model& m) {
    if (m.base() == Base::fixed) return std::make_unique<TaskSpaceIDAPBC>(m);
    return std::make_unique<DecoupledVMSController>(m);
  }

  void restart() {
    guard.reset(state);
    here = start;
  }

  const Model& model;
  Scheme scheme;
  Supervisor guard;
  ClosedLoop loop;
  RobotState state;
  Reference reference;
  SolverState start, here, next;
  HeldCommand first;
  Ports ports, outside;
};

template <class Scheme>
Contenders with(const Model& model, const std::string& scheme) {
  const auto s = std::make_shared<Loop<Scheme>>(model);
  const auto step = [s](int) {
    s->restart();
    s->scheme.run(s->here, s->ports, 0.0, kPeriod, 0, kSteps, s->next);
  };
  const auto update = [s](int) {
    s->restart();
    for (int k = 0; k < kSteps; ++k) s->guard.update(s->state, s->reference, kPeriod);
  };
  const auto all = [s](int) {
    s->restart();
    LoopResult result;
    result.now = result.before = s->first;
    HeldReference control(s->guard, s->reference);
    s->loop.run(control, s->here, s->next, s->outside, 0.0, kPeriod, 0, kSteps, result);
    if (result.done.steps != kSteps) throw ModelError("the loop has ended early");
  };
  return {{"a step of " + scheme, step, kSteps},
          {"an update of the guarded law", update, kSteps},
          {"a step of the closed loop by " + scheme, all, kSteps}};
}

}  // namespace

Contenders closed_loop(const Model& model) {
  if (model.base() == Base::fixed && model.n() < PositionTask::kDimension) return {};
  Contenders all = with<ProjectedRK4>(model, "projected_rk4");
  for (const Contender& contender : with<ProjectedMidpoint>(model, "projected_midpoint")) {
    if (contender.name != "an update of the guarded law") all.push_back(contender);
  }
  return all;
}

}  // namespace vms_ph
