// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The laws of the core by the names that they have in Python, and how each of them is made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// The names of all laws.
const std::vector<std::string>& law_names();

/// Whether a law is for robots on wheels that do not slip.
bool drives_by_wheels(const std::string& name) noexcept;

/// Make a law for a robot, which must outlive it.
///
/// @param name           one of law_names(); empty for TaskSpaceIDAPBC on a fixed base, else
///                       DecoupledVMSController.
/// @param allocation     the actuators of the base; not used on a fixed one.
/// @param base_actuated  whether the base has actuators.
/// @param wheels         that the robot rolls on without slip; for drives_by_wheels().
/// @throws ModelError    an unknown name, or a robot that the law is not for.
std::unique_ptr<Controller> make_law(const std::string& name, const Model& model,
                                     const std::optional<Allocation>& allocation,
                                     bool base_actuated, const std::vector<Wheel>& wheels = {});

/// The arguments of make_law().
struct LawSetup {
  const Model& model;
  const std::optional<Allocation>& allocation;
  bool base_actuated;
  const std::vector<Wheel>& wheels;
};

using LawFactory = std::unique_ptr<Controller>(const LawSetup&);

LawFactory make_attitude_control, make_decoupled_vms, make_differential_drive,
    make_mobile_manipulation, make_pose_ida_pbc, make_resolved_motion, make_task_space_ida_pbc,
    make_underactuated_flight, make_wheeled_impedance;

}  // namespace vms_ph
