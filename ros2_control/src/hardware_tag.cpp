// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "hardware_tag.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <hardware_interface/component_parser.hpp>
#include <rclcpp/logging.hpp>

#include "robot_setup.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph_ros2_control {

RobotSetup lock_uncontrolled_joints(RobotSetup setup, const std::string& interface_name) {
  if (setup.urdf.find("<ros2_control") == std::string::npos) return setup;
  std::set<std::string> controlled_joints;
  for (const auto& hardware : hardware_interface::parse_control_resources_from_urdf(setup.urdf)) {
    for (const auto& joint : hardware.joints) {
      for (const auto& interface : joint.command_interfaces)
        if (interface.name == interface_name) controlled_joints.insert(joint.name);
      if (interface_name.empty()) controlled_joints.insert(joint.name);
    }
  }
  const vms_ph::Model robot = make_model(setup);
  const auto& pin_model = robot.pinocchio();
  for (const std::string& name : robot.joint_names()) {
    if (controlled_joints.count(name)) continue;
    const std::string problem = name + " has no " + interface_name + " in a tag <ros2_control>";
    for (const auto carried_joint : pin_model.subtrees[pin_model.getJointId(name)]) {
      if (controlled_joints.count(pin_model.names[carried_joint]))
        throw vms_ph::ModelError(problem + ", and carries " + pin_model.names[carried_joint] +
                                 ": name it in locked_joints if it stays at zero");
    }
    RCLCPP_WARN(rclcpp::get_logger("vms_ph"), "%s: it is locked at zero", problem.c_str());
    setup.locked_joints.push_back(name);
  }
  if (controlled_joints.empty() && robot.n() > 0)
    throw vms_ph::ModelError("no joint has " + interface_name + " in a tag <ros2_control>");
  return setup;
}

HardwareTag::HardwareTag(const hardware_interface::HardwareInfo& info) : info_(info) {
  for (const auto* components : {&info_.joints, &info_.gpios, &info_.sensors}) {
    for (const auto& component : *components) {
      for (const auto* interfaces : {&component.state_interfaces, &component.command_interfaces}) {
        for (const auto& interface : *interfaces) {
          if (interface.data_type == "double") continue;
          throw vms_ph::ModelError("the interface " + component.name + "/" + interface.name +
                                   " must be a double; given: data_type '" + interface.data_type +
                                   "'; remove that attribute");
        }
      }
    }
  }
}

std::vector<std::string> HardwareTag::words(const std::string& name) const {
  return words_of(text(name, ""));
}

bool HardwareTag::flag(const std::string& name) const { return text(name, "true") == "true"; }

void HardwareTag::check_no_commands_of(const std::string& base_name) const {
  for (const auto& gpio : info_.gpios) {
    if (gpio.name != base_name || gpio.command_interfaces.empty()) continue;
    throw vms_ph::ModelError(
        "on wheels that do not slip the base is driven by their joints: remove "
        "the command interfaces of '" +
        base_name + "', or the hardware parameter wheels");
  }
}

std::string HardwareTag::text(const std::string& name, const std::string& fallback) const {
  const auto parameter = info_.hardware_parameters.find(name);
  return parameter == info_.hardware_parameters.end() ? fallback : parameter->second;
}

double HardwareTag::positive_number(const std::string& name, double fallback) const {
  const std::string parameter = text(name, "");
  if (parameter.empty()) return fallback;
  const auto numbers = numbers_of(parameter);
  if (numbers.size() == 1 && numbers.front() > 0.0) return numbers.front();
  throw vms_ph::ModelError("the hardware parameter " + name +
                           " must be a positive number; given: '" + parameter + "'");
}

Eigen::Vector3d HardwareTag::vector(const std::string& name, const std::string& fallback) const {
  const std::string parameter = text(name, fallback);
  const auto numbers = numbers_of(parameter);
  if (numbers.size() == 3) return Eigen::Vector3d::Map(numbers.data());
  throw vms_ph::ModelError("the hardware parameter " + name +
                           " must be three numbers with spaces between; given: '" + parameter +
                           "'");
}

Eigen::VectorXd HardwareTag::home_configuration(const vms_ph::Model& model) const {
  Eigen::VectorXd q = model.neutral_configuration();
  const auto& names = model.joint_names();
  for (const auto& joint : info_.joints) {
    const auto& mimics = model.mimics();
    const auto is_follower = [&](const vms_ph::Mimic& mimic) { return mimic.joint == joint.name; };
    if (std::any_of(mimics.begin(), mimics.end(), is_follower)) {
      if (joint.command_interfaces.empty()) continue;
      throw vms_ph::ModelError("the joint '" + joint.name +
                               "' mimics another one, which moves it: remove its command "
                               "interfaces from the ros2_control tag, or the mimic tag");
    }
    const auto joint_name = std::find(names.begin(), names.end(), joint.name);
    if (joint_name == names.end()) {
      throw vms_ph::ModelError("the ros2_control tag has the joint '" + joint.name +
                               "', which the robot does not have or holds locked");
    }
    const auto k = static_cast<int>(joint_name - names.begin());
    for (const auto& interface : joint.state_interfaces) {
      if (interface.name != "position" || interface.initial_value.empty()) continue;
      const auto numbers = numbers_of(interface.initial_value);
      if (numbers.size() != 1 || !std::isfinite(numbers.front())) {
        throw vms_ph::ModelError("the initial_value of " + joint.name +
                                 "/position must be a number; given: '" + interface.initial_value +
                                 "'");
      }
      model.set_joint(k, numbers.front(), q);
    }
  }
  return q;
}

}  // namespace vms_ph_ros2_control
