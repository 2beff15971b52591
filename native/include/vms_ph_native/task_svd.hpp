// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
