// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Trajectories of poses: the action ~/follow_cartesian_trajectory of a controller.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rclcpp_lifecycle/lifecycle_node.hpp>

#include "measured_pose.hpp"

namespace vms_ph_ros2_control {

/// Serves FollowCartesianTrajectory; the control loop asks for the reference in every update.
///
/// Callbacks of the node take goals, send feedback and results. The loop follows the newest goal.
class CartesianTrajectoryServer {
 public:
  /// @param measured_pose  of what the trajectories move.
  /// @param frame          the inertial frame, as in /tf.
  /// @param accepts_frame  whether a trajectory in a frame can be taken now; it logs why not.
  CartesianTrajectoryServer(rclcpp_lifecycle::LifecycleNode::SharedPtr node,
                            MeasuredPose measured_pose, const std::string& frame,
                            const std::function<bool(const std::string&)>& accepts_frame);

  /// The reference after a time step (s), for a robot at this configuration; null without a goal.
  /// Where a goal is given up, it is the measured pose. Neither blocks nor allocates.
  const PosePoint* advance(const Eigen::VectorXd& q, double dt) noexcept;

  /// End the goal that is followed, for a reason of static storage, with a code of the result.
  void end_goal(const char* reason, std::int32_t error_code = -1) noexcept;

  /// Take no goals until the next advance().
  void stop() noexcept;

 private:
  struct Goal;
  struct Goals;

  MeasuredPose measured_pose_;
  std::shared_ptr<Goals> goals_;  ///< shared with the callbacks, which may outlive the server
  Goal* active_goal_ = nullptr;   ///< kept in goals_ until it has ended
  PosePoint desired_pose_;
  std::shared_ptr<void> action_server_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace vms_ph_ros2_control
