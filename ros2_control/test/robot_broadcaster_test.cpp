// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// RobotBroadcaster with what a hardware may tell it.
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <rosgraph_msgs/msg/clock.hpp>
#include <vms_ph/msg/port_energy.hpp>

#include "broadcaster_fixture.hpp"

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class RobotBroadcaster : public BroadcasterFixture {
 protected:
  /// With the stamps and port energies of simulated hardware.
  void begin(const std::string& other = "") {
    BroadcasterFixture::begin(
        "RobotBroadcaster",
        {{"stamp", "clock"}, {"port_energy_name", "port_energy"}, {"publish_clock", true}}, 1.0,
        other);
  }
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
  const auto listen = [&](std::size_t count, double seconds, int last_second = 0) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const auto is_complete = [&] {
      const int second = seconds_heard.empty() ? 0 : seconds_heard.back();
      return heard.size() >= count && second >= last_second;
    };
    while (!is_complete() && std::chrono::steady_clock::now() < end) {
      executor.spin_some(std::chrono::milliseconds(20));
    }
  };
  // What is heard at all: from here on no message is lost.
  for (int sec = 2; heard.empty() && sec < 200; ++sec) {
    set_interface("clock/sec", sec);
    update();
    listen(1, 0.1);
  }
  ASSERT_FALSE(heard.empty());
  listen(1000, 0.5);
  heard.clear();
  set_interface("clock/sec", kNaN);
  update();
  listen(1, 0.5);
  set_interface("clock/sec", 1000.0);
  set_interface("port_energy/resets", kNaN);
  update();
  listen(1, 0.5);
  set_interface("clock/sec", 1001.0);
  set_interface("port_energy/resets", 3.0);
  update();
  listen(1, 10.0, 1001);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].header.stamp.sec, 1001);
  EXPECT_EQ(heard[0].resets, 3U);
  ASSERT_FALSE(seconds_heard.empty());
  EXPECT_EQ(seconds_heard.back(), 1001);
}

}  // namespace
