// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Poses in messages, and the pose of a robot.
#pragma once

#include <cmath>
#include <memory>
#include <optional>

#include <geometry_msgs/msg/pose.hpp>

#include "publishing.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Quaternions may deviate from unit length by the rounding of single precision.
inline constexpr double kNormTolerance = 1e-2;

/// A position (m), an orientation and a velocity (m/s) in the inertial frame.
struct PosePoint {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Quaterniond orientation = Eigen::Quaterniond::Identity();
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();
};

/// Read a pose; empty where it is not finite or its orientation has not the length 1.
inline std::optional<PosePoint> pose_of(const geometry_msgs::msg::Pose& message) {
  const auto& p = message.position;
  const auto& o = message.orientation;
  PosePoint pose{{p.x, p.y, p.z}, {o.w, o.x, o.y, o.z}, Eigen::Vector3d::Zero()};
  const bool is_unit = std::abs(pose.orientation.norm() - 1.0) < kNormTolerance;
  if (!pose.position.allFinite() || !is_unit) return std::nullopt;
  pose.orientation.normalize();
  return pose;
}

/// Write a pose to a message.
inline void set_pose(geometry_msgs::msg::Pose& message, const PosePoint& pose) noexcept {
  set_vector(message.position, pose.position);
  set_vector(message.orientation, pose.orientation.vec());
  message.orientation.w = pose.orientation.w();
}

/// The pose of the base or of the end effector.
class MeasuredPose {
 public:
  MeasuredPose(const vms_ph::Model& model, bool is_of_base)
      : model_(model),
        dynamics_(std::make_unique<vms_ph::Dynamics>(model)),
        is_of_base_(is_of_base) {}

  /// The pose at a configuration (nq,). Neither blocks nor allocates.
  PosePoint at(const Eigen::VectorXd& q) noexcept {
    Eigen::Matrix3d rotation;
    Eigen::Vector3d position;
    if (is_of_base_) {
      const auto base_pose = model_.base_pose(q);
      rotation = base_pose.rotation();
      position = base_pose.translation();
    } else {
      dynamics_->set_configuration(q.data());
      dynamics_->placement(static_cast<int>(model_.end_effector()), rotation, position);
    }
    return {position, Eigen::Quaterniond(rotation), Eigen::Vector3d::Zero()};
  }

 private:
  const vms_ph::Model& model_;
  std::unique_ptr<vms_ph::Dynamics> dynamics_;
  bool is_of_base_;
};

}  // namespace vms_ph_ros2_control
