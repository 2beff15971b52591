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

// RobotBroadcaster with what a hardware may tell it.
#include <gmock/gmock.h>

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <controller_interface/controller_interface.hpp>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rosgraph_msgs/msg/clock.hpp>
#include <vms_ph/msg/port_energy.hpp>

#include "flying_arm.hpp"

namespace {

using hardware_interface::StateInterface;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class RobotBroadcaster : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  /// With the stamps and port energies of simulated hardware; one interface may be of another type.
  void begin(const std::string& other = "") {
    broadcaster_ = loader_.createSharedInstance("vms_ph/RobotBroadcaster");
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "broadcaster";
    params.robot_description = flying_arm("fixed");
    params.update_rate = params.controller_manager_update_rate = 100;
    params.node_options = broadcaster_->define_custom_node_options().parameter_overrides(
        {{"stamp", "clock"}, {"port_energy_name", "port_energy"}, {"publish_clock", true}});
    ASSERT_EQ(broadcaster_->init(params), controller_interface::return_type::OK);
    ASSERT_EQ(broadcaster_->configure().label(), "inactive");
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (const auto& name : broadcaster_->state_interface_configuration().names) {
      const auto slash = name.find('/');
      states_.push_back(std::make_shared<StateInterface>(
          name.substr(0, slash), name.substr(slash + 1), name == other ? "float32" : "double"));
      if (name != other) std::ignore = states_.back()->set_value(1.0);
      states.emplace_back(states_.back(), nullptr);
    }
    broadcaster_->assign_interfaces({}, std::move(states));
  }

  bool activate() { return broadcaster_->get_node()->activate().label() == "active"; }

  void tell(const std::string& name, double value) {
    for (auto& each : states_) {
      if (each->get_name() == name) std::ignore = each->set_value(value);
    }
  }

  void update() {
    ASSERT_EQ(broadcaster_->update(rclcpp::Time(1'700'000'000, 0), rclcpp::Duration(0, 10'000'000)),
              controller_interface::return_type::OK);
  }

  pluginlib::ClassLoader<controller_interface::ControllerInterface> loader_{
      "controller_interface", "controller_interface::ControllerInterface"};
  std::shared_ptr<controller_interface::ControllerInterface> broadcaster_;
  std::vector<StateInterface::SharedPtr> states_;
};

TEST_F(RobotBroadcaster, BeginsOnlyWithInterfacesThatAreDoubles) {
  begin("clock/sec");
  EXPECT_FALSE(activate());
}

TEST_F(RobotBroadcaster, TellsNothingOfAnInstantOrAStartThatItCouldNotRead) {
  begin();
  ASSERT_TRUE(activate());
  rclcpp::Node listener("listener");
  std::vector<vms_ph::msg::PortEnergy> heard;
  const auto hears = listener.create_subscription<vms_ph::msg::PortEnergy>(
      "vms_ph/port_energy", 10,
      [&heard](const vms_ph::msg::PortEnergy& message) { heard.push_back(message); });
  std::vector<int> seconds_heard;
  const auto hears_clock = listener.create_subscription<rosgraph_msgs::msg::Clock>(
      "/clock", 10, [&seconds_heard](const rosgraph_msgs::msg::Clock& message) {
        seconds_heard.push_back(message.clock.sec);
      });
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(listener.get_node_base_interface());
  const auto listen = [&](std::size_t until, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (heard.size() < until && std::chrono::steady_clock::now() < end) {
      executor.spin_some(std::chrono::milliseconds(20));
    }
  };
  // What is heard at all: from here on no message is lost.
  for (int sec = 2; heard.empty() && sec < 200; ++sec) {
    tell("clock/sec", sec);
    update();
    listen(1, 0.1);
  }
  ASSERT_FALSE(heard.empty());
  listen(1000, 0.5);
  heard.clear();
  tell("clock/sec", kNaN);
  update();
  listen(1, 0.5);
  tell("clock/sec", 1000.0);
  tell("port_energy/resets", kNaN);
  update();
  listen(1, 0.5);
  tell("clock/sec", 1001.0);
  tell("port_energy/resets", 3.0);
  update();
  listen(1, 10.0);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].header.stamp.sec, 1001);
  EXPECT_EQ(heard[0].resets, 3U);
  ASSERT_FALSE(seconds_heard.empty());
  EXPECT_EQ(seconds_heard.back(), 1001);
}

}  // namespace
