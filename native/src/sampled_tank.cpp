// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/sampled_tank.hpp"

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

}  // namespace vms_ph
