// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pose_reference.hpp"

#include <algorithm>
#include <cmath>

namespace vms_ph {

namespace {
constexpr double kFullTurn = 2.0 * 3.14159265358979323846;
}  // namespace

void PoseReference::restart(const Pose& pose) noexcept {
  pose_ = pose;
  twist_.setZero();
  acceleration_.setZero();
  has_target_ = has_new_target_ = is_target_moving_ = false;
  is_resting_ = true;
}

void PoseReference::shift(const Eigen::Vector3d& displacement) noexcept {
  pose_.topRightCorner<3, 1>() += displacement;
  if (has_target_) target_.topRightCorner<3, 1>() += displacement;
}

void PoseReference::set_target(const Pose& target) noexcept {
  target_ = target;
  has_target_ = has_new_target_ = true;
  is_resting_ = false;
}

void PoseReference::follow(const Reference& reference, const std::optional<Pose>& target,
                           double max_speed, double max_turn_rate, double bandwidth,
                           double dt) noexcept {
  if (target) {
    if (target->allFinite()) set_target(*target);
  } else if (reference.position && reference.position->allFinite()) {
    Pose target_pose = pose_;
    target_pose.topRightCorner<3, 1>() = *reference.position;
    set_target(target_pose);
  }
  Twist twist = Twist::Zero();
  const bool has_velocity = reference.velocity && reference.velocity->allFinite();
  if (has_velocity) twist.head<3>() = pose_.topLeftCorner<3, 3>().transpose() * *reference.velocity;
  advance(has_velocity ? &twist : nullptr, max_speed, max_turn_rate, bandwidth, dt);
}

void PoseReference::advance(const Twist* twist, double max_speed, double max_turn_rate,
                            double bandwidth, double dt) noexcept {
  if (twist == nullptr && is_resting_) return;
  is_target_moving_ = twist != nullptr && (has_new_target_ || is_target_moving_);
  has_new_target_ = false;
  const double limited_bandwidth = std::min(bandwidth, 0.5 / dt);
  pose_ = Pose(pose_ * se3::exp(dt * twist_));
  twist_ += dt * acceleration_;
  Twist desired_twist = Twist::Zero();
  if (twist != nullptr && !is_target_moving_) {
    desired_twist = *twist;
    has_target_ = is_resting_ = false;
  } else if (has_target_) {
    const Pose pose_error = se3::inverse(pose_) * target_;
    desired_twist = 0.5 * limited_bandwidth * se3::log(pose_error);
    if (twist != nullptr) {
      desired_twist += se3::Ad(pose_error) * *twist;
      target_ = Pose(target_ * se3::exp(dt * *twist));
    }
  }
  const double speed = desired_twist.head<3>().norm(), turn_rate = desired_twist.tail<3>().norm();
  desired_twist *= std::min(
      {1.0, max_speed / std::max(speed, 1e-12), max_turn_rate / std::max(turn_rate, 1e-12)});
  acceleration_ = 2.0 * limited_bandwidth * (desired_twist - twist_);
  if (twist_.cwiseAbs().maxCoeff() + desired_twist.cwiseAbs().maxCoeff() < 1e-9) {
    restart(has_target_ ? target_ : pose_);
  }
}

JointReference::JointReference(const Model& model) {
  positions_ = rates_ = accelerations_ = target_ = desired_rates_ = VectorV::Zero(model.n());
  turn_ = positions_;
  for (int i = 0; i < model.n(); ++i) {
    const bool is_unlimited =
        std::isinf(model.min_position()[i]) && std::isinf(model.max_position()[i]);
    if (is_unlimited && !model.is_prismatic(i)) turn_[i] = kFullTurn;
  }
}

void JointReference::restart(const ConstVector& positions) noexcept {
  positions_ = positions;
  target_ = positions_;
  rates_.setZero();
  accelerations_.setZero();
  is_resting_ = true;
}

void JointReference::set_target(const Reference& reference) noexcept {
  const auto& joints = reference.joints;
  if (!(reference.has_joints && joints.size() == target_.size() && joints.allFinite())) return;
  target_ = nearest(joints);
  is_resting_ = false;
}

VectorV JointReference::nearest(const VectorV& positions) const noexcept {
  const auto turns = ((positions - positions_) / kFullTurn).array().rint();
  return positions - (turn_.array() * turns).matrix();
}

void JointReference::advance(const VectorV& max_rates, double bandwidth, double dt) noexcept {
  if (is_resting_) return;
  const double limited_bandwidth = std::min(bandwidth, 0.5 / dt);
  positions_ += dt * rates_;
  rates_ += dt * accelerations_;
  desired_rates_ =
      (0.5 * limited_bandwidth * (target_ - positions_)).cwiseMax(-max_rates).cwiseMin(max_rates);
  accelerations_ = 2.0 * limited_bandwidth * (desired_rates_ - rates_);
  if (rates_.lpNorm<Eigen::Infinity>() + desired_rates_.lpNorm<Eigen::Infinity>() < 1e-9) {
    restart(target_);
  }
}

}  // namespace vms_ph
