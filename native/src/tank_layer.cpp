// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/tank_layer.hpp"

namespace vms_ph {

TankLayer::TankLayer(const Model& model) : held_(model), grant_(model) {}

void TankLayer::restart() noexcept {
  tank_.reset();
  forget_sample();
}

void TankLayer::forget_sample() noexcept { held_.forget(); }

void TankLayer::begin_sample(Evaluation& d, double capacity, double initial, double dt) noexcept {
  if (capacity <= 0.0) {
    restart();
    return;
  }
  if (!tank_) tank_.emplace(capacity, initial);
  tank_->set_capacity(capacity);
  tank_->receive(held_.recovered_energy(d, -d.potential_energy(), dt));
}

bool TankLayer::grant(Evaluation& d, VectorV& force, const VectorV& resting, double dt) noexcept {
  return !tank_ || grant_.grant(d, force, resting, tank_->level(), dt);
}

void TankLayer::end_sample(Evaluation& d, const VectorV& force, const VectorV& resting) noexcept {
  if (tank_) held_.hold(d, force - (resting - d.g()), grant_.way(), -d.potential_energy());
}

}  // namespace vms_ph
