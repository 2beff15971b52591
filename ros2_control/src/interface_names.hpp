// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The names of interfaces beyond position, velocity and effort of joints.
#pragma once

#include <array>

namespace vms_ph_ros2_control {

/// Pose and twist of a base, or of a reference.
inline constexpr std::array<const char*, 13> kPoseAndTwistNames{
    "position.x",        "position.y",        "position.z",         "orientation.x",
    "orientation.y",     "orientation.z",     "orientation.w",      "linear_velocity.x",
    "linear_velocity.y", "linear_velocity.z", "angular_velocity.x", "angular_velocity.y",
    "angular_velocity.z"};

/// A wrench on a floating base or an end effector, in its frame at its origin; linear first.
inline constexpr std::array<const char*, 6> kWrenchNames{"force.x",  "force.y",  "force.z",
                                                         "torque.x", "torque.y", "torque.z"};
/// The components that a planar base has.
inline constexpr std::array<int, 3> kPlanarComponents{0, 1, 5};

/// Time at which the other state interfaces were measured, as two numbers exact in a double.
inline constexpr std::array<const char*, 2> kStampNames{"sec", "nanosec"};

/// Port energies of a simulated robot since its start, J, and the number of that start.
inline constexpr std::array<const char*, 5> kPortEnergyNames{
    "torque", "wrench_base", "wrench_end_effector", "dissipated", "resets"};

/// Energies of the actuators of its base since then, J: drawn from the supply, lost in fluid,
/// friction and windings, and stored in spinning parts.
inline constexpr std::array<const char*, 3> kActuatorEnergyNames{"electric", "actuator_losses",
                                                                 "spinning"};

}  // namespace vms_ph_ros2_control
