// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The motion of the end effector and of its null space, with the coupling of both by inertia.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {

/// The smallest singular value of a Jacobian, of as many as it has rows or columns, whatever is
/// less; `square` and `eigen` are workspaces.
double smallest_singular_value(const Matrix6V& jacobian, MatrixV& square,
                               SymmetricEigen& eigen) noexcept;

/// The pose of a frame as a task, in its own axes; see vms_ph_controllers/laws/task_motion.py.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class PoseMotion {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;

  explicit PoseMotion(const Model& model);

  /// Compute the motion of a state, and the forces that cancel the coupling of its parts.
  void compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept;

  Matrix6V J, J_rate;     ///< task Jacobian and its derivative along the motion, (6,nv)
  Matrix6 inertia;        ///< (J M^-1 J^T)^-1
  MatrixV null_inertia;   ///< Pi^T M Pi (nv,nv) of the projector Pi onto motions beside the frame's
  Vector6 twist;          ///< of the frame
  Vector6 on_task;        ///< the force that cancels the coupling, on the task
  VectorV on_null;        ///< the same on all motions, (nv,)
  double smallest = 0.0;  ///< singular value of J

 private:
  void invert() noexcept;

  const int nv_;
  MatrixV square_, mobility_;
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, kMaxVelocities, 6> inverse_;
  VectorV null_, along_, force_;
  SymmetricEigen eigen_, mobility_eigen_;
};

}  // namespace vms_ph
