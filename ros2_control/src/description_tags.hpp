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

/// What is known of the inputs of actuators, (m,) each; zero where it is not.
struct ActuatorInputs {
  std::vector<std::string> names;
  Eigen::VectorXd thrust_constant;  ///< thrust over the square of the rate, N s^2/rad^2
  Eigen::VectorXd time_constant;    ///< of the lag, s
  Eigen::VectorXd dead_zone;        ///< magnitude below which there is no thrust, N
  Eigen::VectorXd loss_ratio;       ///< torque of the fluid on the shaft over thrust, m
  Eigen::VectorXd friction;         ///< of wheels, viscous, N m s/rad
  Eigen::VectorXd largest_rate;     ///< beyond which a wheel is driven no further, rad/s
  Eigen::VectorXd torque_constant;  ///< of the motor, N m/A
  Eigen::VectorXd resistance;       ///< of its winding, ohm
};

/// The actuators of a base, fixed to it.
struct BaseActuators : ActuatorInputs {
  vms_ph::Allocation allocation;
  Eigen::VectorXd weights;  ///< (b,) of the components of a wrench that cannot be made whole
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
