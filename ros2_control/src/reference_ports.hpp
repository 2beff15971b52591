// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// References of a controller: from interfaces where chained, from topics otherwise.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <geometry_msgs/msg/point_stamped.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <hardware_interface/handle.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <sensor_msgs/msg/joint_state.hpp>

#include "cartesian_trajectory.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Poses, velocities and joints come from the interfaces if a preceding controller commands one of
/// their numbers, else from the topics; a message that has no effect is reported in the log. Poses
/// also come from trajectories, until another pose comes.
///
/// NaN in an interface means: no command. A position needs its three, a pose its seven, a velocity
/// its three or six numbers, and the joints all of them; otherwise that part is absent. A position
/// and a wrench come from topics alone; a wrench that is too old becomes zero, once.
class ReferencePorts {
 public:
  /// @param timeout       after which a velocity or a wrench from a topic no longer acts, s.
  /// @param frame_prefix  of the robot's frames in /tf.
  /// @param pose_is_of_base  whether a pose is that of the base alone, while a position is that of
  ///                      the end effector.
  ReferencePorts(rclcpp_lifecycle::LifecycleNode::SharedPtr node, const vms_ph::Model& model,
                 double timeout, const std::string& frame_prefix, bool pose_is_of_base = false);

  /// The interfaces for preceding controllers; NaN until one writes.
  std::vector<hardware_interface::CommandInterface::SharedPtr> create_interfaces();

  /// End the trajectory that is followed, for a reason of static storage.
  void end_trajectory(const char* reason) noexcept { trajectory_server_.end_goal(reason); }

  /// Discard what was received and set NaN everywhere.
  void clear() noexcept;

  /// Read messages since the last call: a pose once, a velocity or a wrench until it is too old.
  ///
  /// @param elapsed_time  of the loop since the last call, s, whatever clocks do.
  void read_topics(double elapsed_time) noexcept;
  /// Read the values that a preceding controller wrote, in place of those from topics.
  void read_interfaces() noexcept;

  /// The reference, for a robot at this configuration; a trajectory advances by the time dt, s.
  const vms_ph::Reference& reference(const Eigen::VectorXd& q, double dt) noexcept;

 private:
  enum Topic : std::size_t {
    kPoseTopic,
    kPositionTopic,
    kTwistTopic,
    kJointsTopic,
    kWrenchTopic,
    kTopicCount
  };
  struct ReferenceSample {
    std::array<std::uint64_t, kTopicCount> counts{};  ///< of messages
    Eigen::Matrix<double, 7, 1> pose = Eigen::Matrix<double, 7, 1>::Constant(vms_ph::kNaN);
    Eigen::Matrix<double, 6, 1> twist = Eigen::Matrix<double, 6, 1>::Constant(vms_ph::kNaN);
    bool twist_is_in_base_axes = false;
    Eigen::Vector3d position = Eigen::Vector3d::Zero();
    Eigen::Matrix<double, 6, 1> wrench = Eigen::Matrix<double, 6, 1>::Zero();
    Eigen::VectorXd joints;
  };

  struct Inbox;

  /// Subscribe to a topic, whose messages an inbox receives.
  template <class Message>
  void subscribe(const char* topic, void (Inbox::*receive)(const Message&));

  rclcpp_lifecycle::LifecycleNode::SharedPtr node_;
  vms_ph::Base base_;
  std::vector<std::string> joint_names_;
  double timeout_;
  bool pose_is_of_base_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces_;
  Eigen::VectorXd setpoints_;  ///< pose, twist, joints
  bool twist_is_in_base_axes_ = true;
  std::shared_ptr<Inbox> inbox_;  ///< shared with the callbacks, which may outlive the ports
  ReferenceSample sample_;        ///< copy used by the control loop
  CartesianTrajectoryServer trajectory_server_;
  std::array<std::uint64_t, kTopicCount> read_counts_{};  ///< of the messages that were read
  double twist_age_ = 0.0, wrench_age_ = 0.0;             ///< s
  vms_ph::Reference reference_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;
};

}  // namespace vms_ph_ros2_control
