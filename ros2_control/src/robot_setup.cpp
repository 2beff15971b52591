// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "robot_setup.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "interface_names.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph_ros2_control {

using vms_ph::Base;
using vms_ph::Model;
using vms_ph::ModelError;

Model make_model(const RobotSetup& setup) {
  if (setup.urdf.empty()) {
    throw ModelError("there is no robot description yet; is robot_state_publisher running?");
  }
  const bool is_fixed = setup.base == "fixed", is_planar = setup.base == "planar";
  if (!is_fixed && !is_planar && setup.base != "floating") {
    throw ModelError("base must be fixed, planar or floating; given: '" + setup.base + "'");
  }
  const Base base = is_fixed ? Base::fixed : is_planar ? Base::planar : Base::floating;
  const Model robot = Model::from_urdf(setup.urdf, base, setup.end_effector, setup.locked_joints)
                          .with_gravity(setup.gravity);
  const auto fluid = parse_fluid(setup.urdf);
  return fluid ? robot.in_fluid(*fluid) : robot;
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> words_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : words_of(text)) {
    char* end = nullptr;
    numbers.push_back(std::strtod(word.c_str(), &end));  // a stream would not read "inf"
    if (*end != '\0') return {};
  }
  return numbers;
}

std::vector<vms_ph::Wheel> parse_wheels(const std::string& text) {
  std::vector<vms_ph::Wheel> wheels;
  for (const std::string& word : words_of(text)) {
    const std::size_t equals_index = word.find('=');
    const auto radii =
        numbers_of(equals_index == std::string::npos ? "" : word.substr(equals_index + 1));
    if (radii.size() != 1 || equals_index == 0) {
      throw ModelError(
          "wheels must be joint=radius, with spaces or commas between, radii in m; "
          "given: '" +
          word + "'");
    }
    wheels.push_back({word.substr(0, equals_index), radii.front()});
  }
  return wheels;
}

void refuse_wheels(const RobotSetup& setup, const std::string& law_name) {
  if (setup.wheels.empty()) return;
  throw ModelError(law_name +
                   " knows nothing of wheels that do not slip; DifferentialDrive and "
                   "WheeledImpedance do: leave the parameter wheels empty for others");
}

void require_efforts(const RobotSetup& setup) {
  if (setup.urdf.find("kortex_driver/") == std::string::npos) return;
  throw ModelError(
      "ros2_kortex exports efforts and never sends them: this controller would act on nothing; "
      "guard positions instead, with vms_ph/PositionGuard");
}

std::optional<vms_ph::BaseActuators> base_actuators(const RobotSetup& setup) {
  return setup.base == "fixed" ? std::nullopt : parse_actuators(setup.urdf);
}

std::optional<vms_ph::Allocation> base_allocation(const RobotSetup& setup) {
  const auto actuators = base_actuators(setup);
  return actuators ? std::optional<vms_ph::Allocation>(actuators->allocation) : std::nullopt;
}

vms_ph::Allocation allocation_without_failed(const vms_ph::BaseActuators& actuators,
                                             const std::string& failed_names) {
  Eigen::VectorXd lower = actuators.allocation.lower(), upper = actuators.allocation.upper();
  for (const std::string& name : words_of(failed_names)) {
    const auto input_indices = inputs_of(name, actuators.names);
    for (const auto i : input_indices) {
      lower[static_cast<Eigen::Index>(i)] = upper[static_cast<Eigen::Index>(i)] = 0.0;
    }
    if (input_indices.empty()) {
      throw ModelError("no actuator of the base has the name '" + name + "'; there are " +
                       join_names(actuators.names));
    }
  }
  return vms_ph::Allocation(actuators.allocation.matrix(), lower, upper);
}

std::string root_link(const Model& model) {
  // The first body attached to the universe or to the joint of the base.
  const pinocchio::JointIndex base_joint = model.base() == Base::fixed ? 0 : 1;
  for (const auto& frame : model.pinocchio().frames) {
    if (frame.type == pinocchio::BODY && frame.parentJoint == base_joint) return frame.name;
  }
  return model.pinocchio().frames.front().name;
}

std::string inertial_frame(const Model& model) {
  return model.base() == Base::fixed ? root_link(model) : "odom";
}

std::vector<std::string> wrench_interface_names(const Model& model, const std::string& base_name) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < static_cast<std::size_t>(model.b()); ++k) {
    names.push_back(base_name + "/" +
                    kWrenchNames[model.b() == 3 ? std::size_t(kPlanarComponents[k]) : k]);
  }
  return names;
}

Eigen::VectorXd expand_to_joints(const std::vector<double>& numbers, const Model& model,
                                 const char* parameter_name) {
  const int n = model.n();
  const auto count = static_cast<Eigen::Index>(numbers.size());
  if (count == 1) return Eigen::VectorXd::Constant(n, numbers.front());
  if (count == 0 || count == n) return Eigen::Map<const Eigen::VectorXd>(numbers.data(), count);
  throw ModelError(std::string(parameter_name) + " must be one number or " + std::to_string(n) +
                   "; given: " + std::to_string(count));
}

std::vector<std::string> command_interface_names(const Model& model, const std::string& base_name,
                                                 const std::string& joint_interface) {
  std::vector<std::string> names;
  for (const auto& joint : model.joint_names()) names.push_back(joint + "/" + joint_interface);
  if (base_name.empty()) return names;
  for (const auto& name : wrench_interface_names(model, base_name)) names.push_back(name);
  return names;
}

std::vector<std::string> reference_names(const std::string& controller_name,
                                         std::vector<std::string> names) {
  for (auto& name : names) name = controller_name.empty() ? name : controller_name + "/" + name;
  return names;
}

}  // namespace vms_ph_ros2_control
