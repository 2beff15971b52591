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

// SimulatedSystem through the resource manager, as the controller manager drives it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <hardware_interface/resource_manager.hpp>
#include <rclcpp/rclcpp.hpp>

#include "../src/robot_setup.hpp"
#include "flying_arm.hpp"
#include "vms_ph_native/energy_split.hpp"

namespace {

constexpr unsigned int kRate = 500;

class SimulatedSystem : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  void begin(const std::string& base = "floating") {
    vms_ph_ros2_control::RobotSetup setup;
    setup.urdf = flying_arm(base);
    setup.base = base;
    manager_ = std::make_unique<hardware_interface::ResourceManager>(
        setup.urdf, std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME), rclcpp::get_logger("test"),
        true, kRate);
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
    for (const auto& each : commands_) names.push_back(each.first);
    commands_.clear();
    ASSERT_TRUE(manager_->prepare_command_mode_switch({}, names));
    ASSERT_TRUE(manager_->perform_command_mode_switch({}, names));
  }

  void command(const std::string& name, double value) {
    ASSERT_TRUE(commands_.at(name).set_value(value));
  }

  void set_lifecycle(std::uint8_t id, const std::string& label) {
    rclcpp_lifecycle::State wanted(id, label);
    ASSERT_EQ(manager_->set_component_state("simulated", wanted),
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

  double energy() {
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
    return split_->of(s).total();
  }

  double supplied() {
    return state("port_energy/torque") + state("port_energy/wrench_base") -
           state("port_energy/dissipated");
  }

  std::int64_t count_ = 0;
  std::unique_ptr<hardware_interface::ResourceManager> manager_;
  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::EnergySplit> split_;
  std::map<std::string, hardware_interface::LoanedStateInterface> states_;
  std::map<std::string, hardware_interface::LoanedCommandInterface> commands_;
};

const std::vector<std::string> kEfforts{"shoulder/effort", "elbow/effort"};
const std::vector<std::string> kAll{"shoulder/effort", "elbow/effort", "base/force.x",
                                    "base/force.y",    "base/force.z", "base/torque.x",
                                    "base/torque.y",   "base/torque.z"};

TEST_F(SimulatedSystem, StaysAtHomeAsLongAsNobodyCommandsIt) {
  begin();
  cycle(500);
  EXPECT_NEAR(state("shoulder/position"), 0.4, 1e-9);
  EXPECT_NEAR(state("elbow/position"), -0.3, 1e-9);
  EXPECT_NEAR(state("base/position.z"), 0.0, 1e-9);
  EXPECT_NEAR(state("base/orientation.w"), 1.0, 1e-12);
}

TEST_F(SimulatedSystem, StoresWhatItsPortsSupplyLessWhatFrictionTakes) {
  begin();
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), books = supplied();
  for (int i = 0; i < 500; ++i) {
    command("shoulder/effort", 0.6 * std::sin(0.05 * i));
    command("elbow/effort", 0.2 * std::cos(0.03 * i));
    command("base/force.x", std::sin(0.02 * i));
    command("base/force.y", 0.0);
    command("base/force.z", 9.81 * 2.8);
    command("base/torque.x", 0.0);
    command("base/torque.y", 0.1);
    command("base/torque.z", -0.1);
    cycle(1);
  }
  EXPECT_GT(state("port_energy/dissipated"), 1e-3);
  EXPECT_GT(std::abs(state("port_energy/wrench_base")), 0.1);
  // The port energies are those of the integrator: only its own error and rounding are left.
  EXPECT_NEAR(energy() - before, supplied() - books, 1e-8);
}

TEST_F(SimulatedSystem, FallsWithoutAWrenchOnItsBase) {
  begin();
  ASSERT_TRUE(claim(kAll));
  for (const auto& name : kAll) command(name, 0.0);
  cycle(1);
  const double height = state("base/position.z");
  for (int i = 0; i < 250; ++i) {
    for (const auto& name : kAll) command(name, 0.0);
    cycle(1);
  }
  EXPECT_NEAR(state("base/position.z") - height, -0.5 * 9.81 * 0.25, 0.05);
}

TEST_F(SimulatedSystem, StopsAJointWithoutEffortAtItsLimit) {
  begin("fixed");
  ASSERT_TRUE(claim(kEfforts));
  double farthest = 0.0;
  for (int i = 0; i < 2500; ++i) {
    for (const auto& name : kEfforts) command(name, 0.0);
    cycle(1);
    farthest = std::max(farthest, state("shoulder/position"));
  }
  EXPECT_GT(farthest, 2.499);
  EXPECT_LT(farthest, 2.501);
}

TEST_F(SimulatedSystem, IsHeldWhereItIsWhenItsControllerLetsGo) {
  begin("fixed");
  ASSERT_TRUE(claim(kEfforts));
  command("shoulder/effort", 1.0);
  command("elbow/effort", 0.0);
  cycle(100);
  EXPECT_GT(std::abs(state("shoulder/velocity")), 0.1);
  release();
  cycle(500);
  EXPECT_NEAR(state("shoulder/velocity"), 0.0, 1e-4);
  const double rested = state("shoulder/position");
  cycle(500);
  EXPECT_NEAR(state("shoulder/position"), rested, 1e-5);
}

