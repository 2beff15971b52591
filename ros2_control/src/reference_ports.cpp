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
constexpr int kTwist = 7, kJoints = kTwist + 6;
enum ReferenceGroup : std::size_t { kPoseGroup, kTwistGroup, kJointsGroup, kGroups };

// Quaternions may deviate from unit length by the rounding of single precision.
constexpr double kNormTolerance = 1e-2;

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
  bool accepts_frame(const std::string& name, const char* quantity, bool accepts_root = false);
  std::string without_prefix(const std::string& frame) const;
  void refuse(const std::string& problem);
  /// Pass on a part of the sample, which has changed.
  template <class Field>
  void store(Field& field, const Field& value, std::uint64_t& count) {
    field = value;
    ++count;
    box.set(sample);
  }
  /// Whether a preceding controller commands this group, so that the message has no effect.
  bool is_chained(ReferenceGroup group, const char* quantity);

  rclcpp::Logger logger;
  rclcpp::Clock::ConstSharedPtr clock;
  vms_ph::Base base;
  std::vector<std::string> joint_names;
  std::string frame_prefix, root_frame_id, inertial_frame_id;
  std::array<std::atomic<bool>, kGroups> chained_groups{};  ///< written by the control loop
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
      numbers_(Eigen::VectorXd::Constant(kJoints + model.n(), kNaN)),
      inbox_(std::make_shared<Inbox>(*node_, model, frame_prefix)),
      sample_(inbox_->sample) {
  reference_.joints = Eigen::VectorXd::Zero(model.n());
  pose_subscription_ = subscribe("~/reference_pose", &Inbox::on_pose);
  position_subscription_ = subscribe("~/reference_position", &Inbox::on_position);
  wrench_subscription_ = subscribe("~/reference_wrench", &Inbox::on_wrench);
  twist_subscription_ = subscribe("~/reference_twist", &Inbox::on_twist);
  joints_subscription_ = subscribe("~/reference_joints", &Inbox::on_joints);
}

template <class Message>
typename rclcpp::Subscription<Message>::SharedPtr ReferencePorts::subscribe(
    const char* topic, void (Inbox::*receive)(const Message&)) {
  return node_->create_subscription<Message>(
      topic, 10, [inbox = inbox_, receive](const Message& m) { ((*inbox).*receive)(m); });
}

std::vector<hardware_interface::CommandInterface::SharedPtr> ReferencePorts::interfaces() {
  interfaces_.clear();
  const std::string name = node_->get_name();
  const auto add = [&](const std::string& prefix, const std::string& interface) {
    interfaces_.push_back(
        std::make_shared<hardware_interface::CommandInterface>(prefix, interface));
    std::ignore = interfaces_.back()->set_value(kNaN);
  };
  for (const char* interface_name : kPosition) add(name, interface_name);
  for (const char* interface_name : kOrientation) add(name, interface_name);
  for (const char* interface_name : kLinearVelocity) add(name, interface_name);
  for (const char* interface_name : kAngularVelocity) add(name, interface_name);
  for (const auto& joint : joint_names_) add(name + "/" + joint, "position");
  return interfaces_;
}

void ReferencePorts::clear() noexcept {
  numbers_.setConstant(kNaN);
  for (const auto& interface : interfaces_) std::ignore = interface->set_value(kNaN);
  for (auto& is_chained : inbox_->chained_groups) is_chained = false;
  inbox_->box.try_get([this](const ReferenceSample& r) { sample_ = r; });
  pose_count_ = sample_.pose_count;
  position_count_ = sample_.position_count;
  twist_count_ = sample_.twist_count;
  joints_count_ = sample_.joints_count;
  wrench_count_ = sample_.wrench_count;
  twist_age_ = wrench_age_ = std::numeric_limits<double>::infinity();
  reference_.position.reset();
  reference_.wrench.reset();
}

void ReferencePorts::read_topics(double elapsed_time) noexcept {
  inbox_->box.try_get([this](const ReferenceSample& r) { sample_ = r; });
  // Whether a message has come since the last call.
  const auto is_new = [](std::uint64_t count, std::uint64_t& last_count) {
    return std::exchange(last_count, count) != count;
  };
  numbers_.setConstant(kNaN);
  if (is_new(sample_.pose_count, pose_count_)) numbers_.head<kTwist>() = sample_.pose;
  const bool is_new_twist = is_new(sample_.twist_count, twist_count_);
  twist_age_ = is_new_twist ? 0.0 : twist_age_ + std::max(elapsed_time, 0.0);
  if (twist_age_ < timeout_) {
    numbers_.segment<6>(kTwist) = sample_.twist;
    in_base_axes_ = sample_.in_base_axes;
  }
  if (is_new(sample_.joints_count, joints_count_)) {
    numbers_.tail(sample_.joints.size()) = sample_.joints;
  }
  reference_.position.reset();
  if (is_new(sample_.position_count, position_count_)) reference_.position = sample_.position;
  reference_.wrench.reset();
  if (is_new(sample_.wrench_count, wrench_count_)) {
    wrench_age_ = 0.0;
  } else {
    const bool was_active = wrench_age_ < timeout_;
    wrench_age_ += std::max(elapsed_time, 0.0);
    // What is not exerted any more ends, once.
    if (was_active && wrench_age_ >= timeout_) reference_.wrench.emplace().setZero();
  }
  if (wrench_age_ < timeout_) reference_.wrench = sample_.wrench;
}

