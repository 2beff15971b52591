// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Bounds of plausible states from the parameters that all controllers have.
#pragma once

#include <vms_ph/controller_shell_parameters.hpp>

#include "vms_ph_native/plausibility.hpp"

namespace vms_ph_ros2_control {

inline vms_ph::PlausibilityBounds bounds_of(const controller_shell::Params& parameters) {
  const auto& given = parameters.plausibility;
  vms_ph::PlausibilityBounds bounds;
#define VMS_PH_FIELD(name, initial, least, most) bounds.name = static_cast<double>(given.name);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return bounds;
}

}  // namespace vms_ph_ros2_control
