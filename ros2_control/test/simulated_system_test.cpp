// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// SimulatedSystem through the resource manager.
#include <pinocchio/algorithm/energy.hpp>

#include "simulated_fixture.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace {

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
  const double before = energy(), supplied_before = supplied();
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
  EXPECT_NEAR(energy() - before, supplied() - supplied_before, 1e-8);
}

TEST_F(SimulatedSystem, TakesThePushOnItsEndEffectorIntoItsBooks) {
  begin();
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), supplied_before = supplied();
  ASSERT_TRUE(push("", 1.0, -0.5, 0.3));
  EXPECT_EQ(measured_force(), Eigen::Vector3d(1.0, -0.5, 0.3));
  for (int i = 0; i < 100; ++i) {
    for (const auto& name : kAll) command(name, 0.0);
    cycle(1);
  }
  EXPECT_GT(std::abs(state("port_energy/wrench_end_effector")), 1e-3);
  EXPECT_NEAR(energy() - before, supplied() - supplied_before, 1e-8);
  // It ends as long after the last message as a command does.
  cycle(100);
  EXPECT_EQ(measured_force(), Eigen::Vector3d::Zero());
}

TEST_F(SimulatedSystem, TurnsAPushIntoTheAxesOfItsEndEffector) {
  begin();
  ASSERT_TRUE(claim(kAll));
  for (const std::string frame : {"world", "odom", "base_link"}) {
    for (int i = 0; i < 50; ++i) {
      for (const auto& name : kAll) command(name, 0.0);
      command("base/torque.x", 0.5);
      command("base/torque.z", 0.2);
      cycle(1);
    }
    cycle(500);  // turned, and held
    const auto state = motion();
    ASSERT_TRUE(push(frame, 0.0, 2.0, 1.0));
    const auto& robot = model_->pinocchio();
    pinocchio::Data data(robot);
    pinocchio::forwardKinematics(robot, data, state.q);
    const auto& tool = pinocchio::updateFramePlacement(robot, data, model_->end_effector());
    Eigen::Vector3d force(0.0, 2.0, 1.0);
    if (frame == "base_link") force = model_->base_pose(state.q).rotation() * force;
    EXPECT_NEAR((measured_force() - tool.rotation().transpose() * force).norm(), 0.0, 1e-3)
        << frame;
    EXPECT_GT((measured_force() - force).norm(), 1e-2);
    EXPECT_NEAR(measured_force().norm(), force.norm(), 1e-12);
  }
}

TEST_F(SimulatedSystem, RefusesAPushThatCannotBe) {
  begin("fixed");
  ASSERT_TRUE(push("lower", 1.0, 0.0, 0.0));
  cycle(150);
  ASSERT_EQ(measured_force(), Eigen::Vector3d::Zero());
  for (const double x : {1e6, std::numeric_limits<double>::quiet_NaN()}) {
    geometry_msgs::msg::WrenchStamped message;
    message.wrench.force.x = x;
    pushes_->publish(message);
    executor_->spin_some(std::chrono::milliseconds(20));
    cycle(1);
    EXPECT_EQ(measured_force(), Eigen::Vector3d::Zero());
  }
  ASSERT_TRUE(push("lower", 2.0, 0.0, 0.0));
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
  const double before = energy(), supplied_before = supplied();
  double farthest = 0.0;
  for (int i = 0; i < 2500; ++i) {
    for (const auto& name : kEfforts) command(name, 0.0);
    cycle(1);
    farthest = std::max(farthest, state("shoulder/position"));
  }
  EXPECT_GT(farthest, 2.499);
  EXPECT_LT(farthest, 2.501);
  // Nothing was commanded: what the fall set free, less what still moves, went into the stop.
  EXPECT_NEAR(state("port_energy/torque"), 0.0, 1e-9);
  EXPECT_GT(state("port_energy/dissipated"), 1.0);
  EXPECT_NEAR(energy() - before, supplied() - supplied_before, 1e-5);
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

TEST_F(SimulatedSystem, FloatsWithoutAStandWhereNobodyCommandsItsBase) {
  begin("floating", "", "", "<param name='stand'>false</param><param name='gravity'>0 0 0</param>");
  ASSERT_TRUE(claim(kEfforts));
  const double supplied_before = supplied();
  for (int i = 0; i < 500; ++i) {
    command("shoulder/effort", 0.5);
    command("elbow/effort", -0.2);
    cycle(1);
  }
  // The arm turns the base, and nothing acts on both.
  EXPECT_GT(std::abs(state("base/angular_velocity.y")), 0.1);
  EXPECT_EQ(state("port_energy/wrench_base"), 0.0);
  const auto now = motion();
  pinocchio::Data data(model_->pinocchio());
  const auto& kinetic = pinocchio::computeKineticEnergy(model_->pinocchio(), data, now.q, now.v);
  EXPECT_NEAR(kinetic, supplied() - supplied_before, 1e-8);
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
  EXPECT_DOUBLE_EQ(state("shoulder/effort"), model_->max_effort()[0]);
  EXPECT_DOUBLE_EQ(state("elbow/effort"), -model_->max_effort()[1]);
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

// A slide that follows the shoulder, on which its mass acts.
const std::string kFinger =
    "<link name='finger'><inertial><mass value='0.2'/><inertia ixx='1e-4' iyy='1e-4' izz='1e-4' "
    "ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='finger' type='prismatic'>"
    "<parent link='lower'/><child link='finger'/><axis xyz='1 0 0'/>"
    "<limit lower='-1' upper='1' effort='9' velocity='9'/>"
    "<mimic joint='shoulder' multiplier='-0.2' offset='0.05'/></joint>";
const std::string kFingerStates =
    "<state_interface name='position'/><state_interface name='velocity'/>"
    "<state_interface name='effort'/></joint>";

TEST_F(SimulatedSystem, GivesTheStatesOfAJointThatMimicsAnother) {
  begin("floating", kFinger, "<joint name='finger'>" + kFingerStates);
  ASSERT_EQ(model_->n(), 2);
  EXPECT_NEAR(state("finger/position"), -0.2 * 0.4 + 0.05, 1e-15);
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), supplied_before = supplied();
  for (int i = 0; i < 500; ++i) {
    for (const auto& name : kAll) command(name, 0.0);
    command("shoulder/effort", 0.5 * std::sin(0.05 * i));
    command("base/force.z", 9.81 * 3.0);
    cycle(1);
    EXPECT_NEAR(state("finger/position"), 0.05 - 0.2 * state("shoulder/position"), 1e-15);
    EXPECT_NEAR(state("finger/velocity"), -0.2 * state("shoulder/velocity"), 1e-15);
    EXPECT_EQ(state("finger/effort"), 0.0);
  }
  EXPECT_GT(std::abs(state("shoulder/position") - 0.4), 0.01);
  EXPECT_NEAR(energy() - before, supplied() - supplied_before, 1e-8);
  release();
  cycle(500);  // held by the servos
  EXPECT_NEAR(state("finger/velocity"), 0.0, 1e-6);
}

TEST_F(SimulatedSystem, RefusesCommandsToAJointThatMimicsAnother) {
  const std::string urdf = flying_arm(
      "fixed", kFinger,
      "<joint name='finger' mimic='false'><command_interface name='position'/>" + kFingerStates);
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
