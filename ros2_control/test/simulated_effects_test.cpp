// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Actuators and a fluid of a robot description in SimulatedSystem.
#include <limits>

#include <controller_interface/chainable_controller_interface.hpp>
#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pluginlib/class_loader.hpp>

#include "simulated_fixture.hpp"
#include "spinning_actuators.hpp"
#include "vms_ph_native/plant/plant.hpp"

namespace {

using SimulatedEffects = SimulatedSystem;

/// Six inputs, each a component of the wrench; the first with a lag and a dead zone.
std::string six_inputs() {
  std::string xml = "<vms_ph_allocation base='floating' weights='1 1 1 1 1 1'>";
  for (int i = 0; i < 6; ++i) {
    std::string column;
    for (int k = 0; k < 6; ++k) column += k == i ? "1 " : "0 ";
    xml += "<input name='" + std::to_string(i) + "' column='" + column + "' lower='" +
           (i < 3 ? "-5' upper='40'" : "-inf' upper='inf'") +
           (i == 0 ? " time_constant='0.05' dead_zone='0.5'/>" : "/>");
  }
  return xml + "</vms_ph_allocation>";
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

/// Four rotors that push along one axis, with what their fluid takes.
std::string four_rotors() {
  std::string xml = "<vms_ph_allocation base='floating' weights='1 1 1 1 1 1'>";
  const double arm = 0.2, drag = 0.02;
  for (int i = 0; i < 4; ++i) {
    const double x = i < 2 ? arm : -arm, y = i % 2 == 0 ? arm : -arm;
    const double turn = i == 0 || i == 3 ? drag : -drag;
    xml += "<input name='rotor_" + std::to_string(i) + "' column='0 0 1 " + std::to_string(y) +
           " " + std::to_string(-x) + " " + std::to_string(turn) +
           "' lower='0' upper='40' thrust_constant='1e-5' loss_ratio='0.02'/>";
  }
  return xml + "</vms_ph_allocation>";
}

/// What a law commands a base at rest with as it becomes active, N and N m.
Eigen::VectorXd first_wrench(const std::string& plugin, const std::string& effects,
                             std::vector<double> gravity = {0.0, 0.0, -9.81}) {
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
        {{"base", "floating"}, {"end_effector", "lower"}, {"gravity", gravity}});
    EXPECT_EQ(law->init(params), controller_interface::return_type::OK);
    if (law->configure().label() != "inactive") {
      ADD_FAILURE() << plugin << " is not configured";
      return wrench.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
    std::vector<hardware_interface::StateInterface::SharedPtr> handles;
    std::vector<hardware_interface::CommandInterface::SharedPtr> written;
    std::vector<hardware_interface::LoanedStateInterface> states;
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    for (const auto& name : law->state_interface_configuration().names) {
      handles.push_back(std::make_shared<hardware_interface::StateInterface>("robot", name));
      std::ignore = handles.back()->set_value(name == "base/orientation.w" ? 1.0 : 0.0);
      states.emplace_back(handles.back(), nullptr);
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
  for (const std::string plugin :
       {"vms_ph/DecoupledVMSController", "vms_ph/PoseIDAPBC", "vms_ph/CartesianImpedance",
        "vms_ph/PushingImpedance", "vms_ph/MobileManipulation"}) {
    EXPECT_NEAR(first_wrench(plugin, "")[2], weight, 1e-9) << plugin;
    EXPECT_NEAR(first_wrench(plugin, water())[2], weight - 9.81 * 2.7, 1e-9) << plugin;
    std::string weak = six_inputs();
    for (auto at = weak.find("'40'"); at != std::string::npos; at = weak.find("'40'")) {
      weak.replace(at, 4, "'20'");
    }
    EXPECT_NEAR(first_wrench(plugin, weak)[2], 20.0, 1e-9) << plugin;
  }
}

TEST_F(SimulatedEffects, ALawOfRotorsAlongOneAxisCarriesTheWeightByThem) {
  const Eigen::VectorXd wrench = first_wrench("vms_ph/UnderactuatedFlight", four_rotors());
  EXPECT_NEAR(wrench[2], 9.81 * 2.8, 1e-6);
  EXPECT_LT(wrench.head<2>().norm(), 1e-12);  // there are no rotors for it
}

TEST_F(SimulatedEffects, LawsOfSpaceCommandNothingToARobotAtRest) {
  EXPECT_LT(first_wrench("vms_ph/AttitudeControl", six_inputs(), {0.0, 0.0, 0.0}).norm(), 1e-9);
  EXPECT_LT(first_wrench("vms_ph/ResolvedMotion", "", {0.0, 0.0, 0.0}).norm(), 1e-9);
}

TEST_F(SimulatedEffects, TheSupplyGivesTheWorkOnTheBaseAndWhatRotorsLose) {
  begin("floating", four_rotors());
  ASSERT_TRUE(claim(kAll));
  const auto drive = [this](int times) {
    for (int i = 0; i < times; ++i) {
      for (const auto& name : kAll) command(name, 0.0);
      command("base/force.z", 40.0);
      cycle(1);
    }
  };
  drive(2);
  const double work = state("port_energy/wrench_base");
  const double electric = state("port_energy/electric");
  const double lost = state("port_energy/actuator_losses");
  drive(100);
  // The torque of the fluid, 0.02 m times 10 N, at the rate of sqrt(10 / 1e-5) rad/s of each.
  const double expected = 0.2 * 4 * 0.02 * 10.0 * 1e3;
  EXPECT_NEAR(state("port_energy/actuator_losses") - lost, expected, 1e-6 * expected);
  EXPECT_GT(state("port_energy/wrench_base") - work, 1.0);
  EXPECT_NEAR(state("port_energy/electric") - electric,
              state("port_energy/wrench_base") - work + expected, 1e-6 * expected);
}

TEST_F(SimulatedEffects, ARotorThatHasFailedGivesNothingUntilItIsRepaired) {
  begin("floating", four_rotors());
  ASSERT_TRUE(claim(kAll));
  const auto parameters = std::make_shared<rclcpp::AsyncParametersClient>(pusher_, "simulated");
  const auto fail = [&](const std::string& names) {
    auto answer = parameters->set_parameters({{"failed_actuators", names}});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end &&
           answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      executor_->spin_some(std::chrono::milliseconds(5));
      rclcpp::spin_some(pusher_);
    }
    return answer.get().front();
  };
  // The rate at which the rotors lose energy, per rotor that turns with 10 N.
  const auto losses = [this] {
    const double before = state("port_energy/actuator_losses");
    for (int i = 0; i < 10; ++i) {
      for (const auto& name : kAll) command(name, 0.0);
      command("base/force.z", 40.0);
      cycle(1);
    }
    return (state("port_energy/actuator_losses") - before) / (0.02 * 0.02 * 10.0 * 1e3);
  };
  losses();
  EXPECT_NEAR(losses(), 4.0, 1e-6);
  ASSERT_TRUE(fail("rotor_1?").successful);
  losses();
  EXPECT_NEAR(losses(), 3.0, 1e-6);  // the others do as if it worked
  ASSERT_TRUE(fail("rotor_1").successful);
  losses();
  EXPECT_GT(std::abs(losses() - 3.0), 1e-2);  // the allocation knows
  const auto rejection = fail("rotor_1 rotor_7");
  EXPECT_FALSE(rejection.successful);
  EXPECT_THAT(rejection.reason, testing::HasSubstr("there is no actuator 'rotor_7'; there are"));
  ASSERT_TRUE(fail("").successful);
  losses();
  EXPECT_NEAR(losses(), 4.0, 1e-6);
}

TEST_F(SimulatedEffects, ARobotAdriftMovesWithTheWaterAndItsEnergyIsThatSeenFromThere) {
  begin("floating", water(), "", "<param name='current'>0.2 0.1 0</param>");
  const auto seen_from_water = [this] {
    auto now = motion();
    const Eigen::Quaterniond turn(now.q[6], now.q[3], now.q[4], now.q[5]);
    now.v.head<3>() -= turn.conjugate() * Eigen::Vector3d(0.2, 0.1, 0.0);
    return split_->compute(now).total();
  };
  EXPECT_NEAR(state("base/linear_velocity.x"), 0.0, 1e-2);  // held over ground
  ASSERT_TRUE(claim(kAll));
  const auto drift = [this](int times) {
    for (int i = 0; i < times; ++i) {
      for (const auto& name : kAll) command(name, 0.0);
      cycle(1);
    }
    return Eigen::Vector2d(state("base/position.x"), state("base/position.y"));
  };
  const double before = seen_from_water(), supplied_before = supplied();
  drift(5000);
  const Eigen::Vector2d from = drift(1);
  const Eigen::Vector2d displacement = drift(500) - from;  // in a second
  EXPECT_NEAR(displacement[0], 0.2, 0.02);
  EXPECT_NEAR(displacement[1], 0.1, 0.02);
  EXPECT_NEAR(seen_from_water() - before, supplied() - supplied_before, 1e-7);
}

TEST_F(SimulatedEffects, ACurrentAroundARobotThatIsNotInWaterIsRefused) {
  vms_ph_ros2_control::RobotSetup setup;
  setup.base = "floating";
  setup.urdf = flying_arm("floating");
  const auto model = vms_ph_ros2_control::make_model(setup);
  vms_ph::PlantOptions options;
  options.start_q = model.neutral_configuration();
  options.current = {0.2, 0.0, 0.0};
  EXPECT_THROW(vms_ph::Plant(model, options), vms_ph::ModelError);
}

TEST_F(SimulatedEffects, ABaseAppliesNoMoreThanItsActuatorsGive) {
  begin("floating", six_inputs());
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), supplied_before = supplied();
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
  EXPECT_NEAR(energy() - before, supplied() - supplied_before, 1e-8);
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
  const double first_rise = drive(20.0, 2);
  const double soon = drive(20.0, 25);
  const double later = drive(20.0, 25);
  EXPECT_GT(later - soon, 1.5 * (soon - first_rise));
}

TEST_F(SimulatedEffects, ARobotInWaterIsHeldAndItsDragIsCounted) {
  begin("floating", water());
  cycle(500);
  EXPECT_NEAR(state("base/position.z"), 0.0, 1e-9);
  EXPECT_NEAR(state("shoulder/position"), 0.4, 1e-9);
  ASSERT_TRUE(claim(kAll));
  const double before = energy(), supplied_before = supplied();
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
  EXPECT_NEAR(energy() - before, supplied() - supplied_before, 1e-7);
}

TEST_F(SimulatedEffects, TheStatesOfTheHardwareHaveTheEnergyOfWhatSpins) {
  begin("floating", three_wheels(), "",
        "<param name='gravity'>0 0 0</param><param name='stand'>false</param>");
  ASSERT_TRUE(claim(kAll));
  const double started = 0.5 * 0.002 * (200.0 * 200.0 + 250.0 * 250.0 + 290.0 * 290.0);
  EXPECT_NEAR(state("port_energy/spinning"), started, 1e-3 * started);
  const auto unaccounted = [this] {
    return state("port_energy/electric") - state("port_energy/wrench_base") -
           state("port_energy/spinning") - state("port_energy/actuator_losses");
  };
  const double before = unaccounted();
  for (int i = 0; i < 200; ++i) {
    for (const auto& name : kAll) command(name, 0.0);
    command("base/torque.y", 0.3 * std::sin(0.05 * i));
    command("base/torque.z", 0.2);
    cycle(1);
  }
  EXPECT_GT(std::abs(state("port_energy/spinning") - started), 1.0);
  EXPECT_GT(state("port_energy/actuator_losses"), 1.0);
  EXPECT_NEAR(unaccounted(), before, 1e-10 * started);
}

TEST_F(SimulatedEffects, OnAStandTheSupplyGivesWhatRotorsStore) {
  begin("floating", tilting_rotors());
  cycle(20);
  const double stored = state("port_energy/spinning");
  EXPECT_GT(stored, 1.0);
  EXPECT_EQ(state("port_energy/actuator_losses"), 0.0);
  // What they stored at the start they had before.
  EXPECT_LT(std::abs(state("port_energy/electric")), 0.5 * stored);
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
