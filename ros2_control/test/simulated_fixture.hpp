// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A simulated robot in the resource manager, as the controller manager drives it.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <hardware_interface/resource_manager.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <rclcpp/rclcpp.hpp>

#include "../src/robot_setup.hpp"
#include "flying_arm.hpp"
#include "vms_ph_native/energy_split.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

inline constexpr unsigned int kRate = 500;

class SimulatedSystem : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  /// @param effects      elements of the robot, also those that are for the plugins.
  /// @param more_joints, more_parameters  of the ros2_control tag and of its hardware.
  void begin(const std::string& base = "floating", const std::string& effects = "",
             const std::string& more_joints = "", const std::string& more_parameters = "") {
    vms_ph_ros2_control::RobotSetup setup;
    setup.urdf = flying_arm(base, effects, more_joints, more_parameters);
    setup.base = base;
    // With an executor the hardware has a node.
    hardware_interface::ResourceManagerParams params;
    params.robot_description = setup.urdf;
    params.clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME);
    params.logger = rclcpp::get_logger("test");
    params.executor = executor_;
    params.activate_all = true;
    params.update_rate = kRate;
    manager_ = std::make_unique<hardware_interface::ResourceManager>(params, true);
    model_ = std::make_unique<vms_ph::Model>(vms_ph_ros2_control::make_model(setup));
    split_ = std::make_unique<vms_ph::EnergySplit>(*model_);
    for (const auto& name : manager_->state_interface_keys()) {
      states_.emplace(name, manager_->claim_state_interface(name));
    }
    cycle(1);
  }

  /// As a controller that becomes active does.
  bool claim(const std::vector<std::string>& names) {
    if (!manager_->prepare_command_mode_switch(names, {})) return false;
    if (!manager_->perform_command_mode_switch(names, {})) return false;
    for (const auto& name : names) commands_.emplace(name, manager_->claim_command_interface(name));
    return true;
  }

  void release() {
    std::vector<std::string> names;
    for (const auto& entry : commands_) names.push_back(entry.first);
    commands_.clear();
    ASSERT_TRUE(manager_->prepare_command_mode_switch({}, names));
    ASSERT_TRUE(manager_->perform_command_mode_switch({}, names));
  }

  void command(const std::string& name, double value) {
    ASSERT_TRUE(commands_.at(name).set_value(value));
  }

  void set_lifecycle(std::uint8_t id, const std::string& label) {
    rclcpp_lifecycle::State target_state(id, label);
    ASSERT_EQ(manager_->set_component_state("simulated", target_state),
              hardware_interface::return_type::OK);
  }

  double state(const std::string& name) { return *states_.at(name).get_optional(); }

  void cycle(int times) {
    for (int i = 0; i < times; ++i) {
      const auto period = rclcpp::Duration::from_seconds(1.0 / kRate);
      const rclcpp::Time at(100'000'000'000 + 2'000'000 * count_++, RCL_STEADY_TIME);
      manager_->read(at, period);
      manager_->write(at, period);
    }
  }

  double energy() { return split_->compute(motion()).total(); }

  vms_ph::RobotState motion() {
    vms_ph::RobotState s{Eigen::VectorXd(model_->nq()), Eigen::VectorXd(model_->nv())};
    const double elbow = state("elbow/position");
    if (model_->b() == 6) {
      s.q.head<7>() << state("base/position.x"), state("base/position.y"), state("base/position.z"),
          state("base/orientation.x"), state("base/orientation.y"), state("base/orientation.z"),
          state("base/orientation.w");
      s.v.head<6>() << state("base/linear_velocity.x"), state("base/linear_velocity.y"),
          state("base/linear_velocity.z"), state("base/angular_velocity.x"),
          state("base/angular_velocity.y"), state("base/angular_velocity.z");
    }
    s.q.tail<3>() << state("shoulder/position"), std::cos(elbow), std::sin(elbow);
    s.v.tail<2>() << state("shoulder/velocity"), state("elbow/velocity");
    return s;
  }

  double supplied() {
    return state("port_energy/torque") + state("port_energy/wrench_base") +
           state("port_energy/wrench_end_effector") - state("port_energy/dissipated");
  }

  Eigen::Vector3d measured_force() {
    return {state("wrench_end_effector/force.x"), state("wrench_end_effector/force.y"),
            state("wrench_end_effector/force.z")};
  }

  /// Push with a force for a cycle, until the hardware has heard of it.
  bool push(const std::string& frame, double x, double y, double z) {
    geometry_msgs::msg::WrenchStamped message;
    message.header.frame_id = frame;
    message.wrench.force.x = x;
    message.wrench.force.y = y;
    message.wrench.force.z = z;
    const Eigen::Vector3d before = measured_force();
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto end = now() + std::chrono::seconds(10);
    while (now() < end && pushes_->get_subscription_count() == 0) cycle(1);
    // Once: what still waited in the queue would be heard in the next push.
    pushes_->publish(message);
    while (now() < end && measured_force() == before) {
      executor_->spin_some(std::chrono::milliseconds(5));
      cycle(1);
    }
    return measured_force() != before;
  }

  std::int64_t count_ = 0;
  rclcpp::executors::SingleThreadedExecutor::SharedPtr executor_ =
      std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  rclcpp::Node::SharedPtr pusher_ = std::make_shared<rclcpp::Node>("pusher");
  rclcpp::Publisher<geometry_msgs::msg::WrenchStamped>::SharedPtr pushes_ =
      pusher_->create_publisher<geometry_msgs::msg::WrenchStamped>("simulated/wrench_end_effector",
                                                                   10);
  std::unique_ptr<hardware_interface::ResourceManager> manager_;
  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::EnergySplit> split_;
  std::map<std::string, hardware_interface::LoanedStateInterface> states_;
  std::map<std::string, hardware_interface::LoanedCommandInterface> commands_;
};

inline const std::vector<std::string> kEfforts{"shoulder/effort", "elbow/effort"};
inline const std::vector<std::string> kAll{"shoulder/effort", "elbow/effort", "base/force.x",
                                           "base/force.y",    "base/force.z", "base/torque.x",
                                           "base/torque.y",   "base/torque.z"};
