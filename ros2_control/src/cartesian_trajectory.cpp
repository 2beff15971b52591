// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "cartesian_trajectory.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include <rclcpp_action/rclcpp_action.hpp>
#include <vms_ph/action/follow_cartesian_trajectory.hpp>

namespace vms_ph_ros2_control {
namespace {

using Action = vms_ph::action::FollowCartesianTrajectory;
using GoalHandle = rclcpp_action::ServerGoalHandle<Action>;

// Where a goal names no tolerances: m, rad, s.
constexpr double kDefaultGoalDistance = 0.02, kDefaultGoalAngle = 0.1, kDefaultGoalTime = 10.0;

constexpr std::chrono::milliseconds kFeedbackPeriod(50);
constexpr std::size_t kMaxPoses = 100'000;  // of a goal
constexpr double kMinStep = 1e-4;           // between its poses, s

double seconds_of(const builtin_interfaces::msg::Duration& duration) {
  return duration.sec + 1e-9 * duration.nanosec;
}

// What a trajectory lacks; empty for a valid one.
std::string problem_of(const Action::Goal& goal) {
  const auto& times = goal.time_from_start;
  if (times.empty() || times.size() > kMaxPoses || goal.poses.size() != times.size()) {
    return "1 to 100000 poses, and a time for each; given: " + std::to_string(goal.poses.size()) +
           " poses and " + std::to_string(times.size()) + " times";
  }
  double last_time = 0.0;  // of the pose before, the first of which is the measured one
  for (std::size_t k = 0; k < times.size(); ++k) {
    const bool has_pose = pose_of(goal.poses[k]).has_value();
    const char* requirement = has_pose ? "times of 0, or 0.1 ms or more after now and one another"
                                       : "finite poses with orientations of length 1";
    const double time = seconds_of(times[k]), step = time - std::exchange(last_time, time);
    if (!has_pose || !(step >= (1.0 - 1e-6) * kMinStep || (k == 0 && time == 0.0)))
      return std::string(requirement) + "; not so: that at index " + std::to_string(k);
  }
  for (const double tolerance : {goal.goal_position_tolerance, goal.goal_orientation_tolerance,
                                 goal.path_position_tolerance, goal.path_orientation_tolerance}) {
    if (!(tolerance >= 0.0)) return "tolerances of zero or more";
  }
  return {};
}

}  // namespace

// A trajectory that is followed; the control loop writes what is below the times.
struct CartesianTrajectoryServer::Goal {
  explicit Goal(std::shared_ptr<GoalHandle> goal_handle) : handle(std::move(goal_handle)) {
    const auto& goal = *handle->get_goal();
    starts_at_robot = seconds_of(goal.time_from_start.front()) > 0.0;
    if (starts_at_robot) times.push_back(0.0), poses.emplace_back();
    for (const auto& time : goal.time_from_start) times.push_back(seconds_of(time));
    for (const auto& pose : goal.poses) poses.push_back(pose_of(pose).value());
    const auto or_default = [](double x, double default_x) { return x > 0.0 ? x : default_x; };
    max_goal_distance = or_default(goal.goal_position_tolerance, kDefaultGoalDistance);
    max_goal_angle = or_default(goal.goal_orientation_tolerance, kDefaultGoalAngle);
    max_path_distance = or_default(goal.path_position_tolerance, HUGE_VAL);
    max_path_angle = or_default(goal.path_orientation_tolerance, HUGE_VAL);
    deadline = times.back() + or_default(seconds_of(goal.goal_time_tolerance), kDefaultGoalTime);
  }

  PosePoint pose_at(double t) const noexcept {
    const auto next = std::upper_bound(times.begin() + 1, times.end(), t);
    if (next == times.end()) return poses.back();
    const auto next_pose = poses.begin() + (next - times.begin());
    const PosePoint &start = *(next_pose - 1), &end = *next_pose;
    const double duration = *next - *(next - 1), share = (t - *(next - 1)) / duration;
    const Eigen::Vector3d displacement = end.position - start.position;
    return {start.position + share * displacement, start.orientation.slerp(share, end.orientation),
            displacement / duration};
  }

  void end(std::int32_t code, const char* text) noexcept {
    error_code = code;
    reason = text;
    has_ended = true;
  }

  const std::shared_ptr<GoalHandle> handle;
  std::atomic<bool> is_cancel_requested{false};
  double max_goal_distance, max_goal_angle, max_path_distance, max_path_angle;  // m and rad
  double deadline;                                                              // s
  std::vector<double> times;                                                    // s
  std::vector<PosePoint> poses;
  bool starts_at_robot;       // whether the first pose is the measured one, not known yet
  double elapsed_time = 0.0;  // s
  std::mutex feedback_mutex;
  Action::Feedback feedback;
  std::int32_t error_code = Action::Result::INVALID_GOAL;
  const char* reason = "";
  std::atomic<bool> has_ended{false};  // written last
};

// The goals that have no result yet, the newest one last.
struct CartesianTrajectoryServer::Goals {
  // Send feedback, and the results of goals that have ended.
  void report(const rclcpp::Time& now) {
    std::vector<std::shared_ptr<Goal>> ended_goals, active_goals;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      for (const auto& goal : goals) {
        goal->is_cancel_requested = goal->handle->is_canceling();
        if (!is_loop_running && !goal->has_ended) {
          goal->end(Action::Result::INVALID_GOAL, "the controller is not active");
        }
        (goal->has_ended ? ended_goals : active_goals).push_back(goal);
      }
      goals = active_goals;
    }
    for (const auto& goal : ended_goals) try_to_send([&] { send_result(*goal); });
    for (const auto& goal : active_goals) try_to_send([&] { send_feedback(*goal, now); });
  }

