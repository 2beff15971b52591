// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Actuators and fluids of a robot description; the elements are those of
// vms_ph_io/settings/plugin_tags.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/plant/actuated_base.hpp"

namespace vms_ph_ros2_control {

/// Indices of an actuator's inputs, by the name of one or its part before "/"; empty without it.
std::vector<std::size_t> inputs_of(const std::string& name, const std::vector<std::string>& names);

/// The actuators in the text of a URDF, of which none make any wrench; valid, or a ModelError.
std::optional<vms_ph::BaseActuators> parse_actuators(const std::string& urdf);

/// The fluid in the text of a URDF; valid, or a vms_ph::ModelError.
std::optional<vms_ph::Fluid> parse_fluid(const std::string& urdf);

}  // namespace vms_ph_ros2_control