TEST_F(SimulatedSystem, IsHeldWhenItsControllerNoLongerWrites) {
  begin("fixed");
  ASSERT_TRUE(claim(kEfforts));
  command("shoulder/effort", 1.0);
  command("elbow/effort", 0.0);
  cycle(120);  // 0.24 s: the commands act
  EXPECT_DOUBLE_EQ(state("shoulder/effort"), 1.0);
  cycle(500);
  EXPECT_NEAR(state("shoulder/velocity"), 0.0, 1e-4);
  EXPECT_NEAR(state("elbow/velocity"), 0.0, 1e-4);
}

TEST_F(SimulatedSystem, ActsWithNoMoreThanTheLargestEffortOfAJoint) {
  begin("fixed");
  ASSERT_TRUE(claim(kEfforts));
  command("shoulder/effort", 1e30);
  command("elbow/effort", -1e30);
  cycle(2);
  EXPECT_DOUBLE_EQ(state("shoulder/effort"), model_->effort()[0]);
  EXPECT_DOUBLE_EQ(state("elbow/effort"), -model_->effort()[1]);
}

TEST_F(SimulatedSystem, TakesACommandThatIsNotFiniteAsNone) {
  begin("fixed");
  ASSERT_TRUE(claim(kEfforts));
  for (int i = 0; i < 200; ++i) {
    command("elbow/effort", 0.0);
    cycle(1);
  }
  // Nothing was written to the shoulder: its brake holds it while the elbow swings.
  EXPECT_NEAR(state("shoulder/velocity"), 0.0, 2e-2);
  EXPECT_NEAR(state("shoulder/position"), 0.4, 2e-2);
  EXPECT_GT(std::abs(state("elbow/velocity")), 0.1);
}

TEST_F(SimulatedSystem, GoesToAPositionAndTurnsAtAVelocity) {
  begin("fixed");
  ASSERT_TRUE(claim({"shoulder/position", "elbow/velocity"}));
  command("shoulder/position", -0.5);
  for (int i = 0; i < 2000; ++i) {
    command("elbow/velocity", 4.0);
    cycle(1);
  }
  EXPECT_NEAR(state("shoulder/position"), -0.5, 5e-3);
  EXPECT_NEAR(state("elbow/velocity"), 4.0, 5e-2);
  // An endless joint is told with its turns.
  EXPECT_GT(state("elbow/position"), 2.0 * M_PI);
}

TEST_F(SimulatedSystem, RefusesTwoKindsOfCommandForOneJoint) {
  begin("fixed");
  EXPECT_FALSE(claim({"shoulder/position", "shoulder/effort"}));
}

TEST_F(SimulatedSystem, RefusesAnotherKindOfCommandForAJointThatIsCommanded) {
  begin("fixed");
  ASSERT_TRUE(claim(kEfforts));
  EXPECT_FALSE(claim({"shoulder/position"}));
  // In the place of the first it may come.
  const std::vector<std::string> start{"shoulder/position"}, stop{"shoulder/effort"};
  EXPECT_TRUE(manager_->prepare_command_mode_switch(start, stop));
}

TEST_F(SimulatedSystem, IsHeldWhenItBeginsAnewThoughItWasDriven) {
  begin();
  ASSERT_TRUE(claim(kAll));
  for (const auto& name : kAll) command(name, 0.0);
  cycle(10);
  // As after a motion that broke: nobody lets go of the interfaces before.
  set_lifecycle(lifecycle_msgs::msg::State::PRIMARY_STATE_UNCONFIGURED, "unconfigured");
  set_lifecycle(lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE, "active");
  cycle(250);
  EXPECT_NEAR(state("base/position.z"), 0.0, 1e-9);
  EXPECT_NEAR(state("shoulder/position"), 0.4, 1e-9);
}

TEST_F(SimulatedSystem, GoesOnWhenTheClockOfItsLoopIsSetBack) {
  begin("fixed");
  const double sec = state("clock/sec"), nanosec = state("clock/nanosec");
  manager_->read(rclcpp::Time(1, 0, RCL_STEADY_TIME), rclcpp::Duration::from_seconds(-3600.0));
  cycle(500);
  EXPECT_NEAR(state("clock/sec") - sec + 1e-9 * (state("clock/nanosec") - nanosec), 1.0, 0.1);
}

TEST_F(SimulatedSystem, RefusesInterfacesOfOtherNumbersThanItTells) {
  std::string urdf = flying_arm("fixed");
  const std::string sec = "<state_interface name='sec'";
  urdf.insert(urdf.find(sec) + sec.size(), " data_type='int32'");
  hardware_interface::ResourceManager manager(urdf,
                                              std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME),
                                              rclcpp::get_logger("test"), true, kRate);
  EXPECT_EQ(manager.get_components_status().count("simulated"), 0U);
}

TEST_F(SimulatedSystem, StampsWhatItMeasuresWithSimulatedTime) {
  begin("fixed");
  const double sec = state("clock/sec"), nanosec = state("clock/nanosec");
  cycle(500);
  EXPECT_EQ((state("clock/sec") - sec) * 1e9 + state("clock/nanosec") - nanosec, 1e9);
  EXPECT_GT(state("port_energy/resets"), 1.7e9);
}

}  // namespace
