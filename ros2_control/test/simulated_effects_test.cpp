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

// Actuators and a fluid of a robot description in SimulatedSystem.
#include <controller_interface/chainable_controller_interface.hpp>
#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pluginlib/class_loader.hpp>

#include "simulated_fixture.hpp"

namespace {

using SimulatedEffects = SimulatedSystem;

/// Six inputs, each a component of the wrench; the first with a lag and a dead zone.
std::string six_inputs() {
  std::string made = "<vms_ph_allocation base='floating' weights='1 1 1 1 1 1'>";
  for (int i = 0; i < 6; ++i) {
    std::string column;
    for (int k = 0; k < 6; ++k) column += k == i ? "1 " : "0 ";
    made += "<input name='" + std::to_string(i) + "' column='" + column + "' lower='" +
            (i < 3 ? "-5' upper='40'" : "-inf' upper='inf'") +
            (i == 0 ? " time_constant='0.05' dead_zone='0.5'/>" : "/>");
  }
  return made + "</vms_ph_allocation>";
}

std::string water() {
  std::string mass;
  for (int i = 0; i < 36; ++i) mass += i % 7 == 0 ? std::to_string(1 + i / 7) + " " : "0 ";
  const std::string body = "' centre_of_buoyancy='0 0 0.02' added_mass='" + mass +
                           "' linear_drag='3 4 5 0.2 0.3 0.4' "
                           "quadratic_drag='10 20 30 1 1 1'/>";
  return "<vms_ph_fluid density='1000'><body link='base_link' volume='0.0025" + body +
         "<body link='lower' volume='0.0002" + body + "</vms_ph_fluid>";
}

/// What a law commands a base at rest with as it becomes active, N and N m.
Eigen::VectorXd first_wrench(const std::string& plugin, const std::string& effects) {
  pluginlib::ClassLoader<controller_interface::ChainableControllerInterface> loader(
      "controller_interface", "controller_interface::ChainableControllerInterface");
  Eigen::VectorXd wrench = Eigen::VectorXd::Zero(6);
  {
    const auto law = loader.createSharedInstance(plugin);
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "law";
    params.robot_description = flying_arm("floating", effects);
    params.update_rate = params.controller_manager_update_rate = 100;
    params.node_options = law->define_custom_node_options().parameter_overrides(
        {{"base", "floating"}, {"end_effector", "lower"}});
    EXPECT_EQ(law->init(params), controller_interface::return_type::OK);
    EXPECT_EQ(law->configure().label(), "inactive");
    std::vector<hardware_interface::StateInterface::SharedPtr> kept;
    std::vector<hardware_interface::CommandInterface::SharedPtr> written;
    std::vector<hardware_interface::LoanedStateInterface> states;
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    for (const auto& name : law->state_interface_configuration().names) {
      kept.push_back(std::make_shared<hardware_interface::StateInterface>("robot", name));
      std::ignore = kept.back()->set_value(name == "base/orientation.w" ? 1.0 : 0.0);
      states.emplace_back(kept.back(), nullptr);
    }
    for (const auto& name : law->command_interface_configuration().names) {
      written.push_back(std::make_shared<hardware_interface::CommandInterface>("robot", name));
      commands.emplace_back(written.back(), nullptr);
    }
    const auto references = law->export_reference_interfaces();
    law->assign_interfaces(std::move(commands), std::move(states));
    EXPECT_EQ(law->get_node()->activate().label(), "active");
    for (int i = 0; i < 6; ++i) {
      wrench[i] = *written[written.size() - 6 + static_cast<std::size_t>(i)]->get_optional();
    }
    law->get_node()->deactivate();
    law->release_interfaces();
  }
  return wrench;
}

TEST_F(SimulatedEffects, ALawCommandsWhatTheActuatorsGiveAndWhatTheWaterDoesNotCarry) {
  const double weight = 9.81 * 2.8;
  for (const std::string plugin : {"vms_ph/DecoupledVMSController", "vms_ph/PoseIDAPBC"}) {
    EXPECT_NEAR(first_wrench(plugin, "")[2], weight, 1e-9) << plugin;
    EXPECT_NEAR(first_wrench(plugin, water())[2], weight - 9.81 * 2.7, 1e-9) << plugin;
    std::string weak = six_inputs();
    for (auto at = weak.find("'40'"); at != std::string::npos; at = weak.find("'40'")) {
      weak.replace(at, 4, "'20'");
    }
    EXPECT_NEAR(first_wrench(plugin, weak)[2], 20.0, 1e-9) << plugin;
  }
}

TEST_F(SimulatedEffects, ABaseAppliesNoMoreThanItsActuatorsGive) {
  begin("floating", six_inputs());
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), books = supplied();
  const auto drive = [this](double x, double z, int times) {
    for (int i = 0; i < times; ++i) {
      for (const auto& name : kAll) command(name, 0.0);
      command("base/force.x", x);
      command("base/force.z", z);
      cycle(1);
    }
  };
  // Without weight on the joints the whole robot accelerates by the force over its mass.
  const auto momentum = [this] {
    const auto now = motion();
    pinocchio::Data data(model_->pinocchio());
    pinocchio::centerOfMass(model_->pinocchio(), data, now.q, now.v, false);
    return Eigen::Vector3d(model_->total_mass() * data.vcom[0]);
  };
  drive(1e6, 1e6, 25);
  const Eigen::Vector3d first = momentum();
  drive(1e6, 1e6, 10);
  const Eigen::Vector3d gained = momentum() - first;
  // The wrench is in the axes of the base, which turns; one input still lags by its last third.
  const double weight = 9.81 * model_->total_mass();
  EXPECT_GT(gained.norm(), 0.02 * std::hypot(0.5 * 40.0, 40.0 - weight));
  EXPECT_LT(gained.norm(), 0.02 * (std::hypot(40.0, 40.0) + weight));
  EXPECT_GT(state("port_energy/wrench_base"), 0.5);
  EXPECT_NEAR(energy() - before, supplied() - books, 1e-8);
}

