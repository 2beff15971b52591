// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_tank.hpp"

#include <algorithm>

namespace vms_ph {

SampledTank::SampledTank(const Model& model) : work_(model), grant_(model) {}

void SampledTank::restart() noexcept {
  tank_.reset();
  forget_sample();
}

void SampledTank::forget_sample() noexcept { work_.forget(); }

void SampledTank::begin_sample(Evaluation& d, double stored, double capacity, double initial,
                               double dt) noexcept {
  if (capacity <= 0.0) {
    restart();
    return;
  }
  if (!tank_) tank_.emplace(capacity, initial);
  tank_->capacity = capacity;
  tank_->deposit(work_.recovered_energy(d, stored, dt));
}

bool SampledTank::grant(Evaluation& d, VectorV& force, const VectorV& static_effort, double stored,
                        double dt) noexcept {
  return !tank_ || grant_.grant(d, force, static_effort, tank_->level + stored, dt);
}

void SampledTank::end_sample(Evaluation& d, const VectorV& force, double stored) noexcept {
  if (tank_) work_.hold(d, force, grant_.displacement(), stored);
}

namespace {

// Energies below this, J, are rounding.
constexpr double kRoundingEnergy = 1e-12;

// The share of a potential of `whole` joules that the available energy covers.
double covered_authority(double full, double available) {
  return full <= std::max(available, kRoundingEnergy) ? 1.0 : std::max(0.0, available / full);
}

}  // namespace

TankBudget::TankBudget(const Model& model) : potential_(model), shifted_(model), tank_(model) {}

void TankBudget::reset(const ShapedPotential& potential) noexcept {
  tank_.restart();
  resume(potential);
}

void TankBudget::resume(const ShapedPotential& potential) noexcept {
  potential_ = potential;
  authority_ = 1.0;
  is_short_ = false;
  tank_.forget_sample();
}

void TankBudget::begin_sample(Evaluation& d, double limit_energy, double capacity, double initial,
                              double dt) noexcept {
  if (capacity <= 0.0) {
    authority_ = 1.0;
    is_short_ = false;
  }
  tank_.begin_sample(d, capacity > 0.0 ? store(d, limit_energy) : 0.0, capacity, initial, dt);
}

void TankBudget::grant(Evaluation& d, VectorV& torque, const VectorV& static_effort,
                       double limit_energy, const TorqueLimits& limits, double dt) noexcept {
  if (!tank()) return;
  if (tank_.grant(d, torque, static_effort, energy(d.q()) + limit_energy, dt)) return;
  strongest_brake(d, dt, brake_);
  brake_ = static_effort + limits.share_within(static_effort, brake_) * (brake_ - static_effort);
  tank_.brake(torque, static_effort, brake_);
}

void TankBudget::end_sample(Evaluation& d, const VectorV& torque, double limit_energy) noexcept {
  if (tank()) tank_.end_sample(d, torque, store(d, limit_energy));
}

double TankBudget::store(Evaluation& d, double limit_energy) const noexcept {
  // The torque compensates gravity, so the gravitational energy comes from the controller.
  return energy(d.q()) + limit_energy - d.potential_energy();
}

double TankBudget::replace(const ConstVector& q, const ShapedPotential& next,
                           double before) noexcept {
  const double cost = next.is_same(potential_) ? 0.0 : next.energy(q) - before;
  potential_ = next;
  return cost;
}

bool TankBudget::is_covered(const ShapedPotential& next, const ConstVector& q,
                            double before) noexcept {
  if (next.q_star() == potential_.q_star()) return true;
  shifted_ = potential_;
  shifted_.move(next);
  return authority_ * shifted_.energy(q) - before <= tank()->available() + kRoundingEnergy;
}

double TankBudget::charge(const ConstVector& q, const ShapedPotential& next, double before,
                          double share) noexcept {
  potential_ = next;
  const double full = next.energy(q);
  authority_ = covered_authority(full, before + tank_.level());
  const double cost = authority_ * full - before;
  tank_.withdraw(cost);
  is_short_ = share < 1.0 || authority_ < 1.0;
  return cost;
}

}  // namespace vms_ph
