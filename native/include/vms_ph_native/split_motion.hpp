// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Motion split into task and null space, and the singular values of a task.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// J = L S R, and an orthonormal basis of the kernel of J.
class TaskSvd {
 public:
  Eigen::Matrix3d left = Eigen::Matrix3d::Identity();  ///< L
  Eigen::Vector3d values = Eigen::Vector3d::Zero();    ///< the diagonal of S, in descending order
  Matrix3V right;                                      ///< R (3,nv)
  MatrixV kernel;                                      ///< (nv-3,nv), orthonormal rows

  /// Decompose a Jacobian of at least three columns. One that is not finite counts as zero.
  void compute(const Matrix3V& jacobian) noexcept;

  double smallest() const noexcept { return values[2]; }

  /// R^T max(S, lifted)^-1 L^T (nv,3), the pseudo-inverse with its singular values lifted.
  Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3> pseudo_inverse(
      double lifted) const noexcept;

 private:
  void decompose(const Eigen::Matrix3d& matrix) noexcept;

  Eigen::Matrix3d right_turn_ = Eigen::Matrix3d::Identity();
};

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
