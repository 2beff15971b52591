// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "external_wrench.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <realtime_tools/realtime_thread_safe_box.hpp>

#include "robot_setup.hpp"

namespace vms_ph_ros2_control {
namespace {

using geometry_msgs::msg::WrenchStamped;

// The largest acceleration of the whole robot by a push, m/s^2.
constexpr double kLargestAcceleration = 20 * 9.81;

}  // namespace

struct ExternalWrench::Inbox {
  Inbox(rclcpp::Node& node, const vms_ph::Model& model)
      : logger(node.get_logger()),
        clock(node.get_clock()),
        end_effector_frame_id(model.frame_name(model.end_effector())),
        root_frame_id(root_link(model)),
        inertial_frame_id(inertial_frame(model)),
        largest_force(kLargestAcceleration * model.total_mass()),
        largest_moment(largest_force * model.reach()) {}

  void receive(const WrenchStamped& message) {
    const auto& frame = message.header.frame_id;
    const auto& f = message.wrench.force;
    const auto& m = message.wrench.torque;
    WrenchSample sample{
        latest_sample.message_count + 1, {{f.x, f.y, f.z}, {m.x, m.y, m.z}}, Axes::end_effector};
    if (frame == root_frame_id) {
      sample.axes = Axes::root;
    } else if (frame == "world" || frame == inertial_frame_id) {
      sample.axes = Axes::world;
    } else if (!frame.empty() && frame != end_effector_frame_id) {
      return reject("its frame must be " + end_effector_frame_id + ", " + root_frame_id +
                    " or world; given: frame_id '" + frame + "'");
    }
    // A comparison with a number that is not finite is false.
    if (!(sample.wrench.linear.norm() <= largest_force &&
          sample.wrench.angular.norm() <= largest_moment)) {
      return reject("it must be finite, with at most " + std::to_string(largest_force) + " N and " +
                    std::to_string(largest_moment) + " N m");
    }
    latest_sample = sample;
    box.set(latest_sample);
  }

  void reject(const std::string& problem) {
    RCLCPP_WARN_THROTTLE(logger, *clock, 1000, "ignored: a wrench on the end effector; %s",
                         problem.c_str());
  }

  rclcpp::Logger logger;
  rclcpp::Clock::SharedPtr clock;
  std::string end_effector_frame_id, root_frame_id, inertial_frame_id;
  double largest_force, largest_moment;
  WrenchSample latest_sample;
  realtime_tools::RealtimeThreadSafeBox<WrenchSample> box;
};

ExternalWrench::ExternalWrench(const vms_ph::Model& model, double timeout)
    : model_(model),
      end_effector_pose_(model, false),
      timeout_(timeout),
      age_(std::numeric_limits<double>::infinity()) {}

ExternalWrench::~ExternalWrench() = default;

void ExternalWrench::subscribe(rclcpp::Node& node) {
  inbox_ = std::make_shared<Inbox>(node, model_);
  subscription_ = node.create_subscription<WrenchStamped>(
      "~/wrench_end_effector", 10, [inbox = inbox_](const WrenchStamped& m) { inbox->receive(m); });
}

void ExternalWrench::clear() noexcept {
  if (inbox_) inbox_->box.try_get([this](const WrenchSample& sample) { sample_ = sample; });
  age_ = std::numeric_limits<double>::infinity();
  wrench_ = {};
}

void ExternalWrench::update(const Eigen::VectorXd& q, double elapsed_time) noexcept {
  const auto last_message_count = sample_.message_count;
  if (inbox_) inbox_->box.try_get([this](const WrenchSample& sample) { sample_ = sample; });
  age_ = sample_.message_count != last_message_count ? 0.0 : age_ + std::max(elapsed_time, 0.0);
  wrench_ = is_active() ? sample_.wrench : vms_ph::Screw();
  if (!is_active() || sample_.axes == Axes::end_effector) return;
  Eigen::Matrix3d rotation = end_effector_pose_.at(q).orientation.conjugate().toRotationMatrix();
  if (sample_.axes == Axes::root) rotation = rotation * model_.base_pose(q).rotation();
  wrench_.linear = rotation * sample_.wrench.linear;
  wrench_.angular = rotation * sample_.wrench.angular;
}

}  // namespace vms_ph_ros2_control
