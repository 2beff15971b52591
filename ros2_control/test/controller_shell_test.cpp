// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// ControllerShell around a law that remembers what it was given, as the controller manager drives
// it.
#include <gmock/gmock.h>

#include <malloc.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <geometry_msgs/msg/point_stamped.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp/rclcpp.hpp>

#include "../src/controller_shell.hpp"
#include "../src/timed_command.hpp"
#include "flying_arm.hpp"

namespace {

using hardware_interface::CommandInterface;
using hardware_interface::StateInterface;
using vms_ph_ros2_control::RobotSetup;

constexpr unsigned int kRate = 100;

class RecordingLaw final : public vms_ph::Controller {
 public:
  explicit RecordingLaw(const vms_ph::Model& model) : robot(&model) {
    command_.wrench_base = Eigen::VectorXd::Zero(model.b());
    command_.torque = Eigen::VectorXd::Constant(model.n(), 3.0);
  }
  bool reset(const vms_ph::RobotState& state) noexcept override { return state.q.allFinite(); }
  const vms_ph::Command& update(const vms_ph::RobotState& state, const vms_ph::Reference& reference,
                                double dt) noexcept override {
    elapsed = dt;
    velocity = reference.velocity;
    position = reference.position;
    pose = reference.pose;
    if (reference.wrench) wrenches.push_back(*reference.wrench);
    measured_wrench = state.wrench;
    if (reference.has_joints) joints = reference.joints;
    return command_;
  }
  std::vector<vms_ph::Gain> gains() const override {
    return {{"stiffness", "N m/rad", stiffness, 0.0, 100.0, 10.0, false},
            {"damping", "N m s/rad", damping, 0.0, 100.0, 1.0, false}};
  }
  // As a law may, it refuses what the bounds of the single gains allow.
  bool set_gain(const std::string& name, double value) noexcept override {
    ++settings[name];
    if (name == "stiffness" && value < damping) return false;
    (name == "stiffness" ? stiffness : damping) = value;
    return true;
  }

  const vms_ph::Model* robot;
  double elapsed = 0.0, stiffness = 10.0, damping = 1.0;
  std::optional<Eigen::Vector3d> velocity, position;
  std::optional<Eigen::Matrix4d> pose;
  std::vector<Eigen::Matrix<double, 6, 1>> wrenches;
  Eigen::Matrix<double, 6, 1> measured_wrench;
  Eigen::VectorXd joints;
  std::map<std::string, int> settings;

 private:
  vms_ph::Command command_;
};

class Shell final : public vms_ph_ros2_control::ControllerShell {
 public:
  RecordingLaw* law = nullptr;
  bool both = false;

