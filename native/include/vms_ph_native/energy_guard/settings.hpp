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

// What a user sets of an energy guard.
#pragma once

#include "vms_ph_native/gain_table.hpp"

namespace vms_ph {

/// Tank and limits of an energy guard, as in vms_ph_controllers.energy_guard.EnergyGuardSettings;
/// they may change while it acts.
struct EnergyGuardSettings {
  double tank_capacity = 5.0, tank_initial = 5.0, refill_power = 0.0;
  double power = 0.0, kinetic_energy = 0.0, speed = 0.0, joint_speed = 0.0;
  double torque = 1.0, torque_rate = 0.0, engagement_time = 0.2;
  bool freeze = false;

  static const GainTable<EnergyGuardSettings>& table();
};

}  // namespace vms_ph
