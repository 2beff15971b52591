// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The damping and the springs of a task-space law, split into task and null space.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/held_impedance.hpp"
#include "vms_ph_native/split_motion.hpp"
#include "vms_ph_native/task_svd.hpp"

namespace vms_ph {

/// The part of vms_ph_controllers.TaskSpaceIDAPBC without memory: the motion in a task of three
/// dimensions and in its null space, and what is held of springs and damping.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class TaskEffort {
 public:
  /// The model must outlive it.
  explicit TaskEffort(const Model& model) : held(model) {}

  /// Split the motion by the Jacobian (3,nv) of the task; see SplitMotion.
  void split(Evaluation& d, const Matrix3V& jacobian, double singular_below) noexcept;

  /// Compute what is held, for the motion and the Jacobian split last.
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
  HeldImpedance held;
  Eigen::Vector3d damping_task;  ///< force of the damping in the task
  VectorV damping_null;          ///< the same in the null space, (k,)
  VectorV damping;               ///< (nv,) of both and of the spring ahead

 private:
  MatrixV damping_matrix_;
};

}  // namespace vms_ph
