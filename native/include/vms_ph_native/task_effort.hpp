// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Tasks of a position, and the effort of a law in their coordinates.
#pragma once

#include <string>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/split_motion.hpp"

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

/// The part of vms_ph_controllers.TaskSpaceIDAPBC without memory: the motion in a task of three
/// dimensions and in its null space, and the held spring and damping forces.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class TaskEffort {
 public:
  /// The model must outlive it.
  explicit TaskEffort(const Model& model) : impedance(model) {}

  /// Split the motion by the Jacobian (3,nv) of the task; see SplitMotion.
  void split(Evaluation& d, const Matrix3V& jacobian, double singular_below) noexcept;

  /// Compute the held spring and damping forces, for the motion and the Jacobian split last.
  ///
  /// @param spring     (nv,) gradient of the potential.
  /// @param stiffness  (nv,nv) of it.
  /// @param task       damping of the motion in the task, N s/m.
  /// @param null       damping of the motion in the null space.
  /// @param h          the horizon, s.
  void damp(Evaluation& d, const Matrix3V& jacobian, const VectorV& spring,
            const MatrixV& stiffness, double task, double null, double h) noexcept;

  TaskSvd svd;
  SplitMotion motion;
  SampledImpedance impedance;
  Eigen::Vector3d damping_task;  ///< force of the damping in the task
  VectorV damping_null;          ///< the same in the null space, (k,)
  VectorV damping;               ///< (nv,) of both and of the spring ahead

 private:
  MatrixV damping_matrix_;
};

}  // namespace vms_ph