  // Where a client went, or ROS shuts down, the other goals still have their turn.
  static void try_to_send(const std::function<void()>& send) {
    try {
      send();
    } catch (const rclcpp::exceptions::RCLErrorBase&) {
    }
  }

  static void send_result(Goal& goal) {
    const auto message = std::make_shared<Action::Result>();
    message->error_code = goal.error_code;
    message->error_string =
        std::string(goal.reason) + "; " + std::to_string(goal.feedback.position_error) + " m and " +
        std::to_string(goal.feedback.orientation_error) + " rad from the reference";
    if (goal.error_code == Action::Result::SUCCESSFUL) return goal.handle->succeed(message);
    goal.handle->is_canceling() ? goal.handle->canceled(message) : goal.handle->abort(message);
  }

  static void send_feedback(Goal& goal, const rclcpp::Time& now) {
    const std::lock_guard<std::mutex> lock(goal.feedback_mutex);
    const auto message = std::make_shared<Action::Feedback>(goal.feedback);
    message->header.stamp = now;
    goal.handle->publish_feedback(message);
  }

  std::atomic<bool> is_loop_running{false};  // whether the loop follows goals
  std::mutex mutex;                          // of the list
  std::vector<std::shared_ptr<Goal>> goals;
};

CartesianTrajectoryServer::CartesianTrajectoryServer(
    rclcpp_lifecycle::LifecycleNode::SharedPtr node, MeasuredPose measured_pose,
    const std::string& frame, const std::function<bool(const std::string&)>& accepts_frame)
    : measured_pose_(std::move(measured_pose)), goals_(std::make_shared<Goals>()) {
  const auto on_goal = [goals = goals_, accepts_frame, logger = node->get_logger()](
                           const rclcpp_action::GoalUUID&,
                           const std::shared_ptr<const Action::Goal>& goal) {
    const auto problem = goals->is_loop_running ? problem_of(*goal) : "a controller that is active";
    if (!problem.empty()) RCLCPP_ERROR(logger, "a trajectory needs %s", problem.c_str());
    const bool is_accepted = problem.empty() && accepts_frame(goal->header.frame_id);
    return is_accepted ? rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE
                       : rclcpp_action::GoalResponse::REJECT;
  };
  const auto on_cancel = [](const auto&) { return rclcpp_action::CancelResponse::ACCEPT; };
  const auto on_accepted = [goals = goals_, frame](const std::shared_ptr<GoalHandle>& handle) {
    auto goal = std::make_shared<Goal>(handle);
    goal->feedback.header.frame_id = frame;
    const std::lock_guard<std::mutex> lock(goals->mutex);
    goals->goals.push_back(std::move(goal));
  };
  action_server_ = rclcpp_action::create_server<Action>(node, "~/follow_cartesian_trajectory",
                                                        on_goal, on_cancel, on_accepted);
  timer_ = node->create_wall_timer(kFeedbackPeriod, [goals = goals_, clock = node->get_clock()] {
    goals->report(clock->now());
  });
}

const PosePoint* CartesianTrajectoryServer::advance(const Eigen::VectorXd& q, double dt) noexcept {
  goals_->is_loop_running = true;
  const std::unique_lock<std::mutex> lock(goals_->mutex, std::try_to_lock);
  if (lock && !goals_->goals.empty()) {
    Goal* const newest_goal = goals_->goals.back().get();
    if (newest_goal != active_goal_ && !newest_goal->has_ended) {
      for (const auto& goal : goals_->goals) {
        if (goal.get() == newest_goal || goal->has_ended) continue;
        goal->end(Action::Result::INVALID_GOAL, "another trajectory replaces it");
      }
      active_goal_ = newest_goal;
    }
  }
  if (active_goal_ == nullptr || !q.allFinite()) return nullptr;
  Goal& goal = *active_goal_;
  const PosePoint actual_pose = measured_pose_.at(q);
  if (std::exchange(goal.starts_at_robot, false)) goal.poses.front() = actual_pose;
  goal.elapsed_time += dt;
  desired_pose_ = goal.pose_at(goal.elapsed_time);
  const double distance = (actual_pose.position - desired_pose_.position).norm();
  const double angle = actual_pose.orientation.angularDistance(desired_pose_.orientation);
  if (const std::unique_lock<std::mutex> feedback_lock(goal.feedback_mutex, std::try_to_lock);
      feedback_lock) {
    set_pose(goal.feedback.desired, desired_pose_);
    set_pose(goal.feedback.actual, actual_pose);
    goal.feedback.position_error = distance;
    goal.feedback.orientation_error = angle;
  }
  const bool is_near = distance <= goal.max_goal_distance && angle <= goal.max_goal_angle;
  const bool is_reached = goal.elapsed_time >= goal.times.back() && is_near;
  if (is_reached) {
    end_goal("reached", Action::Result::SUCCESSFUL);
  } else if (goal.is_cancel_requested) {
    end_goal("cancelled");
  } else if (distance > goal.max_path_distance || angle > goal.max_path_angle) {
    end_goal("the path tolerance is violated", Action::Result::PATH_TOLERANCE_VIOLATED);
  } else if (goal.elapsed_time > goal.deadline) {
    end_goal("the goal tolerance is violated", Action::Result::GOAL_TOLERANCE_VIOLATED);
  }
  if (active_goal_ == nullptr && !is_reached) desired_pose_ = actual_pose;  // it stops where it is
  return &desired_pose_;
}

void CartesianTrajectoryServer::end_goal(const char* reason, std::int32_t error_code) noexcept {
  if (Goal* const goal = std::exchange(active_goal_, nullptr)) goal->end(error_code, reason);
}

void CartesianTrajectoryServer::stop() noexcept {
  end_goal("the controller is not active");
  goals_->is_loop_running = false;
}

}  // namespace vms_ph_ros2_control
