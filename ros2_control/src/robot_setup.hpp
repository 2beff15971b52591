// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The model of a plugin, from the robot description and a few parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "description_tags.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph_ros2_control {

struct RobotSetup {
  std::string urdf;
  std::string base = "fixed";  ///< fixed, planar or floating
  std::string end_effector;    ///< a frame; when empty, the farthest link of the longest chain
  std::vector<std::string> locked_joints;
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};
  std::vector<vms_ph::Wheel> wheels{};  ///< that do not slip, of a planar base
};

/// The same, where joints are locked, and printed, which no tag <ros2_control> has with a command
/// interface: those of a hand that another controller moves. An empty name: which no tag has.
///
/// @throws std::exception  a tag is not valid, or such a joint carries others that are commanded.
RobotSetup lock_uncontrolled_joints(RobotSetup setup, const std::string& interface_name = "");

/// The setup that the parameters of a controller state; as lock_uncontrolled_joints().
template <class Parameters>
RobotSetup setup_of(const Parameters& p, const std::string& urdf,
                    const std::string& interface_name = "") {
  const Eigen::Vector3d gravity(p.gravity.at(0), p.gravity.at(1), p.gravity.at(2));
  return lock_uncontrolled_joints({urdf, p.base, p.end_effector, p.locked_joints, gravity, {}},
                                  interface_name);
}

/// The names with commas between, for messages.
std::string join_names(const std::vector<std::string>& names);

/// The words of a text, with spaces or commas between.
std::vector<std::string> words_of(std::string text);

/// The numbers that a text consists of; empty where one of its words is none.
std::vector<double> numbers_of(const std::string& text);

/// The wheels of a text like "wheel_left=0.1 wheel_right=0.1": joints and radii, m, with spaces or
/// commas between.
///
/// @throws vms_ph::ModelError  it is not of this form.
std::vector<vms_ph::Wheel> parse_wheels(const std::string& text);

/// @throws vms_ph::ModelError  the setup has wheels, and the law knows nothing of them.
void refuse_wheels(const RobotSetup& setup, const std::string& law_name);

/// The robot, in the fluid that its description has.
///
/// @throws vms_ph::ModelError  the text describes no robot, or one that is not supported.
vms_ph::Model make_model(const RobotSetup& setup);

/// @throws vms_ph::ModelError  the hardware of the description never sends the efforts it exports.
void require_efforts(const RobotSetup& setup);

/// The actuators of a base that moves, where the description has them; valid, or a ModelError.
std::optional<vms_ph::BaseActuators> base_actuators(const RobotSetup& setup);

/// What laws know of them; throws as base_actuators().
std::optional<vms_ph::Allocation> base_allocation(const RobotSetup& setup);

/// The same, where inputs named in a text, with spaces or commas between, have failed: their limits
/// are zero.
///
/// @throws vms_ph::ModelError  a name that no input has.
vms_ph::Allocation allocation_without_failed(const vms_ph::BaseActuators& actuators,
                                             const std::string& failed_names);

/// Name of the root link, the frame of the base.
std::string root_link(const vms_ph::Model& model);

/// The frame that poses are given in: the root link of a fixed base, else odom.
std::string inertial_frame(const vms_ph::Model& model);

/// The names of the interfaces that command a base: none, three or six.
std::vector<std::string> wrench_interface_names(const vms_ph::Model& model,
                                                const std::string& base_name);

/// The names of the interfaces that command all joints, then those of a base that has a name.
std::vector<std::string> command_interface_names(const vms_ph::Model& model,
                                                 const std::string& base_name = "",
                                                 const std::string& joint_interface = "effort");

/// A number for each joint, where one or all are given; empty where none is.
///
/// @throws vms_ph::ModelError  there is another number of them.
Eigen::VectorXd expand_to_joints(const std::vector<double>& numbers, const vms_ph::Model& model,
                                 const char* parameter_name);

/// The names of command interfaces at a controller that takes the commands; empty: at the hardware.
std::vector<std::string> reference_names(const std::string& controller_name,
                                         std::vector<std::string> names);

}  // namespace vms_ph_ros2_control
