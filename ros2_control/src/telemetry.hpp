// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Energy and power of a controller, published from the control loop.
#pragma once

#include <string>

#include <geometry_msgs/msg/pose_stamped.hpp>
#include <vms_ph/msg/controller_state.hpp>
#include <vms_ph/msg/energy.hpp>
#include <vms_ph/msg/power.hpp>

#include "measured_pose.hpp"
#include "publishing.hpp"
#include "vms_ph_native/energy_split.hpp"

namespace vms_ph_ros2_control {

/// Fill a message with energies, all but its header.
void fill(vms_ph::msg::Energy& message, const vms_ph::Energies& energies) noexcept;

/// Publishes ~/state, ~/energy and ~/power, see vms_ph/msg, and ~/pose.
class Telemetry {
 public:
  /// @param frame     the inertial frame, as in /tf.
  /// @param rate      of the topics, Hz.
  /// @param has_friction  whether the friction of the URDF acts.
  /// @param pose_is_of_base  as of ~/reference_pose; otherwise ~/pose is of the end effector.
  Telemetry(rclcpp_lifecycle::LifecycleNode::SharedPtr node, const vms_ph::Model& model,
            const std::string& frame, double rate, bool has_friction, bool pose_is_of_base);

  /// Restart the audit.
  void reset() noexcept;

  /// Add an update to the energy balance, and publish when due; neither blocks nor allocates.
  void add(const builtin_interfaces::msg::Time& stamp, const vms_ph::RobotState& state,
           const vms_ph::Command& command) noexcept;

 private:
  void publish_state(const vms_ph::Command& command) noexcept;
  void publish_pose(const Eigen::VectorXd& q) noexcept;
  void publish_power(const vms_ph::PowerBalance& balance, const vms_ph::Command& command) noexcept;

  MeasuredPose measured_pose_;
  vms_ph::EnergySplit energy_split_;
  vms_ph::PowerAudit power_audit_;
  Sampling sampling_;
  vms_ph::Command last_command_;
  bool has_last_command_ = false;
  double last_time_ = 0.0;
  vms_ph::msg::ControllerState state_msg_;
  vms_ph::msg::Energy energy_msg_;
  vms_ph::msg::Power power_msg_;
  geometry_msgs::msg::PoseStamped pose_msg_;
  SizedPublisher<vms_ph::msg::ControllerState> state_publisher_;
  SizedPublisher<vms_ph::msg::Energy> energy_publisher_;
  SizedPublisher<vms_ph::msg::Power> power_publisher_;
  SizedPublisher<geometry_msgs::msg::PoseStamped> pose_publisher_;
};

}  // namespace vms_ph_ros2_control
