// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/sample_budget.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Multiple of the bound of a quick check that the tank must hold: inertia and gravity change on the
// way, which it leaves out.
constexpr double kClear = 2.0;

// Number of shares of the strongest brake that are tried, and what the first one exceeds the
// estimate by: the margin of a prediction is part of it.
constexpr int kTrials = 5;
constexpr double kMore = 1.05;

// Smallest share of the strongest brake that is tried.
constexpr double kLeast = 0.01;

// Longest way for which the quick check is made, rad or m.
constexpr double kNear = 0.2;

}  // namespace

SampleBudget::SampleBudget(const Model& model, BaseWrench wrench)
    : model_(model),
      wrench_(std::move(wrench)),
      ahead_(model),
      prediction_(model),
      grant_(model),
      limits_(model),
      resting_(VectorV::Zero(model.nv())),
      unheld_(resting_),
      active_(resting_),
      granted_(resting_),
      step_(resting_),
      rest_(resting_),
      brake_(resting_) {
  found_.acceleration = found_.way = resting_;
}

bool SampleBudget::deliver(VectorV& effort) noexcept {
  if (wrench_.is_ideal()) return false;
  VectorB wrench = effort.head(model_.b());
  if (!wrench_.deliver(wrench)) return false;
  effort.head(model_.b()) = wrench;
  return true;
}

void SampleBudget::resting(Evaluation& d, VectorV& result) noexcept {
  result = d.g();
  if (wrench_.is_ideal()) return;
  VectorB wrench = result.head(model_.b());
  if (wrench_.deliver(wrench)) replace_wrench(d, wrench, result);
}

void SampleBudget::unheld(Evaluation& d, VectorV& result) noexcept {
  if (wrench_.is_ideal()) {
    result.setZero(model_.nv());
    return;
  }
  resting(d, result);
  result -= d.g();
}

/// Give an effort (nv,) another wrench and keep the force on the shape.
void SampleBudget::replace_wrench(Evaluation& d, const VectorB& wrench, VectorV& effort) noexcept {
  const int b = model_.b();
  const VectorB change = wrench - effort.head(b);
  add_product(transposed(d.A()), change, effort.tail(model_.n()));
  effort.head(b) = wrench;
}

void SampleBudget::strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept {
  const int n = model_.n();
  resting(d, rest_);
  vms_ph::strongest_brake(d, dt, result);
  if (!wrench_.is_ideal()) {
    // Measured from what is held of the weight.
    result += rest_;
    result -= d.g();
    VectorB wrench = result.head(model_.b());
    wrench_.brake(wrench, d.M().topLeftCorner(model_.b(), model_.b()));
    replace_wrench(d, wrench, result);
  }
  const double share = limits_.share_within(rest_.tail(n), result.tail(n));
  result = rest_ + share * (result - rest_);
}

void SampleBudget::velocity_ahead(Evaluation& d, const EffortsUnderWay& under_way, double dt,
                                  VectorV& result) noexcept {
  result = d.v();
  const int count = under_way.waiting();
  if (count == 0) return;
  unheld(d, unheld_);
  step_ = d.g() - unheld_;
  add_product(d.C(), d.v(), step_);
  active_ = -count * step_;
  for (int k = 0; k < count; ++k) active_ += under_way.waiting(k);
  inertia_.compute(d.M());
  inertia_.solve(active_.data());
  result += dt * active_;
}

