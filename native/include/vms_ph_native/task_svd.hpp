// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The singular value decomposition of the Jacobian of a task of three dimensions.
#pragma once

#include <Eigen/Core>

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

}  // namespace vms_ph
