// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// How each law of the core is made; make_law() chooses by name.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// The arguments of make_law().
struct LawSetup {
  const Model& model;
  const std::optional<Allocation>& allocation;
  bool base_actuated;
  const std::vector<Wheel>& wheels;
};

using LawFactory = std::unique_ptr<Controller>(const LawSetup&);

LawFactory make_attitude_control, make_decoupled_vms, make_differential_drive,
    make_cartesian_impedance, make_mobile_manipulation, make_pose_ida_pbc, make_pushing_impedance,
    make_resolved_motion, make_task_space_ida_pbc, make_underactuated_flight,
    make_wheeled_impedance;

}  // namespace vms_ph
