// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A cart on two wheels that do not slip, with an arm, in SimulatedSystem under its laws.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <hardware_interface/resource_manager.hpp>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>

#include "../src/robot_setup.hpp"
#include "vms_ph_native/energy_split.hpp"
#include "vms_ph_native/plant/plant.hpp"

namespace {

using Law = controller_interface::ChainableControllerInterface;

constexpr unsigned int kRate = 200;
constexpr double kRadius = 0.1, kHalfTrack = 0.3;
const std::vector<std::string> kJoints{"left", "right", "shoulder", "elbow"};

std::string link(const std::string& name, const std::string& centre, const std::string& mass,
                 const std::string& moments) {
  return "<link name='" + name + "'><inertial><origin xyz='" + centre + "'/><mass value='" + mass +
         "'/><inertia " + moments + " ixy='0' ixz='0' iyz='0'/></inertial></link>";
}

std::string joint(const std::string& name, const std::string& kind, const std::string& origin,
                  const std::string& parent, const std::string& child, const std::string& axis) {
  return "<joint name='" + name + "' type='" + kind + "'><origin xyz='" + origin +
         "'/><parent link='" + parent + "'/><child link='" + child + "'/><axis xyz='" + axis +
         "'/><limit lower='-3' upper='3' effort='20' velocity='20'/>"
         "<dynamics damping='0.2' friction='0.1'/></joint>";
}

std::string cart(const std::string& commands_of_base = "") {
  std::string tag;
  for (const auto& name : kJoints) {
    tag += "<joint name='" + name +
           "'><command_interface name='effort'/><command_interface name='velocity'/>"
           "<state_interface name='position'/><state_interface name='velocity'/>"
           "<state_interface name='effort'/></joint>";
  }
  tag += "<gpio name='base'>" + commands_of_base;
  for (const char* kind : {"position.", "linear_velocity.", "angular_velocity.", "orientation."}) {
    for (const char* axis : {"x", "y", "z"}) {
      tag += "<state_interface name='" + std::string(kind) + axis + "'/>";
    }
  }
  tag +=
      "<state_interface name='orientation.w'/></gpio><gpio name='clock'>"
      "<state_interface name='sec'/><state_interface name='nanosec'/></gpio>"
      "<gpio name='port_energy'>";
  for (const char* item : {"torque", "wrench_base", "wrench_end_effector", "dissipated", "resets",
                           "electric", "actuator_losses", "spinning"}) {
    tag += "<state_interface name='" + std::string(item) + "'/>";
  }
  const std::string small = "ixx='0.004' iyy='0.007' izz='0.004'";
  return "<robot name='cart'>" +
         link("base_link", "0.1 0.02 0.2", "20", "ixx='1' iyy='1' izz='1'") +
         link("left_link", "0 0 0", "1.5", small) + link("right_link", "0 0 0", "1.5", small) +
         link("upper", "0.2 0 0", "3", "ixx='0.02' iyy='0.1' izz='0.1'") +
         link("fore", "0.2 0 0", "2", "ixx='0.01' iyy='0.05' izz='0.05'") +
         joint("left", "continuous", "0 0.3 0.1", "base_link", "left_link", "0 1 0") +
         joint("right", "continuous", "0 -0.3 0.1", "base_link", "right_link", "0 1 0") +
         joint("shoulder", "revolute", "0.2 0 0.4", "base_link", "upper", "0 0 1") +
         joint("elbow", "revolute", "0.5 0 0", "upper", "fore", "0 1 0") +
         "<ros2_control name='simulated' type='system'><hardware>"
         "<plugin>vms_ph/SimulatedSystem</plugin><param name='base'>planar</param>"
         "<param name='wheels'>left=0.1, right=0.1</param></hardware>" +
         tag + "</gpio></ros2_control></robot>";
}

class SimulatedWheels : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  void begin() {
    hardware_interface::ResourceManagerParams params;
    params.robot_description = setup_.urdf = cart();
    setup_.base = "planar";
    params.clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME);
    params.logger = rclcpp::get_logger("test");
    params.activate_all = true;
    params.update_rate = kRate;
    manager_ = std::make_unique<hardware_interface::ResourceManager>(params, true);
    model_ = std::make_unique<vms_ph::Model>(vms_ph_ros2_control::make_model(setup_));
    split_ = std::make_unique<vms_ph::EnergySplit>(*model_);
    for (const auto& name : manager_->state_interface_keys()) {
      states_.emplace(name, manager_->claim_state_interface(name));
    }
    cycle(1);
    start_ = energy();
  }

  bool claim(const std::vector<std::string>& names) {
    return manager_->prepare_command_mode_switch(names, {}) &&
           manager_->perform_command_mode_switch(names, {});
  }

  /// Load a law and configure it; whether that succeeds.
  bool configure(const std::string& plugin, const std::string& wheels) {
    law_ = loader_.createSharedInstance(plugin);
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "law";
    params.robot_description = setup_.urdf;
    params.update_rate = params.controller_manager_update_rate = kRate;
    params.node_options = law_->define_custom_node_options().parameter_overrides(
        {{"base", "planar"}, {"end_effector", "fore"}, {"wheels", wheels}});
    EXPECT_EQ(law_->init(params), controller_interface::return_type::OK);
    return law_->configure().label() == "inactive";
  }

  /// Load a law, connect it to the hardware and activate it, led by its reference interfaces.
  void activate(const std::string& plugin) {
    ASSERT_TRUE(configure(plugin, "left=0.1 right=0.1"));
    const auto claimed = law_->command_interface_configuration().names;
    ASSERT_EQ(claimed.size(), kJoints.size());  // no wrench on the base
    ASSERT_TRUE(claim(claimed));
    std::vector<hardware_interface::LoanedStateInterface> states;
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    for (const auto& name : law_->state_interface_configuration().names) {
      states.push_back(manager_->claim_state_interface(name));
    }
    for (const auto& name : claimed) commands.push_back(manager_->claim_command_interface(name));
    for (const auto& item : law_->export_reference_interfaces()) {
      references_.emplace(item->get_interface_name(), item);
    }
    ASSERT_TRUE(law_->set_chained_mode(true));
    law_->assign_interfaces(std::move(commands), std::move(states));
    ASSERT_EQ(law_->get_node()->activate().label(), "active");
  }

  void TearDown() override {
    if (!law_) return;
    if (law_->get_lifecycle_id() == lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE) {
      law_->get_node()->deactivate();
    }
    law_->release_interfaces();
    references_.clear();
    law_.reset();
  }

  void set_reference(double x, double y, double z, double yaw) {
    const std::map<std::string, double> pose{{"position.x", x},
                                             {"position.y", y},
                                             {"position.z", z},
                                             {"orientation.x", 0},
                                             {"orientation.y", 0},
                                             {"orientation.z", std::sin(0.5 * yaw)},
                                             {"orientation.w", std::cos(0.5 * yaw)}};
    for (const auto& [name, value] : pose) ASSERT_TRUE(references_.at(name)->set_value(value));
  }

  double state(const std::string& name) { return *states_.at(name).get_optional(); }

  void cycle(int times) {
    const auto period = rclcpp::Duration::from_seconds(1.0 / kRate);
    for (int i = 0; i < times; ++i) {
      const rclcpp::Time now(100'000'000'000 + 1'000'000'000 / kRate * count_++, RCL_STEADY_TIME);
      manager_->read(now, period);
      if (law_) std::ignore = law_->update(now, period);
      manager_->write(now, period);
      if (states_.count("left/velocity") == 0) continue;
      // The wheels turn as the ground under them moves.
      const double turn = state("base/angular_velocity.z"),
                   forward = state("base/linear_velocity.x");
      const double left = kRadius * state("left/velocity") - (forward - kHalfTrack * turn);
      const double right = kRadius * state("right/velocity") - (forward + kHalfTrack * turn);
      const double aside = state("base/linear_velocity.y");
      slip_ = std::max({slip_, std::abs(left), std::abs(right), std::abs(aside)});
    }
  }

  double yaw() {
    return 2.0 * std::atan2(state("base/orientation.z"), state("base/orientation.w"));
  }

  double energy() {
    vms_ph::RobotState s{Eigen::VectorXd(model_->nq()), Eigen::VectorXd(model_->nv())};
    const double left = state("left/position"), right = state("right/position");
    s.q << state("base/position.x"), state("base/position.y"), std::cos(yaw()), std::sin(yaw()),
        std::cos(left), std::sin(left), std::cos(right), std::sin(right),
        state("shoulder/position"), state("elbow/position");
    s.v << state("base/linear_velocity.x"), state("base/linear_velocity.y"),
        state("base/angular_velocity.z"), state("left/velocity"), state("right/velocity"),
        state("shoulder/velocity"), state("elbow/velocity");
    return split_->compute(s).total();
  }

  void expect_energy_balance() {
    const double supplied = state("port_energy/torque") - state("port_energy/dissipated");
    EXPECT_GT(state("port_energy/dissipated"), 0.01);
    EXPECT_EQ(state("port_energy/wrench_base"), 0.0);
    EXPECT_NEAR(energy() - start_, supplied, 1e-8);
    EXPECT_LT(slip_, 1e-12);
  }

  pluginlib::ClassLoader<Law> loader_{"controller_interface",
                                      "controller_interface::ChainableControllerInterface"};
  vms_ph_ros2_control::RobotSetup setup_;
  std::unique_ptr<hardware_interface::ResourceManager> manager_;
  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::EnergySplit> split_;
  std::map<std::string, hardware_interface::LoanedStateInterface> states_;
  std::map<std::string, hardware_interface::CommandInterface::SharedPtr> references_;
  std::shared_ptr<Law> law_;
  double start_ = 0.0, slip_ = 0.0;
  std::int64_t count_ = 0;
};

