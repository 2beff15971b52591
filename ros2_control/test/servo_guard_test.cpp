// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// PositionGuard and VelocityGuard as plugins: what covered commands, jumps and missing ones become,
// and what an update costs.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>

#include "../../native/test/allocations.hpp"
#include "flying_arm.hpp"

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class ServoGuardPlugin : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  /// Servos of 100 N m/rad, or of velocities and 10 N m s/rad, either up to 20 % more, behind a
  /// tank; both joints at these positions.
  void begin(double energy, std::vector<double> positions = {0.0, 0.0},
             const std::string& plugin = "vms_ph/PositionGuard",
             const std::string& interface = "position") {
    guard_ = loader_.createSharedInstance(plugin);
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "guard";
    params.robot_description = flying_arm("fixed");
    params.update_rate = params.controller_manager_update_rate = 500;
    params.node_options = guard_->define_custom_node_options().parameter_overrides(
        {{"stiffness", std::vector<double>{100.0}},
         {"damping", std::vector<double>{interface == "velocity" ? 10.0 : 0.0}},
         {"tank_capacity", energy},
         {"tank_initial", energy}});
    ASSERT_EQ(guard_->init(params), controller_interface::return_type::OK);
    ASSERT_EQ(guard_->configure().label(), "inactive");
    references_ = guard_->export_reference_interfaces();
    std::vector<hardware_interface::LoanedStateInterface> states;
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    for (const auto& name : guard_->state_interface_configuration().names) {
      const std::string joint = name.substr(0, name.find('/'));
      states_.push_back(
          std::make_shared<hardware_interface::StateInterface>(joint, "position", "double"));
      commands_.push_back(
          std::make_shared<hardware_interface::CommandInterface>(joint, interface, "double"));
      states.emplace_back(states_.back(), nullptr);
      commands.emplace_back(commands_.back(), nullptr);
    }
    ASSERT_EQ(states_.size(), 2u);
    set(states_, positions);
    set(commands_, {kNaN, kNaN});
    guard_->assign_interfaces(std::move(commands), std::move(states));
    guard_->set_chained_mode(true);
    ASSERT_EQ(guard_->get_node()->activate().label(), "active");
  }

  template <class Interfaces>
  static void set(Interfaces& interfaces, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::ignore = interfaces[i]->set_value(values[i]);
    }
  }

  /// One update, 2 ms after the last, with references; what is sent.
  std::vector<double> update(const std::vector<double>& wanted) {
    set(references_, wanted);
    run();
    return {commands_[0]->get_optional().value(), commands_[1]->get_optional().value()};
  }

  void run() {
    const rclcpp::Duration period(0, 2'000'000);
    time_ += period;
    ASSERT_EQ(guard_->update(time_, period), controller_interface::return_type::OK);
  }

  pluginlib::ClassLoader<controller_interface::ChainableControllerInterface> loader_{
      "controller_interface", "controller_interface::ChainableControllerInterface"};
  std::shared_ptr<controller_interface::ChainableControllerInterface> guard_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> references_;
  std::vector<hardware_interface::StateInterface::SharedPtr> states_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> commands_;
  rclcpp::Time time_{1'700'000'000, 0};
};

TEST_F(ServoGuardPlugin, PassesWhatTheTankCoversBitForBit) {
  begin(5.0);
  for (double x = 0.0; x < 0.05; x += 1.0 / 3000.0) {
    const std::vector<double> wanted{x, -x / 7.0};
    EXPECT_THAT(update(wanted), testing::ElementsAreArray(wanted));
    set(states_, wanted);
  }
}

TEST_F(ServoGuardPlugin, SendsAJumpAsFarAsTheTankReaches) {
  begin(0.6);
  const auto sent = update({1.0, 0.0});
  EXPECT_NEAR(sent[0], 0.1, 1e-6);  // 1/2 120 0.1^2 = 0.6 J
  EXPECT_EQ(sent[1], 0.0);
}

TEST_F(ServoGuardPlugin, CountsWhatLimitsBehindItLeave) {
  begin(0.6);
  update({1.0, 0.0});
  set(commands_, {0.05, 0.0});  // 0.15 J
  set(states_, {-0.05, 0.0});
  const auto sent = update({1.0, 0.0});
  EXPECT_NEAR(sent[0], std::sqrt(0.0175) - 0.05, 1e-6);  // 1/2 120 (0.0175 - 0.1^2) = 0.45 J
}

TEST_F(ServoGuardPlugin, KeepsTheLastCommandWithoutPositionsOrReferences) {
  begin(5.0, {0.2, -3.5});
  EXPECT_THAT(update({kNaN, kNaN}), testing::ElementsAre(0.2, -3.5));
  EXPECT_THAT(update({0.25, -3.5}), testing::ElementsAre(0.25, -3.5));
  EXPECT_THAT(update({0.3, kNaN}), testing::ElementsAre(0.25, -3.5));
  set(states_, {kNaN, -3.5});
  EXPECT_THAT(update({0.3, -3.4}), testing::ElementsAre(0.25, -3.5));
}

TEST_F(ServoGuardPlugin, PassesVelocitiesAndStopsThemWithTheTankOrTheController) {
  begin(0.015, {0.0, 0.0}, "vms_ph/VelocityGuard", "velocity");
  EXPECT_THAT(update({0.5, -0.2}), testing::ElementsAre(0.5, -0.2));
  const auto sent = update({10.0, 0.0});  // 12 N m s/rad give at most 0.6 J in 2 ms
  EXPECT_GT(sent[0], 0.5);
  EXPECT_LT(sent[0], 2.0);
  for (int k = 0; k < 200; ++k) run();  // the controller is silent for 0.4 s
  EXPECT_EQ(commands_[0]->get_optional().value(), 0.0);
  update({0.1, 0.0});
  ASSERT_EQ(guard_->get_node()->deactivate().label(), "inactive");
  EXPECT_EQ(commands_[0]->get_optional().value(), 0.0);
}

TEST_F(ServoGuardPlugin, NeitherAllocatesNorTakesLong) {
  begin(0.6);
  std::vector<double> times;
  times.reserve(4000);
  for (int k = 0; k < 20; ++k) update({1.0, 0.0});  // the longest text is published
  const long before = allocations();
  ASSERT_GT(before, 0);
  long during = 0;
  for (int k = 0; k < 4000; ++k) {
    // Covered, in part, and none; every one in part takes the most time.
    set(references_, {k % 2 ? 1.0 : 0.05 * std::sin(0.01 * k), k % 100 ? 0.0 : kNaN});
    const long count = allocations();
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    during += allocations() - count;
  }
  EXPECT_EQ(during, 0);
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], p99 = times[times.size() * 99 / 100];
  std::printf("an update: median %.2f us, p99 %.2f us\n", 1e6 * median, 1e6 * p99);
  EXPECT_LT(median, 10e-6);
}

}  // namespace