 protected:
  bool pose_is_of_base() const override { return both; }
  void declare() override {}
  std::unique_ptr<vms_ph::Controller> make(const vms_ph::Model& model, const RobotSetup&) override {
    auto recording_law = std::make_unique<RecordingLaw>(model);
    law = recording_law.get();
    return recording_law;
  }
};

class ControllerShell : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    rclcpp::init(0, nullptr);
    mallopt(M_PERTURB, 0xA5);  // what is freed is no longer what it was
  }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  void begin(const std::string& base = "fixed", const std::string& type = "double",
             const std::string& following = "", const std::vector<double>& stiffness = {},
             const std::string& wrench_sensor = "") {
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "law";
    params.robot_description = flying_arm(base);
    params.update_rate = params.controller_manager_update_rate = kRate;
    params.node_options = shell_->define_custom_node_options().parameter_overrides(
        {{"base", base},
         {"following_controller", following},
         {"servo_stiffness", stiffness},
         {"wrench_sensor", wrench_sensor}});
    ASSERT_EQ(shell_->init(params), controller_interface::return_type::OK);
    ASSERT_EQ(shell_->configure().label(), "inactive");
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (const auto& name : shell_->state_interface_configuration().names) {
      const bool first = states_.empty();
      states_.push_back(std::make_shared<StateInterface>("robot", name, first ? type : "double"));
      if (!first || type == "double") std::ignore = states_.back()->set_value(0.0);
      states.emplace_back(states_.back(), nullptr);
    }
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    for (const auto& name : shell_->command_interface_configuration().names) {
      commands_.push_back(std::make_shared<CommandInterface>("robot", name));
      commands.emplace_back(commands_.back(), nullptr);
    }
    exported_ = shell_->export_reference_interfaces();
    shell_->assign_interfaces(std::move(commands), std::move(states));
  }

  /// The state that configuring with a description ends in.
  std::string configure(const std::string& description) {
    controller_interface::ControllerInterfaceParams params;
    params.controller_name = "law";
    params.robot_description = description;
    params.update_rate = params.controller_manager_update_rate = kRate;
    params.node_options = shell_->define_custom_node_options();
    EXPECT_EQ(shell_->init(params), controller_interface::return_type::OK);
    return shell_->configure().label();
  }

  bool activate() { return shell_->get_node()->activate().label() == "active"; }

  void update(double time, double period) {
    ASSERT_EQ(shell_->update(rclcpp::Time(static_cast<std::int64_t>(1e9 * time)),
                             rclcpp::Duration::from_seconds(period)),
              controller_interface::return_type::OK);
  }

  /// As the executor does: who calls back is kept, until it has.
  rclcpp::SubscriptionBase::SharedPtr subscription(const std::string& topic) {
    rclcpp::SubscriptionBase::SharedPtr match;
    const auto is_it = [&](const rclcpp::SubscriptionBase::SharedPtr& candidate) {
      return candidate->get_topic_name() == topic;
    };
    shell_->get_node()->get_node_base_interface()->for_each_callback_group(
        [&](const rclcpp::CallbackGroup::SharedPtr& group) {
          if (auto of_this = group->find_subscription_ptrs_if(is_it)) match = of_this;
        });
    return match;
  }

  /// The timer that prints the log.
  rclcpp::TimerBase::SharedPtr printing_timer() {
    rclcpp::TimerBase::SharedPtr timer;
    shell_->get_node()->get_node_base_interface()->for_each_callback_group(
        [&](const rclcpp::CallbackGroup::SharedPtr& group) {
          const auto is_slow = [](const rclcpp::TimerBase::SharedPtr& candidate) {
            return candidate->time_until_trigger() > std::chrono::milliseconds(100);
          };
          if (auto of_this = group->find_timer_ptrs_if(is_slow)) timer = of_this;
        });
    return timer;
  }

  template <class Message>
  static void receive(rclcpp::SubscriptionBase& subscription, const Message& message) {
    std::shared_ptr<void> copy = std::make_shared<Message>(message);
    subscription.handle_message(copy, rclcpp::MessageInfo());
  }

  std::unique_ptr<Shell> shell_ = std::make_unique<Shell>();
  std::vector<StateInterface::SharedPtr> states_;
  std::vector<CommandInterface::SharedPtr> commands_;
  std::vector<CommandInterface::SharedPtr> exported_;
};

TEST_F(ControllerShell, HandsOnNoTimeThatCannotHavePassed) {
  begin();
  ASSERT_TRUE(activate());
  update(100.0, 0.01);
  EXPECT_EQ(shell_->law->elapsed, 0.01);
  update(40.0, -60.0);
  EXPECT_EQ(shell_->law->elapsed, 1.0 / kRate);
  update(4000.0, 3960.0);
  EXPECT_EQ(shell_->law->elapsed, 1.0 / kRate);
}

TEST_F(ControllerShell, LetsAVelocityGoThoughTheClockIsSetBack) {
  begin();
  ASSERT_TRUE(activate());
  geometry_msgs::msg::TwistStamped twist;
  twist.twist.linear.x = 0.1;
  receive(*subscription("/law/reference_twist"), twist);
  update(5000.0, 0.01);
  ASSERT_TRUE(shell_->law->velocity);
  for (int k = 0; k < 40; ++k) update(1000.0 + 0.01 * k, 0.01);
  EXPECT_FALSE(shell_->law->velocity);
}

TEST_F(ControllerShell, SetsOnlyTheGainsThatAreChanged) {
  begin();
  ASSERT_TRUE(activate());
  auto& node = *shell_->get_node();
  shell_->law->settings.clear();
  node.set_parameter({"stiffness", 0.5});
  update(100.0, 0.01);
  EXPECT_EQ(shell_->law->stiffness, 10.0);  // refused
  EXPECT_EQ(shell_->law->settings.count("damping"), 0U);
  shell_->law->settings.clear();
  node.set_parameter({"damping", 2.0});
  update(100.01, 0.01);
  EXPECT_EQ(shell_->law->damping, 2.0);
  // As "ros2 param set" sends it; refused where the parameter is a number, but for the conversion.
  EXPECT_TRUE(node.set_parameter({"damping", 3}).successful);
  update(100.015, 0.005);
  EXPECT_EQ(shell_->law->damping, 3.0);
  EXPECT_EQ(shell_->law->settings.count("stiffness"), 0U);
}

