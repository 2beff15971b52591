// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
