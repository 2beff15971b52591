// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "reference_ports.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include <realtime_tools/realtime_thread_safe_box.hpp>

#include "interface_names.hpp"
#include "robot_setup.hpp"

namespace vms_ph_ros2_control {
namespace {

using vms_ph::kNaN;

// Offsets of twist and joints after the pose.
constexpr int kTwistIndex = 7, kJointsIndex = kTwistIndex + 6;
enum ReferenceGroup : std::size_t { kPoseGroup, kTwistGroup, kJointsGroup, kGroupCount };

Eigen::Matrix<double, 6, 1> stack_vectors(const geometry_msgs::msg::Vector3& linear,
                                          const geometry_msgs::msg::Vector3& angular) {
  return {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
}

}  // namespace

// The subscription callbacks; an executor may still run one after the ports are destroyed.
struct ReferencePorts::Inbox {
  Inbox(const rclcpp_lifecycle::LifecycleNode& node, const vms_ph::Model& model, std::string prefix)
      : logger(node.get_logger()),
        clock(node.get_clock()),
        base(model.base()),
        joint_names(model.joint_names()),
        frame_prefix(std::move(prefix)),
        root_frame_id(root_link(model)),
        inertial_frame_id(inertial_frame(model)) {
    sample.joints = Eigen::VectorXd::Constant(model.n(), kNaN);
    box.set(sample);
  }

  void on_pose(const geometry_msgs::msg::PoseStamped& message);
  void on_position(const geometry_msgs::msg::PointStamped& message);
  void on_twist(const geometry_msgs::msg::TwistStamped& message);
  void on_wrench(const geometry_msgs::msg::WrenchStamped& message);
  void on_joints(const sensor_msgs::msg::JointState& message);
  bool accepts_frame(const std::string& frame_id, const char* quantity, bool accepts_root = false);
  std::string without_prefix(const std::string& frame) const;
  void refuse(const std::string& problem);
  /// Pass on a part of the sample, which has changed.
  template <class Field>
  void store(Topic topic, Field& field, const Field& received) {
    field = received;
    ++sample.counts[topic];
    box.set(sample);
  }
  /// Whether a preceding controller commands this group, so that the message has no effect.
  bool is_chained(ReferenceGroup group, const char* quantity);