TEST_F(ControllerShell, HoldsTheWeightOfAPayloadThatChangesWhileItRuns) {
  begin();
  ASSERT_TRUE(activate());
  auto& node = *shell_->get_node();
  update(1.0, 0.01);
  EXPECT_EQ(commands_[0]->get_optional(), 3.0);
  // All at once, as "ros2 param load" sets them: 0.5 kg at 0.1 m along x and 0.2 m along y.
  ASSERT_TRUE(node.set_parameters_atomically(
                      {{"payload.mass", 0.5}, {"payload.center.x", 0.1}, {"payload.center.y", 0.2}})
                  .successful);
  update(1.01, 0.01);
  // It comes into force with 2 kg/s.
  EXPECT_NEAR(*commands_[0]->get_optional(), 3.0 - 0.02 * 9.81 * 0.1, 1e-12);
  for (int k = 2; k < 40; ++k) update(1.0 + 0.01 * k, 0.01);
  // The shoulder turns about y, the elbow about x; the weight pulls along -z.
  EXPECT_NEAR(*commands_[0]->get_optional(), 3.0 - 0.5 * 9.81 * 0.1, 1e-12);
  EXPECT_NEAR(*commands_[1]->get_optional(), 3.0 + 0.5 * 9.81 * 0.2, 1e-12);
  EXPECT_FALSE(node.set_parameter({"payload.mass", -0.1}).successful);
  EXPECT_FALSE(node.set_parameter({"payload.center.z", 11.0}).successful);
  EXPECT_TRUE(node.set_parameter({"payload.mass", 0}).successful);  // an integer, as it is typed
  for (int k = 40; k < 80; ++k) update(1.0 + 0.01 * k, 0.01);
  EXPECT_EQ(commands_[0]->get_optional(), 3.0);
  EXPECT_EQ(commands_[1]->get_optional(), 3.0);
}

TEST_F(ControllerShell, HoldsTheWeightOfAPayloadInTheSafeOutputToo) {
  begin();
  ASSERT_TRUE(activate());
  auto& node = *shell_->get_node();
  for (int k = 0; k < 40; ++k) update(1.0 + 0.01 * k, 0.01);
  std::ignore = states_[1]->set_value(std::numeric_limits<double>::quiet_NaN());
  update(1.4, 0.01);
  const double unloaded = *commands_[0]->get_optional();
  std::ignore = states_[1]->set_value(0.0);
  node.set_parameter({"payload.mass", 0.5});
  node.set_parameter({"payload.center.x", 0.1});
  for (int k = 0; k < 100; ++k) update(1.5 + 0.01 * k, 0.01);
  std::ignore = states_[1]->set_value(std::numeric_limits<double>::quiet_NaN());
  update(2.5, 0.01);
  EXPECT_NEAR(*commands_[0]->get_optional() - unloaded, -0.5 * 9.81 * 0.1, 1e-9);
}

TEST_F(ControllerShell, ExertsAWrenchUntilItsTimeoutAndThenNone) {
  begin();
  ASSERT_TRUE(activate());
  geometry_msgs::msg::WrenchStamped message;
  message.wrench.force.z = -10.0;
  message.header.frame_id = "elsewhere";
  const auto wrench = subscription("/law/reference_wrench");
  receive(*wrench, message);
  update(1.0, 0.01);
  EXPECT_TRUE(shell_->law->wrenches.empty());  // refused
  message.header.frame_id = "world";
  receive(*wrench, message);
  for (int k = 1; k < 60; ++k) update(1.0 + 0.01 * k, 0.01);
  const auto& passed_wrenches = shell_->law->wrenches;
  ASSERT_EQ(passed_wrenches.size(), 26U);  // the 0.25 s of command_timeout, and then zero, once
  for (std::size_t k = 0; k < 25; ++k) EXPECT_EQ(passed_wrenches[k][2], -10.0);
  EXPECT_TRUE(passed_wrenches.back().isZero(0.0));
}

