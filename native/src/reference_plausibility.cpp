// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "vms_ph_native/plausibility.hpp"

namespace vms_ph {
namespace {

// Positions that joints without limits may be sent to, rad.
constexpr double kFarthestTurn = 1e4;

// Without overflow.
double length(const Eigen::Vector3d& vector) { return std::hypot(vector[0], vector[1], vector[2]); }

bool is_rotation(const Eigen::Matrix3d& turn) {
  Eigen::Matrix3d error = turn * turn.transpose();
  for (int k = 0; k < 3; ++k) error(k, k) -= 1.0;
  return error.cwiseAbs().maxCoeff() < 1e-2 && turn.determinant() >= 0.0;
}

}  // namespace

ReferencePlausibility::ReferencePlausibility(const Model& model, const PlausibilityBounds& bounds)
    : model_(model),
      bounds_((bounds.check(), bounds)),
      rest_(VectorV::Zero(model.nv())),
      d_(model),
      reason_(256) {
  bounds_.positions(model, lower_, upper_);
  lower_ = lower_.cwiseMax(-kFarthestTurn);
  upper_ = upper_.cwiseMin(kFarthestTurn);
}

void ReferencePlausibility::check(Reference& reference, const ConstVector& q) noexcept {
  reason_.clear();
  if (reference.position) {
    if (!reference.position->allFinite()) {
      refuse("position", "is not finite");
      reference.position.reset();
    } else if (!is_near("position", *reference.position, q)) {
      reference.position.reset();
    }
  }
  const auto fast = [this](double linear, double angular) {
    return !(linear <= bounds_.base_speed && angular <= bounds_.base_turn);
  };
  const auto refuse_velocity = [this](const char* name, bool finite) {
    char faster[128];
    std::snprintf(faster, sizeof faster, "is faster than %g m/s or %g rad/s", bounds_.base_speed,
                  bounds_.base_turn);
    refuse(name, finite ? faster : "is not finite");
  };
  if (reference.velocity) {
    const bool finite = reference.velocity->allFinite();
    if (!finite || fast(length(*reference.velocity), 0.0)) {
      refuse_velocity("velocity", finite);
      reference.velocity.reset();
    }
  }
  if (reference.pose) {
    if (!reference.pose->allFinite()) {
      refuse("pose", "is not finite");
      reference.pose.reset();
    } else if (!is_rotation(reference.pose->topLeftCorner<3, 3>())) {
      refuse("pose", "has no rotation");
      reference.pose.reset();
    } else if (!is_near("pose", reference.pose->topRightCorner<3, 1>(), q)) {
      reference.pose.reset();
    }
  }
  if (reference.twist) {
    const auto& twist = *reference.twist;
    const bool finite = twist.allFinite();
    if (!finite || fast(length(twist.head<3>()), length(twist.tail<3>()))) {
      refuse_velocity("twist", finite);
      reference.twist.reset();
    }
  }
  if (!reference.has_joints) return;
  const auto& joints = reference.joints;
  if (joints.size() != model_.n() || !joints.allFinite()) {
    refuse("joints", "is not finite");
    reference.has_joints = false;
    return;
  }
  for (Eigen::Index i = 0; i < joints.size(); ++i) {
    if (joints[i] >= lower_[i] && joints[i] <= upper_[i]) continue;
    char outside[128];
    std::snprintf(outside, sizeof outside, "is out of bounds at %s",
                  model_.joint_names()[static_cast<std::size_t>(i)].c_str());
    refuse("joints", outside);
    reference.has_joints = false;
    return;
  }
}

/// The distance counts to the nearest of base, end effector and origin: which of them a law moves,
/// and whether relative to the base, only the law knows.
bool ReferencePlausibility::is_near(const char* name, const Eigen::Vector3d& place,
                                    const ConstVector& q) noexcept {
  double far = length(place);
  if (far <= bounds_.reference_distance) return true;
  far = std::min(far, length(place - model_.base_pose(q).translation()));
  if (far <= bounds_.reference_distance) return true;
  d_.set(q, rest_);
  far = std::min(far, length(place - d_.placement(model_.end_effector()).translation()));
  if (far <= bounds_.reference_distance) return true;
  char distance[96];
  std::snprintf(distance, sizeof distance, "is %.3g m away, the bound is %g m", far,
                bounds_.reference_distance);
  refuse(name, distance);
  return false;
}

void ReferencePlausibility::refuse(const char* name, const char* why) noexcept {
  if (reason_.empty()) reason_.set("the reference %s is refused: it %s", name, why);
}

}  // namespace vms_ph
