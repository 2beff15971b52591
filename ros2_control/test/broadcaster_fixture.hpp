// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A broadcaster with state interfaces that a test sets.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <controller_interface/controller_interface.hpp>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>

#include "flying_arm.hpp"

class BroadcasterFixture : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  /// All interfaces are doubles of this value, except one that may be of another type.
  void begin(const std::string& plugin, std::vector<rclcpp::Parameter> parameters, double value,
             const std::string& other) {
    broadcaster_ = loader_.createSharedInstance("vms_ph/" + plugin);
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "broadcaster";
    params.robot_description = flying_arm("fixed");
    params.update_rate = params.controller_manager_update_rate = 100;
    params.node_options =
        broadcaster_->define_custom_node_options().parameter_overrides(std::move(parameters));
    ASSERT_EQ(broadcaster_->init(params), controller_interface::return_type::OK);
    ASSERT_EQ(broadcaster_->configure().label(), "inactive");
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (const auto& name : broadcaster_->state_interface_configuration().names) {
      const auto slash = name.find('/');
      states_.push_back(std::make_shared<hardware_interface::StateInterface>(
          name.substr(0, slash), name.substr(slash + 1), name == other ? "float32" : "double"));
      if (name != other) std::ignore = states_.back()->set_value(value);
      states.emplace_back(states_.back(), nullptr);
    }
    broadcaster_->assign_interfaces({}, std::move(states));
  }

  bool activate() { return broadcaster_->get_node()->activate().label() == "active"; }

  void set_interface(const std::string& name, double value) {
    for (auto& interface : states_) {
      if (interface->get_name() == name) std::ignore = interface->set_value(value);
    }
  }

  /// One update, a hundredth of a second after the last.
  void update() {
    const rclcpp::Duration period(0, 10'000'000);
    time_ += period;
    ASSERT_EQ(broadcaster_->update(time_, period), controller_interface::return_type::OK);
  }

 private:
  pluginlib::ClassLoader<controller_interface::ControllerInterface> loader_{
      "controller_interface", "controller_interface::ControllerInterface"};
  std::shared_ptr<controller_interface::ControllerInterface> broadcaster_;
  std::vector<hardware_interface::StateInterface::SharedPtr> states_;
  rclcpp::Time time_{1'700'000'000, 0};
};