TEST_F(SimulatedEffects, ARotorLagsAndHasADeadZone) {
  begin("floating", six_inputs());
  ASSERT_TRUE(claim(kAll));
  const auto drive = [this](double x, int times) {
    for (int i = 0; i < times; ++i) {
      for (const auto& name : kAll) command(name, 0.0);
      command("base/force.x", x);
      command("base/force.z", 9.81 * model_->total_mass());
      cycle(1);
    }
    return state("base/linear_velocity.x");
  };
  const double still = drive(0.4, 100);  // within the dead zone
  EXPECT_NEAR(still, drive(0.0, 1), 1e-2);
  // Half of the impulse is missing after a time constant, as 1 - (1 - exp(-t/T)) T/t.
  const double begun = drive(20.0, 2);
  const double soon = drive(20.0, 25);
  const double later = drive(20.0, 25);
  EXPECT_GT(later - soon, 1.5 * (soon - begun));
}

TEST_F(SimulatedEffects, ARobotInWaterIsHeldAndItsDragIsCounted) {
  begin("floating", water());
  cycle(500);
  EXPECT_NEAR(state("base/position.z"), 0.0, 1e-9);
  EXPECT_NEAR(state("shoulder/position"), 0.4, 1e-9);
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), books = supplied();
  for (int i = 0; i < 500; ++i) {
    command("shoulder/effort", 0.6 * std::sin(0.05 * i));
    command("elbow/effort", 0.2 * std::cos(0.03 * i));
    command("base/force.x", 10.0 * std::sin(0.02 * i));
    command("base/force.y", 2.0);
    command("base/force.z", 0.0);
    command("base/torque.x", 0.3);
    command("base/torque.y", 0.1);
    command("base/torque.z", -0.1);
    cycle(1);
  }
  EXPECT_GT(state("port_energy/dissipated"), 0.1);
  EXPECT_GT(std::abs(state("port_energy/wrench_base")), 0.1);
  EXPECT_NEAR(energy() - before, supplied() - books, 1e-7);
}

TEST_F(SimulatedEffects, ATagThatIsNotForPluginsIsRefusedInASentence) {
  const auto refusal = [](const std::string& effects) {
    vms_ph_ros2_control::RobotSetup setup;
    setup.base = "floating";
    setup.urdf = flying_arm("floating", effects);
    try {
      vms_ph_ros2_control::make_model(setup);
      vms_ph_ros2_control::base_actuators(setup);
    } catch (const vms_ph::ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(six_inputs() + water()), "");
  EXPECT_THAT(refusal("<vms_ph_actuators><rotor/></vms_ph_actuators>"),
              testing::HasSubstr("ros2 run vms_ph describe"));
  EXPECT_THAT(refusal("<vms_ph_allocation base='floating' weights='1 1'/>"),
              testing::HasSubstr("must be 6 numbers; given: '1 1'"));
  EXPECT_THAT(refusal("<vms_ph_fluid density='-1'/>"), testing::HasSubstr("must be positive"));
  EXPECT_THAT(refusal("<vms_ph_fluid density='1'><body link='tail' volume='0'/></vms_ph_fluid>"),
              testing::HasSubstr("added_mass of <body> must be 36 numbers"));
}

}  // namespace