void SampleBudget::grant(Evaluation& d, VectorV& force, const EffortsUnderWay& under_way,
                         double level, const DebtCeiling& ceiling, double dt) noexcept {
  reason_ = "";
  is_brake_ = false;
  if (is_clear(d, force, under_way, level, dt)) {
    resting(d, granted_);
    granted_ = force - granted_;
    return;
  }
  Evaluation* ahead = &d;
  double spent = 0.0;
  for (int k = 0; k < under_way.waiting(); ++k) {
    unheld(*ahead, unheld_);
    prediction_.begin(*ahead, unheld_, 0.0, dt);
    active_ = under_way.waiting(k) + unheld_;
    prediction_.predict(active_, found_);
    const double energy = prediction_.energy();
    spent += level < 0.0 ? energy : std::max(0.0, energy);
    if (!std::isfinite(energy)) break;
    // The state at the end is copied before it is overwritten.
    ahead_.set(prediction_.end_q(), prediction_.end_v());
    ahead = &ahead_;
  }
  double budget = std::isfinite(spent) ? level - spent : std::min(level, 0.0);
  if (level < 0.0) budget = std::min(budget, 0.0);
  resting(*ahead, resting_);
  const bool covered = grant_.grant(*ahead, force, resting_, budget, dt);
  is_brake_ = !covered;
  reason_ = grant_.reason().text();
  if (!covered) {
    brake(*ahead, force, budget, dt);
  }
  granted_ = force - resting_;
  if (!(level < -DebtCeiling::kRounding)) return;
  inertia_.compute(ahead->M());
  double left = ceiling.rise();
  for (int k = 0; k < under_way.waiting(); ++k) left -= rise(under_way.waiting_active(k), dt);
  left = std::max(0.0, left);
  const double wanted = rise(granted_, dt);
  if (!(wanted > left)) return;
  unheld(*ahead, unheld_);
  prediction_.begin(*ahead, unheld_, 0.0, dt);
  granted_ *= std::max(left / wanted, neutral(force));
  force = resting_ + granted_;
  if (reason_[0] == '\0') reason_ = "the energy tank has a debt";
}

/// Replace a granted effort by the least brake that meets the budget, or what comes next to it.
void SampleBudget::brake(Evaluation& d, VectorV& force, double budget, double dt) noexcept {
  strongest_brake(d, dt, brake_);
  unheld(d, unheld_);
  prediction_.begin(d, unheld_, budget, dt);
  prediction_.predict(brake_, found_);
  const double lack = found_.lack, least = prediction_.energy();
  if (lack > 0.0) {
    prediction_.predict(force, found_);
    if (lack < found_.lack) force = brake_;
    return;
  }
  prediction_.predict(resting_, found_);
  const double rest = prediction_.energy();
  if (found_.lack <= DebtCeiling::kRounding) {
    force = resting_;
    return;
  }
  force = brake_;
  if (!std::isfinite(rest) || !(rest > least)) return;
  // The energy is a convex function of the share: it lies below its chord. Only a peak within the
  // sample may be too high.
  double share = std::max(kMore * (rest - budget) / (rest - least), kLeast);
  for (int k = 0; k < kTrials && share < 1.0; ++k) {
    active_ = resting_ + share * (brake_ - resting_);
    prediction_.predict(active_, found_);
    if (found_.lack <= 0.0) {
      force = active_;
      return;
    }
    share *= 2.0;
  }
}

/// By how much an effort beyond the resting one (nv,) raises the root of twice the kinetic energy
/// in a sample at most, with inertia_ at its state.
double SampleBudget::rise(const VectorV& active, double dt) noexcept {
  step_ = active;
  inertia_.solve(step_.data());
  return dt * std::sqrt(std::max(0.0, active.dot(step_)));
}

/// The share of a brake (nv,) that takes out what holding the weight over a sample gives.
double SampleBudget::neutral(const VectorV& force) noexcept {
  prediction_.predict(resting_, found_);
  const double rest = prediction_.energy();
  if (!(rest > 0.0)) return 0.0;
  prediction_.predict(force, found_);
  const double braked = prediction_.energy();
  return rest > braked ? std::min(1.0, rest / (rest - braked)) : 1.0;
}

/// Whether a bound for any direction of the motion shows that the tank covers an effort: an active
/// effort F changes the root of the kinetic energy by at most |F|_{M^-1} / sqrt 2 per time.
bool SampleBudget::is_clear(Evaluation& d, const VectorV& force, const EffortsUnderWay& under_way,
                            double level, double dt) noexcept {
  if (!(level > 0.0)) return false;
  inertia_.compute(d.M());
  unheld(d, unheld_);
  double most = 0.0, reach = 0.0;
  const int count = under_way.waiting();
  for (int k = 0; k <= count; ++k) {
    active_ = k < count ? under_way.waiting(k) : force;
    if (k == count) active_ -= unheld_;
    active_ -= d.g();
    step_ = active_;
    inertia_.solve(step_.data());
    most = std::max(most, active_.dot(step_));
    reach = std::max(reach, step_.cwiseAbs().maxCoeff());
  }
  const double time = (count + 1) * dt;
  if (!(time * (d.v().cwiseAbs().maxCoeff() + time * reach) < kNear)) return false;
  const double push = time * std::sqrt(std::max(0.0, most));
  return kClear * push * (std::sqrt(2.0 * d.kinetic_energy()) + 0.5 * push) <= level;
}

}  // namespace vms_ph
