// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/stepper.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "vms_ph_native/integrators/discrete_gradient.hpp"
#include "vms_ph_native/integrators/projected_runge_kutta.hpp"
#include "vms_ph_native/integrators/rk4.hpp"
#include "vms_ph_native/integrators/wheeled_rk4.hpp"
#include "vms_ph_native/texts.hpp"

namespace vms_ph {

Eigen::Vector3d Fall::centre_at(double t, double elapsed) const {
  const double s = (t - since) + elapsed;
  return centre + s * (linear / mass + (0.5 * s) * gravity);
}

Eigen::Vector3d Fall::velocity_at(double t, double elapsed) const {
  return linear / mass + ((t - since) + elapsed) * gravity;
}

Fall Fall::after_impulse(double t, double elapsed, const Eigen::Vector3d& displacement,
                         const Eigen::Vector3d& impulse) const {
  Fall after = *this;
  after.since = t + elapsed;
  after.centre = centre_at(t, elapsed) + displacement;
  after.linear = mass * velocity_at(t, elapsed) + impulse;
  return after;
}

void CompensatedSum::add(double energy) {
  // Neumaier's sum.
  const double small = rest + energy, total = value + small;
  const bool first = std::abs(value) >= std::abs(small);
  const double larger = first ? value : small, smaller = first ? small : value;
  rest = (larger - total) + smaller;
  value = total;
}

void PastSteps::append(double t, const Eigen::Ref<const Eigen::VectorXd>& value) {
  // Remove a point at the same time, or else the oldest one.
  const auto erase = [this](int at) {
    for (int i = at; i + 1 < count; ++i) {
      const auto to = static_cast<std::size_t>(i);
      times[to] = times[to + 1];
      values[to].swap(values[to + 1]);
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

void StepResult::add(const StepResult& part) {
  for (std::size_t i = 0; i < supplied.size(); ++i) supplied[i] += part.supplied[i];
  dissipated += part.dissipated;
}

std::string StepResult::reason() const {
  char text[200] = "";
  switch (failure) {
    case Failure::none:
      break;
    case Failure::not_finite:
      return reasons::step_not_finite;
    case Failure::energy_off:
      std::snprintf(text, sizeof text,
                    "the energy is off by %.3g J after the step, too much for the %.3g J of the "
                    "shape: the step is too long for the motion",
                    amount, extent);
      break;
    case Failure::newton_stalls:
      std::snprintf(text, sizeof text, "Newton's iteration stalls at a residual of %.3g", amount);
      break;
    case Failure::newton_unfinished:
      std::snprintf(text, sizeof text, "Newton's iteration has not converged in %.0f steps",
                    extent);
      break;
    case Failure::energy_missed:
      std::snprintf(text, sizeof text, "the solution misses an energy of %.3g J", amount);
      break;
    case Failure::undetermined:
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

MultiStepResult Stepper::run(SolverState& x, const Ports& ports, double t0, double dt, long first,
                             long steps, SolverState& scratch) noexcept {
  MultiStepResult total;
  SolverState* here = &x;
  SolverState* next = &scratch;
  for (; total.steps < steps; ++total.steps) {
    const double t = t0 + (static_cast<double>(first) + static_cast<double>(total.steps)) * dt;
    const StepResult part = step(*here, ports, t, dt, *next);
    if (part.failure != Failure::none) break;
    total.result.add(part);
    total.result.iterations = std::max(total.result.iterations, part.iterations);
    std::swap(here, next);
  }
  if (here != &x) std::swap(x, scratch);
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
  if (name == "projected_rk4") return std::make_unique<ProjectedRK4>(model, gravity);
  if (name == "projected_midpoint") return std::make_unique<ProjectedMidpoint>(model, gravity);
  if (name == "discrete_gradient") return std::make_unique<DiscreteGradient>(model, gravity);
  throw ModelError("there is no compiled scheme '" + name +
                   "'; there are projected_rk4, projected_midpoint, discrete_gradient and rkmk4");
}

}  // namespace vms_ph