TEST_F(ControllerShell, LeadsTheEndEffectorByAPositionAndTheBaseByAPose) {
  geometry_msgs::msg::PoseStamped pose;
  pose.pose.orientation.w = 1.0;
  pose.pose.position.x = 0.4;
  geometry_msgs::msg::PointStamped point;
  point.point.x = 0.7;
  shell_->both = true;
  begin();
  ASSERT_TRUE(activate());
  receive(*subscription("/law/reference_pose"), pose);
  update(1.0, 0.01);
  ASSERT_TRUE(shell_->law->pose);
  EXPECT_FALSE(shell_->law->position);
  receive(*subscription("/law/reference_position"), point);
  update(1.01, 0.01);
  EXPECT_FALSE(shell_->law->pose);
  ASSERT_TRUE(shell_->law->position);
  EXPECT_EQ(shell_->law->position->x(), 0.7);
}

TEST_F(ControllerShell, IsCleanedUpWhileAMessageIsBeingReceived) {
  begin();
  const auto joints = subscription("/law/reference_joints");
  ASSERT_EQ(shell_->get_node()->cleanup().label(), "unconfigured");
  sensor_msgs::msg::JointState message;
  message.name = {"shoulder", "elbow"};
  message.position = {0.1, 0.2};
  receive(*joints, message);
}

TEST_F(ControllerShell, IsUnloadedWhileItIsAboutToPrint) {
  begin();
  const auto printing = printing_timer();
  ASSERT_TRUE(printing);
  shell_->get_node()->shutdown();
  shell_.reset();
  printing->execute_callback(nullptr);
}

TEST_F(ControllerShell, PrintsOnceWhyItHolds) {
  begin();
  ASSERT_TRUE(activate());
  static std::string printed;
  const auto handler = rcutils_logging_get_output_handler();
  rcutils_logging_set_output_handler([](const rcutils_log_location_t*, int, const char*,
                                        rcutils_time_point_value_t, const char* format,
                                        va_list* arguments) {
    std::array<char, 512> line{};
    std::vsnprintf(line.data(), line.size(), format, *arguments);
    printed += line.data();
  });
  std::ignore = states_.front()->set_value(std::numeric_limits<double>::quiet_NaN());
  for (int k = 0; k < 3; ++k) update(100.0 + 0.01 * k, 0.01);
  for (int k = 0; k < 2; ++k) printing_timer()->execute_callback(nullptr);
  rcutils_logging_set_output_handler(handler);
  EXPECT_EQ(printed.rfind("holding: "), 0U) << printed;
  EXPECT_EQ(printed.find("holding: ", 1), std::string::npos) << printed;
  EXPECT_GT(printed.size(), 20U);
}

TEST_F(ControllerShell, CommandsFromTheCycleOnInWhichItBegins) {
  begin();
  // Of the controller before it, which let go: for a cycle this would act.
  for (auto& candidate : commands_) std::ignore = candidate->set_value(0.0);
  ASSERT_TRUE(activate());
  for (const auto& candidate : commands_) EXPECT_EQ(candidate->get_optional(), 3.0);
}

TEST_F(ControllerShell, TakesEachGroupOfReferencesFromWhoCommandsIt) {
  begin();
  ASSERT_TRUE(shell_->set_chained_mode(true));
  ASSERT_TRUE(activate());
  const auto set = [this](const std::string& ending, double value) {
    for (auto& candidate : exported_) {
      const auto& name = candidate->get_name();
      if (name.size() >= ending.size() &&
          name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
        std::ignore = candidate->set_value(value);
      }
    }
  };
  const auto pose = subscription("/law/reference_pose");
  ASSERT_NE(pose, nullptr);
  geometry_msgs::msg::PoseStamped message;
  message.pose.orientation.w = 1.0;
  message.pose.position.x = 0.4;

  // The preceding controller commands the joints alone: the pose of the topic has its effect.
  const auto n = shell_->command_interface_configuration().names.size();
  for (auto k = exported_.size() - n; k < exported_.size(); ++k)
    std::ignore = exported_[k]->set_value(0.1);
  update(0.01, 0.01);
  receive(*pose, message);
  update(0.02, 0.01);
  ASSERT_TRUE(shell_->law->position);
  EXPECT_EQ(shell_->law->position->x(), 0.4);
  EXPECT_EQ(shell_->law->joints, Eigen::VectorXd::Constant(static_cast<Eigen::Index>(n), 0.1));

  // It commands the position as well: from then on the topic has none, and that is said.
  for (const char* name : {"position.x", "position.y", "position.z"}) set(name, 0.7);
  update(0.03, 0.01);
  // Another test may have been warned: warnings come once a second at most.
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  testing::internal::CaptureStderr();
  receive(*pose, message);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("pose from a topic, because a preceding controller"));
  update(0.04, 0.01);
  ASSERT_TRUE(shell_->law->position);
  EXPECT_EQ(shell_->law->position->x(), 0.7);
}