  rclcpp::Logger logger;
  rclcpp::Clock::ConstSharedPtr clock;
  vms_ph::Base base;
  std::vector<std::string> joint_names;
  std::string frame_prefix, root_frame_id, inertial_frame_id;
  std::array<std::atomic<bool>, kGroupCount> chained_groups{};  ///< written by the control loop
  ReferenceSample sample;
  realtime_tools::RealtimeThreadSafeBox<ReferenceSample> box;
};

ReferencePorts::ReferencePorts(rclcpp_lifecycle::LifecycleNode::SharedPtr node,
                               const vms_ph::Model& model, double timeout,
                               const std::string& frame_prefix, bool pose_is_of_base)
    : node_(std::move(node)),
      base_(model.base()),
      joint_names_(model.joint_names()),
      timeout_(timeout),
      pose_is_of_base_(pose_is_of_base),
      setpoints_(Eigen::VectorXd::Constant(kJointsIndex + model.n(), kNaN)),
      inbox_(std::make_shared<Inbox>(*node_, model, frame_prefix)),
      sample_(inbox_->sample),
      trajectory_server_(node_, MeasuredPose(model, pose_is_of_base),
                         frame_prefix + inertial_frame(model),
                         [inbox = inbox_](const std::string& frame) {
                           return !inbox->is_chained(kPoseGroup, "trajectory") &&
                                  inbox->accepts_frame(frame, "trajectory");
                         }) {
  reference_.joints = Eigen::VectorXd::Zero(model.n());
  subscribe("~/reference_pose", &Inbox::on_pose);
  subscribe("~/reference_position", &Inbox::on_position);
  subscribe("~/reference_wrench", &Inbox::on_wrench);
  subscribe("~/reference_twist", &Inbox::on_twist);
  subscribe("~/reference_joints", &Inbox::on_joints);
}

template <class Message>
void ReferencePorts::subscribe(const char* topic, void (Inbox::*receive)(const Message&)) {
  subscriptions_.push_back(node_->create_subscription<Message>(
      topic, 10, [inbox = inbox_, receive](const Message& m) { ((*inbox).*receive)(m); }));
}

std::vector<hardware_interface::CommandInterface::SharedPtr> ReferencePorts::create_interfaces() {
  interfaces_.clear();
  const std::string node_name = node_->get_name();
  const auto add = [&](const std::string& prefix, const std::string& interface) {
    interfaces_.push_back(
        std::make_shared<hardware_interface::CommandInterface>(prefix, interface));
    std::ignore = interfaces_.back()->set_value(kNaN);
  };
  for (const char* interface_name : kPoseAndTwistNames) add(node_name, interface_name);
  for (const auto& joint : joint_names_) add(node_name + "/" + joint, "position");
  return interfaces_;
}

void ReferencePorts::clear() noexcept {
  setpoints_.setConstant(kNaN);
  for (const auto& interface : interfaces_) std::ignore = interface->set_value(kNaN);
  for (auto& is_chained : inbox_->chained_groups) is_chained = false;
  inbox_->box.try_get([this](const ReferenceSample& sample) { sample_ = sample; });
  read_counts_ = sample_.counts;
  twist_age_ = wrench_age_ = std::numeric_limits<double>::infinity();
  reference_.position.reset();
  reference_.wrench.reset();
  trajectory_server_.stop();
}

void ReferencePorts::read_topics(double elapsed_time) noexcept {
  inbox_->box.try_get([this](const ReferenceSample& sample) { sample_ = sample; });
  // Whether a message has come since the last call.
  const auto has_new_message = [this](Topic topic) {
    return std::exchange(read_counts_[topic], sample_.counts[topic]) != sample_.counts[topic];
  };
  setpoints_.setConstant(kNaN);
  if (has_new_message(kPoseTopic)) setpoints_.head<kTwistIndex>() = sample_.pose;
  const bool is_new_twist = has_new_message(kTwistTopic);
  twist_age_ = is_new_twist ? 0.0 : twist_age_ + std::max(elapsed_time, 0.0);
  if (twist_age_ < timeout_) {
    setpoints_.segment<6>(kTwistIndex) = sample_.twist;
    twist_is_in_base_axes_ = sample_.twist_is_in_base_axes;
  }
  if (has_new_message(kJointsTopic)) setpoints_.tail(sample_.joints.size()) = sample_.joints;
  reference_.position.reset();
  if (has_new_message(kPositionTopic)) reference_.position = sample_.position;
  const bool was_wrench_active = wrench_age_ < timeout_;
  wrench_age_ = has_new_message(kWrenchTopic) ? 0.0 : wrench_age_ + std::max(elapsed_time, 0.0);
  reference_.wrench.reset();
  if (wrench_age_ < timeout_) {
    reference_.wrench = sample_.wrench;
  } else if (was_wrench_active) {
    reference_.wrench.emplace().setZero();  // once
  }
}

void ReferencePorts::read_interfaces() noexcept {
  const std::array<std::size_t, kGroupCount> ends{kTwistIndex, kJointsIndex, interfaces_.size()};
  const auto value = [this](std::size_t i) {
    return interfaces_[i]->get_optional().value_or(kNaN);
  };
  std::size_t start = 0;
  for (std::size_t group = 0; group < kGroupCount; start = ends[group++]) {
    bool is_commanded = false;
    for (auto i = start; i < ends[group]; ++i) is_commanded = is_commanded || !std::isnan(value(i));
    inbox_->chained_groups[group] = is_commanded;
    if (!is_commanded) continue;
    if (group == kPoseGroup) reference_.position.reset();
    for (auto i = start; i < ends[group]; ++i) setpoints_[static_cast<Eigen::Index>(i)] = value(i);
    if (group == kTwistGroup) twist_is_in_base_axes_ = true;
  }
}

const vms_ph::Reference& ReferencePorts::reference(const Eigen::VectorXd& q, double dt) noexcept {
  reference_.velocity.reset();
  reference_.pose.reset();
  reference_.twist.reset();
  if ((reference_.position && !pose_is_of_base_) || setpoints_.head<3>().allFinite()) {
    trajectory_server_.end_goal("another reference replaces it");
  }
  if (const PosePoint* pose = trajectory_server_.advance(q, dt)) {
    setpoints_.head<kTwistIndex>() << pose->position, pose->orientation.coeffs();
    if (!pose->velocity.isZero(0.0))
      setpoints_.segment<3>(kTwistIndex) = pose->velocity, twist_is_in_base_axes_ = false;
  }
  if (setpoints_.head<3>().allFinite()) {
    const Eigen::Quaterniond rotation(Eigen::Vector4d(setpoints_.segment<4>(3)));
    if (std::abs(rotation.norm() - 1.0) < kNormTolerance) {
      reference_.pose = Eigen::Matrix4d::Identity();
      reference_.pose->topLeftCorner<3, 3>() = rotation.normalized().toRotationMatrix();
      reference_.pose->topRightCorner<3, 1>() = setpoints_.head<3>();
    }
    if (!reference_.position && !(pose_is_of_base_ && reference_.pose))
      reference_.position = setpoints_.head<3>();
  }
  const auto linear = setpoints_.segment<3>(kTwistIndex),
             angular = setpoints_.segment<3>(kTwistIndex + 3);
  if (linear.allFinite() && q.allFinite()) {
    if (base_ == vms_ph::Base::fixed) {
      reference_.velocity = linear;
    } else {
      const int b = base_ == vms_ph::Base::planar ? 3 : 6;
      const Eigen::Matrix3d rotation = vms_ph::base_rotation(b, q.data());
      reference_.velocity =
          twist_is_in_base_axes_ ? Eigen::Vector3d(rotation * linear) : Eigen::Vector3d(linear);
      if (angular.allFinite()) {
        const Eigen::Matrix3d rotation_to_base = twist_is_in_base_axes_
                                                     ? Eigen::Matrix3d::Identity().eval()
                                                     : Eigen::Matrix3d(rotation.transpose());
        reference_.twist.emplace() << rotation_to_base * linear, rotation_to_base * angular;
      }
    }
  }
  const auto joints = setpoints_.tail(reference_.joints.size());
  reference_.has_joints = joints.size() > 0 && joints.allFinite();
  if (reference_.has_joints) reference_.joints = joints;
  return reference_;
}

bool ReferencePorts::Inbox::accepts_frame(const std::string& frame_id, const char* quantity,
                                          bool accepts_root) {
  const std::string frame = without_prefix(frame_id);
  const bool is_accepted = frame.empty() || frame == inertial_frame_id || frame == "world";
  if (is_accepted || (accepts_root && frame == root_frame_id)) return true;
  refuse(std::string(quantity) + " is taken in " + inertial_frame_id +
         (accepts_root ? ", world or " + root_frame_id : " or world") + "; given: frame_id '" +
         frame_id + "'");
  return false;
}

std::string ReferencePorts::Inbox::without_prefix(const std::string& frame) const {
  return frame.compare(0, frame_prefix.size(), frame_prefix) == 0
             ? frame.substr(frame_prefix.size())
             : frame;
}

bool ReferencePorts::Inbox::is_chained(ReferenceGroup group, const char* quantity) {
  if (!chained_groups[group]) return false;
  refuse(std::string(quantity) +
         " from a topic, because a preceding controller commands it through the interfaces");
  return true;
}

void ReferencePorts::Inbox::refuse(const std::string& problem) {
  RCLCPP_WARN_THROTTLE(logger, *clock, 1000, "ignored: a reference %s", problem.c_str());
}

void ReferencePorts::Inbox::on_pose(const geometry_msgs::msg::PoseStamped& message) {
  const auto pose = pose_of(message.pose);
  if (is_chained(kPoseGroup, "pose") || !accepts_frame(message.header.frame_id, "pose")) return;
  if (!pose) return refuse("pose must be finite, with an orientation of length 1");
  Eigen::Matrix<double, 7, 1> numbers;
  numbers << pose->position, pose->orientation.coeffs();
  store(kPoseTopic, sample.pose, numbers);
}

void ReferencePorts::Inbox::on_position(const geometry_msgs::msg::PointStamped& message) {
  const Eigen::Vector3d position(message.point.x, message.point.y, message.point.z);
  if (is_chained(kPoseGroup, "position")) return;
  if (!accepts_frame(message.header.frame_id, "position")) return;
  if (!position.allFinite()) return refuse("position must be finite");
  store(kPositionTopic, sample.position, position);
}

void ReferencePorts::Inbox::on_wrench(const geometry_msgs::msg::WrenchStamped& message) {
  const auto wrench = stack_vectors(message.wrench.force, message.wrench.torque);
  if (!accepts_frame(message.header.frame_id, "wrench")) return;
  if (!wrench.allFinite()) return refuse("wrench must be finite");
  store(kWrenchTopic, sample.wrench, wrench);
}

void ReferencePorts::Inbox::on_twist(const geometry_msgs::msg::TwistStamped& message) {
  const auto twist = stack_vectors(message.twist.linear, message.twist.angular);
  const bool accepts_root = base != vms_ph::Base::fixed;
  if (is_chained(kTwistGroup, "twist")) return;
  if (!accepts_frame(message.header.frame_id, "twist", accepts_root)) return;
  if (!twist.allFinite()) return refuse("twist must be finite");
  sample.twist_is_in_base_axes =
      accepts_root && without_prefix(message.header.frame_id) == root_frame_id;
  store(kTwistTopic, sample.twist, twist);
}

void ReferencePorts::Inbox::on_joints(const sensor_msgs::msg::JointState& message) {
  if (is_chained(kJointsGroup, "of the joints")) return;
  if (message.position.size() != message.name.size()) {
    return refuse("of the joints has " + std::to_string(message.position.size()) +
                  " positions for " + std::to_string(message.name.size()) + " names");
  }
  Eigen::VectorXd joints(sample.joints.size());
  for (std::size_t i = 0; i < joint_names.size(); ++i) {
    const auto entry = std::find(message.name.begin(), message.name.end(), joint_names[i]);
    if (entry == message.name.end()) {
      return refuse("of the joints needs all of them; missing: " + joint_names[i]);
    }
    joints[static_cast<Eigen::Index>(i)] =
        message.position[static_cast<std::size_t>(entry - message.name.begin())];
  }
  if (!joints.allFinite()) return refuse("of the joints must be finite");
  store(kJointsTopic, sample.joints, joints);
}

}  // namespace vms_ph_ros2_control
