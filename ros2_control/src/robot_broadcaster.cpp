// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/RobotBroadcaster: the topics of the simulator node, from state interfaces.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <nav_msgs/msg/odometry.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <rosgraph_msgs/msg/clock.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <tf2_msgs/msg/tf_message.hpp>
#include <vms_ph/msg/port_energy.hpp>
#include <vms_ph/robot_broadcaster_parameters.hpp>

#include "broadcaster.hpp"
#include "interface_names.hpp"
#include "measured_pose.hpp"

namespace vms_ph_ros2_control {

constexpr double kMaxResets = std::numeric_limits<std::uint32_t>::max();

/// Publishes joint_states, and of a moving base odom and /tf, and of a simulated robot
/// vms_ph/port_energy: all of one instant under one stamp, as energy audits require. The stamps
/// are /clock too, where nodes keep simulated time.
class RobotBroadcaster final : public Broadcaster<robot_broadcaster::ParamListener> {
 public:
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State&) override {
    joint_publisher_.reset();
    odometry_publisher_.reset();
    transform_publisher_.reset();
    energy_publisher_.reset();
    clock_publisher_.reset();
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration state_interface_configuration() const override {
    auto configuration = Broadcaster::state_interface_configuration();
    for (const auto& name : command_interface_names(*model_)) configuration.names.push_back(name);
    if (!port_energy_name_.empty()) {
      for (const char* name : kPortEnergyNames)
        configuration.names.push_back(port_energy_name_ + "/" + name);
    }
    return configuration;
  }

  return_type update(const rclcpp::Time& time, const rclcpp::Duration&) override {
    const auto& state = reader_->read(state_interfaces_);
    const auto optional_stamp = reader_->stamp_or(time);
    if (!optional_stamp || !sampling_->begin_sample_if_due(*optional_stamp)) return return_type::OK;
    const auto& stamp = *optional_stamp;
    if (clock_publisher_) {
      clock_.clock = stamp;
      clock_publisher_->try_publish(clock_);
    }
    // The joint states are published last: a subscriber that pairs by stamp then has the others.
    if (energy_publisher_) publish_port_energy(stamp);
    if (odometry_publisher_) publish_base(stamp, state);
    publish_joints(stamp);
    return return_type::OK;
  }

 private:
  void set_up(const Params& p) override {
    set_robot(lock_uncontrolled_joints({get_robot_description(), p.base, "", p.locked_joints}), p);
    base_pose_ = std::make_unique<MeasuredPose>(*model_, true);
    port_energy_name_ = p.port_energy_name;
    prepare_messages(p.frame_prefix);
    auto& node = *get_node();
    joint_publisher_ = make_publisher(node, "joint_states", joint_state_);
    if (model_->b() > 0) {
      odometry_publisher_ = make_publisher(node, "odom", odometry_);
      if (p.publish_tf) transform_publisher_ = make_publisher(node, "/tf", transform_);
    }
    if (!port_energy_name_.empty())
      energy_publisher_ = make_publisher(node, "vms_ph/port_energy", port_energy_);
    if (p.publish_clock) clock_publisher_ = make_publisher(node, "/clock", clock_);
  }

  void prepare_messages(const std::string& prefix) {
    const auto n = static_cast<std::size_t>(model_->n());
    joint_state_.name = model_->joint_names();
    joint_state_.position.resize(n);
    joint_state_.velocity.resize(n);
    joint_state_.effort.resize(n);
    odometry_.header.frame_id = prefix + inertial_frame(*model_);
    odometry_.child_frame_id = prefix + root_link(*model_);
    transform_.transforms.resize(1);
    transform_.transforms[0].header.frame_id = odometry_.header.frame_id;
    transform_.transforms[0].child_frame_id = odometry_.child_frame_id;
  }

  void publish_port_energy(const builtin_interfaces::msg::Time& stamp) noexcept {
    const std::size_t first_index = reader_->interface_names().size() + joint_state_.name.size();
    const double resets = state_value(first_index + 4);
    if (!(resets >= 0.0 && resets <= kMaxResets))
      return;  // not read yet, or not a valid number of a start
    port_energy_.header.stamp = stamp;
    port_energy_.torque = state_value(first_index);
    port_energy_.wrench_base = state_value(first_index + 1);
    port_energy_.wrench_end_effector = state_value(first_index + 2);
    port_energy_.dissipated = state_value(first_index + 3);
    port_energy_.resets = static_cast<std::uint32_t>(resets);
    energy_publisher_->try_publish(port_energy_);
  }

  void publish_base(const builtin_interfaces::msg::Time& stamp,
                    const vms_ph::RobotState& state) noexcept {
    const PosePoint base_pose = base_pose_->at(state.q);
    auto& twist = odometry_.twist.twist;
    odometry_.header.stamp = stamp;
    set_pose(odometry_.pose.pose, base_pose);
    if (model_->b() == 3) {
      twist.linear.x = state.v[0];
      twist.linear.y = state.v[1];
      twist.angular.z = state.v[2];
    } else {
      set_vector(twist.linear, state.v.head<3>());
      set_vector(twist.angular, state.v.segment<3>(3));
    }
    odometry_publisher_->try_publish(odometry_);
    if (!transform_publisher_) return;
    auto& base_transform = transform_.transforms[0];
    base_transform.header.stamp = stamp;
    set_vector(base_transform.transform.translation, base_pose.position);
    base_transform.transform.rotation = odometry_.pose.pose.orientation;
    transform_publisher_->try_publish(transform_);
  }

  void publish_joints(const builtin_interfaces::msg::Time& stamp) noexcept {
    const std::size_t first_effort = reader_->interface_names().size();
    joint_state_.header.stamp = stamp;
    for (std::size_t i = 0; i < joint_state_.name.size(); ++i) {
      joint_state_.position[i] = state_value(2 * i);
      joint_state_.velocity[i] = state_value(2 * i + 1);
      joint_state_.effort[i] = state_value(first_effort + i);
    }
    joint_publisher_->try_publish(joint_state_);
  }

  std::unique_ptr<MeasuredPose> base_pose_;
  std::string port_energy_name_;
  sensor_msgs::msg::JointState joint_state_;
  nav_msgs::msg::Odometry odometry_;
  tf2_msgs::msg::TFMessage transform_;
  vms_ph::msg::PortEnergy port_energy_;
  rosgraph_msgs::msg::Clock clock_;
  SizedPublisher<sensor_msgs::msg::JointState> joint_publisher_;
  SizedPublisher<nav_msgs::msg::Odometry> odometry_publisher_;
  SizedPublisher<tf2_msgs::msg::TFMessage> transform_publisher_;
  SizedPublisher<vms_ph::msg::PortEnergy> energy_publisher_;
  SizedPublisher<rosgraph_msgs::msg::Clock> clock_publisher_;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::RobotBroadcaster,
                       controller_interface::ControllerInterface)
