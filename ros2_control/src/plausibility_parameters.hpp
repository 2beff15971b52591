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
