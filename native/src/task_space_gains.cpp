// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace vms_ph {

const GainTable<TaskSpaceGains>& TaskSpaceGains::table() {
  using Gains = TaskSpaceGains;
  static const GainTable<Gains> fields{
      LimitGains::table(),
      {
          {"stiffness", "W = stiffness * I, N m/rad", &Gains::stiffness, 0.0, 1000.0},
          {"damping_task", "D_t = damping_task * I, N s/m", &Gains::damping_task, 0.0, 500.0},
          {"damping_null", "D_nu = damping_null * I, N m s/rad", &Gains::damping_null, 0.0, 500.0},
          {"reference_speed", "largest speed at which the reference is approached, m/s",
           &Gains::reference_speed, 0.001, 2.0},
          {"task_stiffness", "K_t = task_stiffness * I, N/m, in place of stiffness; 0: not used",
           &Gains::task_stiffness, 0.0, 5000.0},
          {"null_stiffness", "K_nu = null_stiffness * I, N m/rad; goes with task_stiffness",
           &Gains::null_stiffness, 0.0, 1000.0},
          {"limit_stiffness", "stiffness of the springs at the joint limits, N m/rad; 0: none",
           &Gains::limit_stiffness, 0.0, 5000.0},
          {"limit_margin", "distance from a joint limit at which its spring begins, rad or m",
           &Gains::limit_margin, 0.0, 0.5},
          {"cancel_coupling", "replace the gyroscopic coupling of task and null space by zero",
           &Gains::cancel_coupling},
          {"tank_capacity", "capacity of the energy tank, J; 0: no tank", &Gains::tank_capacity,
           0.0, 100.0, true},
          {"tank_initial", "level of the tank after a reset, J", &Gains::tank_initial, 0.0, 100.0,
           true},
      }};
  return fields;
}

}  // namespace vms_ph
