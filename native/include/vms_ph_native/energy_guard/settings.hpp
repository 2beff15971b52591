// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What a user sets of an energy guard.
#pragma once

#include "vms_ph_native/gain_table.hpp"

namespace vms_ph {

/// Tank and limits of an energy guard, as in vms_ph_controllers.guard.EnergyGuardSettings;
/// they may change while it acts.
struct EnergyGuardSettings {
  double tank_capacity = 5.0, tank_initial = 5.0, refill_power = 0.0;
  double power = 0.0, kinetic_energy = 0.0, speed = 0.0, joint_speed = 0.0;
  double torque = 1.0, torque_rate = 0.0, engagement_time = 0.2;
  bool freeze = false;

  static const GainTable<EnergyGuardSettings>& table();
};

}  // namespace vms_ph
