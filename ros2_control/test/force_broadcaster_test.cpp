// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// ForceBroadcaster with a robot that is held, pushed and left without a state.
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <vms_ph/msg/contact.hpp>

#include "broadcaster_fixture.hpp"

namespace {

class ForceBroadcaster : public BroadcasterFixture {
 protected:
  void begin(std::vector<rclcpp::Parameter> parameters, const std::string& other = "") {
    BroadcasterFixture::begin("ForceBroadcaster", std::move(parameters), 0.0, other);
  }
};

TEST_F(ForceBroadcaster, BeginsOnlyWithInterfacesThatAreDoubles) {
  begin({}, "shoulder/effort");
  EXPECT_FALSE(activate());
}

TEST_F(ForceBroadcaster, TellsOfAWrenchThatTheEffortOfARestingArmGivesAway) {
  begin({{"end_effector", "lower"}, {"gravity", std::vector<double>{0.0, 0.0, 0.0}}});
  ASSERT_TRUE(activate());
  rclcpp::Node listener("listener");
  std::vector<geometry_msgs::msg::WrenchStamped> heard;
  bool is_contact = false;
  const auto hears = listener.create_subscription<geometry_msgs::msg::WrenchStamped>(
      "vms_ph/estimated_wrench", 10,
      [&heard](const geometry_msgs::msg::WrenchStamped& m) { heard.push_back(m); });
  const auto hears_contact = listener.create_subscription<vms_ph::msg::Contact>(
      "vms_ph/contact", 10,
      [&is_contact](const vms_ph::msg::Contact& m) { is_contact = is_contact || m.contact; });
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(listener.get_node_base_interface());
  const auto run = [&](int updates) {
    for (int k = 0; k < updates; ++k) {
      update();
      executor.spin_some(std::chrono::milliseconds(20));
    }
  };
  for (int k = 0; heard.empty() && k < 100; ++k) run(10);
  ASSERT_FALSE(heard.empty());
  EXPECT_NEAR(heard.back().wrench.force.x, 0.0, 1e-9);
  EXPECT_EQ(heard.back().header.frame_id, "lower");
  EXPECT_FALSE(is_contact);
  // The arm is at rest although its shoulder gives 2 N m. A force at the elbow, 0.25 m away, and a
  // moment about the axis of the shoulder hold it; which of them, no joint tells.
  set_interface("shoulder/effort", 2.0);
  run(200);
  const auto& wrench = heard.back().wrench;
  EXPECT_NEAR(0.25 * wrench.force.x + wrench.torque.y, -2.0, 0.05);
  EXPECT_LT(wrench.force.x, -1.0);
  EXPECT_TRUE(is_contact);
  // Without a state nothing is told, and observation begins anew after it.
  set_interface("shoulder/position", std::numeric_limits<double>::quiet_NaN());
  run(20);
  heard.clear();
  run(20);
  EXPECT_TRUE(heard.empty());
  set_interface("shoulder/position", 0.0);
  for (int k = 0; heard.empty() && k < 100; ++k) run(10);
  EXPECT_FALSE(heard.empty());
}

}  // namespace