void ReferencePorts::read_interfaces() noexcept {
  const std::array<std::size_t, kGroups> ends{kTwist, kJoints, interfaces_.size()};
  const auto value = [this](std::size_t i) {
    return interfaces_[i]->get_optional().value_or(kNaN);
  };
  std::size_t start = 0;
  for (std::size_t group = 0; group < kGroups; start = ends[group++]) {
    bool is_commanded = false;
    for (auto i = start; i < ends[group]; ++i) is_commanded = is_commanded || !std::isnan(value(i));
    inbox_->chained_groups[group] = is_commanded;
    if (!is_commanded) continue;
    if (group == kPoseGroup) reference_.position.reset();
    for (auto i = start; i < ends[group]; ++i) numbers_[static_cast<Eigen::Index>(i)] = value(i);
    if (group == kTwistGroup) in_base_axes_ = true;
  }
}

const vms_ph::Reference& ReferencePorts::reference(const Eigen::VectorXd& q) noexcept {
  auto& r = reference_;
  r.velocity.reset();
  r.pose.reset();
  r.twist.reset();
  if (numbers_.head<3>().allFinite()) {
    const double norm = numbers_.segment<4>(3).norm();
    if (std::abs(norm - 1.0) < kNormTolerance) {
      const Eigen::Quaterniond rotation(Eigen::Vector4d(numbers_.segment<4>(3) / norm));
      r.pose = Eigen::Matrix4d::Identity();
      r.pose->topLeftCorner<3, 3>() = rotation.toRotationMatrix();
      r.pose->topRightCorner<3, 1>() = numbers_.head<3>();
    }
    if (!r.position && !(pose_is_of_base_ && r.pose)) r.position = numbers_.head<3>();
  }
  const auto linear = numbers_.segment<3>(kTwist), angular = numbers_.segment<3>(kTwist + 3);
  if (linear.allFinite() && q.allFinite()) {
    if (base_ == vms_ph::Base::fixed) {
      r.velocity = linear;
    } else {
      const int b = base_ == vms_ph::Base::planar ? 3 : 6;
      const Eigen::Matrix3d rotation = vms_ph::base_rotation(b, q.data());
      r.velocity = in_base_axes_ ? Eigen::Vector3d(rotation * linear) : Eigen::Vector3d(linear);
      if (angular.allFinite()) {
        const Eigen::Matrix3d to_base = in_base_axes_ ? Eigen::Matrix3d::Identity().eval()
                                                      : Eigen::Matrix3d(rotation.transpose());
        r.twist.emplace() << to_base * linear, to_base * angular;
      }
    }
  }
  const auto joints = numbers_.tail(r.joints.size());
  r.has_joints = joints.size() > 0 && joints.allFinite();
  if (r.has_joints) r.joints = joints;
  return r;
}

bool ReferencePorts::Inbox::accepts_frame(const std::string& name, const char* quantity,
                                          bool accepts_root) {
  const std::string frame = without_prefix(name);
  const bool is_accepted = frame.empty() || frame == inertial_frame_id || frame == "world";
  if (is_accepted || (accepts_root && frame == root_frame_id)) return true;
  refuse(std::string(quantity) + " is taken in " + inertial_frame_id +
         (accepts_root ? ", world or " + root_frame_id : " or world") + "; given: frame_id '" +
         name + "'");
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
  const auto& p = message.pose.position;
  const auto& o = message.pose.orientation;
  Eigen::Matrix<double, 7, 1> pose;
  pose << p.x, p.y, p.z, o.x, o.y, o.z, o.w;
  if (is_chained(kPoseGroup, "pose") || !accepts_frame(message.header.frame_id, "pose")) return;
  if (!pose.allFinite() || std::abs(pose.tail<4>().norm() - 1.0) >= kNormTolerance) {
    refuse("pose must be finite, with an orientation of length 1");
  } else {
    store(sample.pose, pose, sample.pose_count);
  }
}

void ReferencePorts::Inbox::on_position(const geometry_msgs::msg::PointStamped& message) {
  const Eigen::Vector3d position(message.point.x, message.point.y, message.point.z);
  if (is_chained(kPoseGroup, "position")) return;
  if (!accepts_frame(message.header.frame_id, "position")) return;
  if (!position.allFinite()) return refuse("position must be finite");
  store(sample.position, position, sample.position_count);
}

void ReferencePorts::Inbox::on_wrench(const geometry_msgs::msg::WrenchStamped& message) {
  const auto& f = message.wrench.force;
  const auto& m = message.wrench.torque;
  Eigen::Matrix<double, 6, 1> wrench;
  wrench << f.x, f.y, f.z, m.x, m.y, m.z;
  if (!accepts_frame(message.header.frame_id, "wrench")) return;
  if (!wrench.allFinite()) return refuse("wrench must be finite");
  store(sample.wrench, wrench, sample.wrench_count);
}

void ReferencePorts::Inbox::on_twist(const geometry_msgs::msg::TwistStamped& message) {
  const auto& v = message.twist.linear;
  const auto& w = message.twist.angular;
  Eigen::Matrix<double, 6, 1> twist;
  twist << v.x, v.y, v.z, w.x, w.y, w.z;
  const bool accepts_root = base != vms_ph::Base::fixed;
  if (is_chained(kTwistGroup, "twist")) return;
  if (!accepts_frame(message.header.frame_id, "twist", accepts_root)) return;
  if (!twist.allFinite()) return refuse("twist must be finite");
  sample.in_base_axes = accepts_root && without_prefix(message.header.frame_id) == root_frame_id;
  store(sample.twist, twist, sample.twist_count);
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
  store(sample.joints, joints, sample.joints_count);
}

}  // namespace vms_ph_ros2_control
