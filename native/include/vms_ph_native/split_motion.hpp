// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The split of a velocity into task and null space, continuous through singularities.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/task_svd.hpp"

namespace vms_ph {

/// Velocity in the task and in its null space, with the maps onto both.
///
/// Where the task is regular the null space has an orthonormal basis Z, N = (Z M Z^T)^-1 Z M, and
/// N^T N does not depend on the choice of Z. Where a singular value of J becomes zero the kernel
/// gains a direction, and the damping of the null space would jump. There Z is replaced by
/// S = h(J^T J) with a continuous function h that is 1 at zero and 0 above the threshold, so that
/// directions lost by the task pass gradually to the null space.
class SplitMotion {
 public:
  /// Split a velocity (nv,) under a mass matrix (nv,nv).
  ///
  /// @param momentum        of the velocity, (nv,).
  /// @param jacobian        of the task, (3,nv), and its decomposition.
  /// @param singular_below  smallest singular value at which J counts as regular.
  void compute(const MatrixV& mass, const ConstVector& velocity, const ConstVector& momentum,
               const Matrix3V& jacobian, const TaskSvd& svd, double singular_below) noexcept;

  /// D = J^T D_t J + N^T D_nu N, (nv,nv).
  MatrixV damping_matrix(const Matrix3V& jacobian, double damping_task,
                         double damping_null) const noexcept;

  /// The power from null-space to task energy by inertia alone, W:
  /// pi^T Jdot n - u^T C n with v = u + n and M u = J^T pi. Zero near a singularity, where the
  /// split is not that of the task.
  double exchange(Evaluation& d, const TaskSvd& svd, const Matrix3V& jacobian_rate) const noexcept;

  Eigen::Vector3d eta;    ///< J v
  MatrixV null_map;       ///< N (k,nv)
  VectorV nu;             ///< null-space velocity N v, (k,)
  VectorV null_velocity;  ///< the same as a velocity of the robot, (nv,)
  double kinetic_null = 0.0, smallest = 0.0;
  bool is_regular = true;

 private:
  double singular_below_ = 0.0;
};

/// N = (Z M Z^T)^-1 Z M (k,nv) of orthonormal rows Z (k,nv) and a mass matrix.
MatrixV null_space_map(const MatrixV& z, const MatrixV& mass) noexcept;

}  // namespace vms_ph