// A law at rest writes the same number for ever, the last step to which may be the least there is.
TEST(TimedCommand, SeesWhatIsWrittenAgainWhateverItIs) {
  constexpr double kPeriod = 0.01, kTimeout = 0.1,
                   kInfinity = std::numeric_limits<double>::infinity();
  for (const double start : {0.0, -0.0, 0.3, -7.0, 87.0, 5e-324, -5e-324}) {
    for (const double end : {-kInfinity, kInfinity}) {
      auto handle = std::make_shared<CommandInterface>("joint", "effort");
      vms_ph_ros2_control::TimedCommand command(handle);
      double value = start;
      for (int step = 0; step < 4; ++step, value = std::nextafter(value, end)) {
        std::ignore = handle->set_value(value);
        EXPECT_NEAR(command.read(kPeriod, kTimeout), value, 1e-13);
        for (int k = 0; k < 40; ++k) {
          std::ignore = handle->set_value(value);
          EXPECT_NEAR(command.read(kPeriod, kTimeout), value, 1e-13);
        }
      }
      for (int k = 0; k < 9; ++k) EXPECT_TRUE(std::isfinite(command.read(kPeriod, kTimeout)));
      for (int k = 0; k < 9; ++k) std::ignore = command.read(kPeriod, kTimeout);
      EXPECT_TRUE(std::isnan(command.read(kPeriod, kTimeout)));
    }
  }
}

TEST_F(ControllerShell, CommandsTheReferencesOfAGuardThatFollowsIt) {
  begin("floating", "double", "guard");
  ASSERT_GT(commands_.size(), 6U);
  EXPECT_EQ(commands_.back()->get_interface_name(), "guard/base/torque.z");
  for (const auto& command : commands_)
    EXPECT_EQ(command->get_interface_name().rfind("guard/", 0), 0U);
}

TEST_F(ControllerShell, CommandsServosToWhereTheirSpringsGiveItsTorques) {
  begin("fixed", "double", "", {20.0, 50.0});
  EXPECT_EQ(commands_[0]->get_interface_name(), "shoulder/position");
  std::ignore = states_[0]->set_value(0.2);   // of the shoulder
  std::ignore = states_[2]->set_value(-9.0);  // of the elbow, an endless joint
  ASSERT_TRUE(activate());
  update(1.0, 0.01);
  EXPECT_NEAR(*commands_[0]->get_optional(), 0.2 + 3.0 / 20.0, 1e-12);
  EXPECT_NEAR(*commands_[1]->get_optional(), -9.0 + 3.0 / 50.0, 1e-12);
  std::ignore = states_[0]->set_value(1.7);  // a jump that is not believed
  update(1.01, 0.01);
  EXPECT_NEAR(*commands_[0]->get_optional(), 0.2 + 3.0 / 20.0, 1e-12);
  std::ignore = states_[0]->set_value(std::numeric_limits<double>::quiet_NaN());
  update(1.01, 0.01);
  EXPECT_NEAR(*commands_[0]->get_optional(), 0.2 + 3.0 / 20.0, 1e-12);
  shell_->get_node()->deactivate();  // an effort would become zero
  EXPECT_NEAR(*commands_[0]->get_optional(), 0.2 + 3.0 / 20.0, 1e-12);
}