TEST_F(SimulatedWheels, ALawDrivesToAPlaceAndTurnsThere) {
  begin();
  activate("vms_ph/DifferentialDrive");
  set_reference(0.4, 0.3, 0.0, 1.2);
  cycle(12 * kRate);
  EXPECT_NEAR(state("base/position.x"), 0.4, 0.01);
  EXPECT_NEAR(state("base/position.y"), 0.3, 0.01);
  EXPECT_NEAR(yaw(), 1.2, 0.01);
  expect_energy_balance();
}

TEST_F(SimulatedWheels, ASpringMovesTheEndEffector) {
  begin();
  activate("vms_ph/WheeledImpedance");
  // The end effector is at 0.7, 0, 0.4 m: the cart has to drive, and the shoulder to turn.
  set_reference(0.95, 0.05, 0.4, 0.0);
  cycle(12 * kRate);
  EXPECT_GT(state("base/position.x"), 0.1);
  expect_energy_balance();
}

TEST_F(SimulatedWheels, ServosOfTheWheelsDriveTheCart) {
  begin();
  ASSERT_TRUE(claim({"left/velocity", "right/velocity"}));
  auto left = manager_->claim_command_interface("left/velocity");
  auto right = manager_->claim_command_interface("right/velocity");
  for (int i = 0; i < 2 * static_cast<int>(kRate); ++i) {
    ASSERT_TRUE(left.set_value(2.0));
    ASSERT_TRUE(right.set_value(3.0));
    cycle(1);
  }
  EXPECT_NEAR(state("left/velocity"), 2.0, 0.01);
  EXPECT_NEAR(state("right/velocity"), 3.0, 0.01);
  EXPECT_NEAR(state("base/linear_velocity.x"), 0.25, 1e-3);
  EXPECT_NEAR(state("base/angular_velocity.z"), 0.1 / 0.6, 3e-3);
  EXPECT_NEAR(state("shoulder/position"), 0.0, 1e-3);
  expect_energy_balance();
}

