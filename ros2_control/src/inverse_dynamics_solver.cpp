// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/InverseDynamicsSolver: the dynamics of an arm, for users of inverse_dynamics_solver.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <inverse_dynamics_solver/exceptions.hpp>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/parameter.hpp>

#include "robot_setup.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph_ros2_control {
namespace {

using Parameters = rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr;

/// A parameter of a node; empty if the node does not have it, or it is not set.
std::optional<rclcpp::Parameter> optional_parameter(const Parameters& parameters,
                                                    const std::string& name) {
  rclcpp::Parameter parameter(name);
  if (!parameters || !parameters->get_parameter(name, parameter)) return std::nullopt;
  const bool is_set = parameter.get_type() != rclcpp::ParameterType::PARAMETER_NOT_SET;
  return is_set ? std::optional<rclcpp::Parameter>(parameter) : std::nullopt;
}

std::string required_text(const Parameters& parameters, const std::string& name) {
  const auto parameter = optional_parameter(parameters, name);
  if (!parameter) throw inverse_dynamics_solver::ParameterUninitializedException(name);
  return parameter->as_string();
}

Eigen::Vector3d parse_gravity(const std::optional<rclcpp::Parameter>& parameter) {
  if (!parameter) return {0.0, 0.0, -9.81};
  const std::vector<double> components = parameter->as_double_array();
  if (components.size() != 3) {
    throw vms_ph::ModelError(parameter->get_name() +
                             " must be three numbers, m/s^2 in the axes of the root; given: " +
                             std::to_string(components.size()) + " numbers");
  }
  return Eigen::Vector3d::Map(components.data());
}

/// The joints, to be locked, that are not between the root and the tip of a chain.
///
/// @param root  empty for the root link of the robot.
/// @throws vms_ph::ModelError  no joint moves the tip against the root.
std::vector<std::string> joints_off_chain(const vms_ph::Model& robot, const std::string& root,
                                          const std::string& tip) {
  const auto& pin_model = robot.pinocchio();
  const auto joint_of = [&](const std::string& link) {
    return pin_model.frames[robot.frame_id(link)].parentJoint;
  };
  const pinocchio::JointIndex root_joint = root.empty() ? 0 : joint_of(root);
  pinocchio::JointIndex joint = joint_of(tip);
  std::vector<bool> is_on_chain(pin_model.names.size(), false);
  for (; joint > root_joint; joint = pin_model.parents[joint]) is_on_chain[joint] = true;
  if (joint != root_joint || joint_of(tip) == root_joint) {
    throw vms_ph::ModelError("no joint of the robot '" + robot.name() + "' moves the tip '" + tip +
                             "' against the root '" + root +
                             "'; give two links of one branch, the root first");
  }
  std::vector<std::string> off_chain_joints;
  for (std::size_t i = 1; i < pin_model.names.size(); ++i) {
    if (!is_on_chain[i]) off_chain_joints.push_back(pin_model.names[i]);
  }
  return off_chain_joints;
}

}  // namespace

/// The joints between root and tip move, all others are locked at zero; the bodies beside the chain
/// and beyond the tip count too. Not to be shared between threads.
class InverseDynamicsSolver final : public inverse_dynamics_solver::InverseDynamicsSolver {
 public:
  /// @throws ParameterUninitializedException  `tip`, or a description, is missing.
  /// @throws InvalidParameterValueException   no such chain, or no such robot.
  void initialize(Parameters parameters, const std::string& name_space,
                  const std::string& robot_description) override {
    const std::string prefix = name_space.empty() ? "" : name_space + ".";
    RobotSetup setup;
    setup.urdf = robot_description.empty() ? required_text(parameters, "robot_description")
                                           : robot_description;
    setup.end_effector = required_text(parameters, prefix + "tip");
    const auto root_parameter = optional_parameter(parameters, prefix + "root");
    const std::string root = root_parameter ? root_parameter->as_string() : "";
    try {
      const auto gravity = parse_gravity(optional_parameter(parameters, prefix + "gravity"));
      setup.locked_joints = joints_off_chain(make_model(setup), root, setup.end_effector);
      const vms_ph::Model chain = make_model(setup);
      Eigen::Matrix3d axes = Eigen::Matrix3d::Identity();  // of the root, with joints at zero
      if (!root.empty()) axes = chain.pinocchio().frames[chain.frame_id(root)].placement.rotation();
      auto model = std::make_unique<vms_ph::Model>(chain.with_gravity(axes * gravity));
      auto evaluation = std::make_unique<vms_ph::Evaluation>(*model);
      evaluation_ = std::move(evaluation);
      model_ = std::move(model);
    } catch (const vms_ph::ModelError& error) {
      throw inverse_dynamics_solver::InvalidParameterValueException(error.what());
    }
  }

  /// @param joint_positions  in the order of the chain, rad or m; NaN gives NaN.
  /// @throws UninitializedException  before initialize().
  /// @throws std::invalid_argument   not one number for each joint.
  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd& joint_positions) const override {
    return evaluate(joint_positions, Eigen::VectorXd::Zero(joint_positions.size())).M();
  }

  Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd& joint_positions,
                                    const Eigen::VectorXd& joint_velocities) const override {
    return evaluate(joint_positions, joint_velocities).C() * joint_velocities;
  }

  Eigen::VectorXd getGravityVector(const Eigen::VectorXd& joint_positions) const override {
    return evaluate(joint_positions, Eigen::VectorXd::Zero(joint_positions.size())).g();
  }

  /// Viscous and Coulomb friction of the description; of joints that mimic others too.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd& joint_velocities) const override {
    check_size("joint_velocities", joint_velocities);
    return model_->damping().cwiseProduct(joint_velocities) +
           model_->dry_friction().cwiseProduct(joint_velocities.cwiseSign());
  }

 private:
  void check_size(const std::string& name, const Eigen::VectorXd& numbers) const {
    if (!model_) throw inverse_dynamics_solver::UninitializedException();
    if (numbers.size() == model_->n()) return;
    throw std::invalid_argument(name + " must have one number for each of the joints " +
                                join_names(model_->joint_names()) +
                                "; given: " + std::to_string(numbers.size()) + " numbers");
  }

  vms_ph::Evaluation& evaluate(const Eigen::VectorXd& joint_positions,
                               const Eigen::VectorXd& joint_velocities) const {
    check_size("joint_positions", joint_positions);
    check_size("joint_velocities", joint_velocities);
    Eigen::VectorXd q = model_->neutral_configuration();
    for (int i = 0; i < model_->n(); ++i) model_->set_joint(i, joint_positions[i], q);
    evaluation_->set(q, joint_velocities);
    return *evaluation_;
  }

  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::Evaluation> evaluation_;  ///< of that model
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::InverseDynamicsSolver,
                       inverse_dynamics_solver::InverseDynamicsSolver)