TEST_F(ControllerShell, KeepsDesiredPositionsOfServosWithinTheJointLimitsAndCarriesTheWeightThere) {
  begin("fixed", "double", "", {20.0, 50.0});
  vms_ph::Evaluation robot(*shell_->law->robot);
  const auto carrying_offset = [&](double shoulder) {
    Eigen::VectorXd q = robot.model().neutral_configuration();
    q[0] = shoulder;
    q.tail<2>() << std::cos(-9.0), std::sin(-9.0);
    robot.set(q, Eigen::Vector2d::Zero());
    return robot.g()[0] / 20.0;
  };
  std::ignore = states_[0]->set_value(2.45);  // of the shoulder, whose limit is 2.5 rad
  std::ignore = states_[2]->set_value(-9.0);  // of the elbow, an endless joint
  ASSERT_TRUE(activate());
  update(1.0, 0.01);
  EXPECT_GT(std::abs(carrying_offset(2.45)), 0.01);
  EXPECT_NEAR(*commands_[0]->get_optional(), 2.5 + carrying_offset(2.45), 1e-12);
  EXPECT_NEAR(*commands_[1]->get_optional(), -9.0 + 3.0 / 50.0, 1e-12);
  std::ignore = states_[0]->set_value(2.51);  // beyond it: carried there, not pulled in
  update(1.01, 0.01);
  EXPECT_NEAR(*commands_[0]->get_optional(), 2.51 + carrying_offset(2.51), 1e-12);
  shell_->get_node()->set_parameters_atomically({{"payload.mass", 0.5}, {"payload.center.x", 0.1}});
  for (int k = 2; k < 40; ++k) update(1.0 + 0.01 * k, 0.01);
  // The centre of mass is 0.25 m above the shoulder where that is at zero, and 0.1 m beside it.
  const double lever = 0.1 * std::cos(2.51) + 0.25 * std::sin(2.51);
  const double payload_offset = -0.5 * 9.81 * lever / 20.0;
  EXPECT_NEAR(*commands_[0]->get_optional(), 2.51 + carrying_offset(2.51) + payload_offset, 1e-12);
}

TEST_F(ControllerShell, GivesItsLawTheWrenchOfASensor) {
  begin("fixed", "double", "", {}, "tool");
  ASSERT_EQ(states_.size(), 10U);
  EXPECT_EQ(states_[4]->get_interface_name(), "tool/force.x");
  for (std::size_t i = 0; i < 6; ++i) std::ignore = states_[4 + i]->set_value(double(i) - 2.0);
  ASSERT_TRUE(activate());
  update(1.0, 0.01);
  for (Eigen::Index i = 0; i < 6; ++i)
    EXPECT_EQ(shell_->law->measured_wrench[i], static_cast<double>(i) - 2.0);
  std::ignore = states_[4]->set_value(std::numeric_limits<double>::quiet_NaN());
  update(1.01, 0.01);  // the sensor is lost, not the arm
  EXPECT_TRUE(std::isnan(shell_->law->measured_wrench[0]));
  EXPECT_EQ(commands_[0]->get_optional(), 3.0);
}

TEST_F(ControllerShell, BeginsOnlyFromAnOrientationThatWasMeasured) {
  begin("floating");
  EXPECT_FALSE(activate());  // all four numbers of the quaternion are still zero
}

TEST_F(ControllerShell, BeginsOnlyWithInterfacesThatAreDoubles) {
  begin("fixed", "float32");
  EXPECT_FALSE(activate());
}

TEST_F(ControllerShell, RefusesHardwareThatNeverSendsItsEfforts) {
  std::string description = flying_arm("fixed");
  description.insert(
      description.rfind("</robot>"),
      "<ros2_control name='arm' type='system'><hardware>"
      "<plugin>kortex_driver/KortexMultiInterfaceHardware</plugin></hardware></ros2_control>");
  EXPECT_EQ(configure(description), "unconfigured");
}

TEST_F(ControllerShell, LocksJointsThatNoHardwareMovesByEfforts) {
  std::string description = flying_arm("fixed");
  const std::string elbow = "<joint name='elbow'>", effort = "<command_interface name='effort'/>";
  const auto place = description.find(elbow + effort);
  ASSERT_NE(place, std::string::npos);
  description.erase(place + elbow.size(), effort.size());
  EXPECT_EQ(configure(description), "inactive");
  EXPECT_THAT(shell_->command_interface_configuration().names,
              testing::ElementsAre("shoulder/effort"));
  EXPECT_THAT(shell_->state_interface_configuration().names,
              testing::ElementsAre("shoulder/position", "shoulder/velocity"));
}

TEST_F(ControllerShell, RefusesAJointWithoutEffortsThatCarriesOthers) {
  std::string description = flying_arm("fixed");
  const std::string shoulder = "<joint name='shoulder'>",
                    effort = "<command_interface name='effort'/>";
  const auto place = description.find(shoulder + effort);
  ASSERT_NE(place, std::string::npos);
  description.erase(place + shoulder.size(), effort.size());
  EXPECT_EQ(configure(description), "unconfigured");
}

}  // namespace
