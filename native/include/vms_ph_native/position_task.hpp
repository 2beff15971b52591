// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The position of a frame as a task.
#pragma once

#include <string>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// eta = J v is the velocity of a frame's origin in the inertial frame, m/s.
class PositionTask {
 public:
  static constexpr int kDimension = 3;

  /// @param frame        its name; the model's end effector when empty.
  /// @throws ModelError  no such frame.
  PositionTask(const Model& model, const std::string& frame);

  /// Of a frame by Pinocchio's index.
  explicit PositionTask(pinocchio::FrameIndex frame) : frame_(frame) {}

  /// The position in the inertial frame, (3,), m.
  Eigen::Vector3d value(Evaluation& d) const noexcept { return d.placement(frame_).translation(); }

  /// J(q), (3,nv).
  Matrix3V jacobian(Evaluation& d) const noexcept;

  /// The derivative of J along the velocity of the evaluation, (3,nv).
  Matrix3V jacobian_rate(Evaluation& d) const noexcept;

  /// <B, dJ/dq_k> for all directions k, (nv,), with a weight B (3,nv).
  VectorV jacobian_slope(Evaluation& d, const Matrix3V& weight) const noexcept;

 private:
  pinocchio::FrameIndex frame_;
};

}  // namespace vms_ph
