// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A wrench that pushes a simulated robot, from a topic.
#pragma once

#include <cstdint>
#include <memory>

#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp/logging.hpp>
#include <rclcpp/node.hpp>

#include "measured_pose.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/tree.hpp"

namespace vms_ph_ros2_control {

/// The wrench of surroundings on the end effector, as the simulator node takes it: at its origin,
/// in the axes of the end effector, the root link or `world`, for some time after each message.
class ExternalWrench {
 public:
  /// @param timeout  for which a message acts, s.
  ExternalWrench(const vms_ph::Model& model, double timeout);
  ~ExternalWrench();

  /// Subscribe to `~/wrench_end_effector` of a node. Messages that name another frame, are not
  /// finite, or are beyond twenty times the robot's weight are reported in its log and ignored.
  void subscribe(rclcpp::Node& node);

  /// From now on nothing acts until the next message.
  void clear() noexcept;

  /// Take over the newest message; to be called once in every cycle. Does not allocate or block.
  ///
  /// @param q       configuration in which axes of the surroundings are turned into those of the
  ///                end effector, in which the wrench is then held.
  /// @param elapsed_time  time of the loop since the last call, s.
  void update(const Eigen::VectorXd& q, double elapsed_time) noexcept;

  /// Whether a wrench acts.
  bool is_active() const noexcept { return age_ < timeout_; }
  /// It, in the axes of the end effector, N and N m; zero when none acts.
  const vms_ph::Screw& wrench() const noexcept { return wrench_; }

 private:
  enum class Axes : unsigned char { end_effector, root, world };
  struct WrenchSample {
    std::uint64_t message_count = 0;
    vms_ph::Screw wrench;
    Axes axes = Axes::end_effector;
  };
  struct Inbox;

  vms_ph::Model model_;
  MeasuredPose end_effector_pose_;
  double timeout_, age_;
  WrenchSample sample_;  ///< copy used by the loop
  vms_ph::Screw wrench_;
  std::shared_ptr<Inbox> inbox_;  ///< shared with the callback, which may outlive this
  rclcpp::Subscription<geometry_msgs::msg::WrenchStamped>::SharedPtr subscription_;
};

}  // namespace vms_ph_ros2_control