TEST_F(SimulatedWheels, WheelsOfATextAreReadOrRefused) {
  const auto wheels = vms_ph_ros2_control::parse_wheels("left=0.1,right=0.2 third=1e-1");
  ASSERT_EQ(wheels.size(), 3U);
  EXPECT_EQ(wheels[1].joint, "right");
  EXPECT_EQ(wheels[1].radius, 0.2);
  EXPECT_TRUE(vms_ph_ros2_control::parse_wheels(" ").empty());
  for (const char* bad : {"left", "=0.1", "left=", "left=ten", "left=0.1m"}) {
    EXPECT_THROW(vms_ph_ros2_control::parse_wheels(bad), vms_ph::ModelError) << bad;
  }
}

TEST_F(SimulatedWheels, LawsThatKnowNothingOfWheelsOrNeedThemAreNotConfigured) {
  begin();
  for (const char* plugin : {"vms_ph/DecoupledVMSController", "vms_ph/PythonController"}) {
    EXPECT_FALSE(configure(plugin, "left=0.1 right=0.1")) << plugin;
  }
  for (const char* plugin : {"vms_ph/DifferentialDrive", "vms_ph/WheeledImpedance"}) {
    EXPECT_FALSE(configure(plugin, "")) << plugin;
    EXPECT_FALSE(configure(plugin, "left=0.1 middle=0.1")) << plugin;
    EXPECT_FALSE(configure(plugin, "left right")) << plugin;
  }
  law_.reset();
}

TEST_F(SimulatedWheels, HardwareThatCannotRollIsRefusedInASentence) {
  const auto clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME);
  const auto logger = rclcpp::get_logger("test");
  hardware_interface::ResourceManager pushed(cart("<command_interface name='force.x'/>"), clock,
                                             logger, true, kRate);
  EXPECT_EQ(pushed.get_components_status().count("simulated"), 0U);
  std::string urdf = cart();
  const std::string position = "<state_interface name='position'/>";
  urdf.replace(urdf.find(position), position.size(),
               "<state_interface name='position'><param name='initial_value'>zero</param>"
               "</state_interface>");
  hardware_interface::ResourceManager empty_manager(urdf, clock, logger, true, kRate);
  EXPECT_EQ(empty_manager.get_components_status().count("simulated"), 0U);

  setup_.urdf = cart();
  setup_.base = "planar";
  const vms_ph::Model model = vms_ph_ros2_control::make_model(setup_);
  const auto reason = [&model](const vms_ph::PlantOptions& options) {
    try {
      const vms_ph::Plant plant(model, options);
    } catch (const vms_ph::ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  vms_ph::PlantOptions options;
  options.start_q = model.neutral_configuration();
  options.wheels = vms_ph_ros2_control::parse_wheels("left=0.1 right=0.1");
  EXPECT_EQ(reason(options), "");
  options.scheme = "rk4";
  EXPECT_THAT(reason(options), testing::HasSubstr("'projected_rk4'; given: 'rk4'"));
  options.scheme = "";
  options.actuators = vms_ph_ros2_control::parse_actuators(
      "<robot><vms_ph_allocation base='planar' weights='1 1 1'><input column='1 0 0' lower='-1' "
      "upper='1'/></vms_ph_allocation></robot>");
  EXPECT_THAT(reason(options), testing::HasSubstr("driven by their joints"));
}

}  // namespace
