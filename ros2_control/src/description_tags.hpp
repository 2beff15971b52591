// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// What a robot description says of actuators and fluids; the elements are those of
// vms_ph_io/plugin_tags.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/allocation.hpp"
#include "vms_ph_native/fluid.hpp"

namespace vms_ph_ros2_control {

/// The actuators of a base, fixed to it.
struct BaseActuators {
  vms_ph::Allocation allocation;
  Eigen::VectorXd weights;  ///< (b,) of the components of a wrench that cannot be made whole
  /// Of the inputs, (m,): thrust over the square of the rate, N s^2/rad^2, zero where it is not
  /// known; time of the lag, s; magnitude below which there is no thrust, N.
  Eigen::VectorXd thrust_constant, time_constant, dead_zone;
};

/// The actuators in the text of a URDF, of which none make any wrench.
///
/// @throws vms_ph::ModelError  they are not valid, or not prepared for the plugins.
std::optional<BaseActuators> actuators_in(const std::string& urdf);

/// The fluid in the text of a URDF.
///
/// @throws vms_ph::ModelError  it is not valid.
std::optional<vms_ph::Fluid> fluid_in(const std::string& urdf);

}  // namespace vms_ph_ros2_control
