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

#include "vms_ph_native/pose_motion.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

// Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
// singularities, and leaves it as it is elsewhere.
constexpr double kLeastMobility = 1e-4;

}  // namespace

VMS_PH_WIDE double smallest_singular_value(const Matrix6V& jacobian, MatrixV& square,
                                           SymmetricEigen& eigen) noexcept {
  // Of the fewer of rows and columns.
  if (jacobian.cols() < 6) {
    square = jacobian.transpose().lazyProduct(jacobian);
  } else {
    square = jacobian.lazyProduct(jacobian.transpose());
  }
  decompose_symmetric(square, eigen);
  return std::sqrt(std::max(eigen.eigenvalues()[0], 0.0));
}

PoseMotion::PoseMotion(const Model& model)
    : J(Matrix6V::Zero(6, model.nv())),
      J_rate(J),
      inertia(Matrix6::Zero()),
      projector(MatrixV::Zero(model.nv(), model.nv())),
      twist(Vector6::Zero()),
      on_task(Vector6::Zero()),
      on_null(VectorV::Zero(model.nv())),
      nv_(model.nv()) {
  inverse_.setZero(nv_, 6);
}

VMS_PH_WIDE void PoseMotion::compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept {
  J = d.frame_jacobian(frame, pinocchio::LOCAL);
  J_rate = d.frame_jacobian_rate(frame, pinocchio::LOCAL);
  twist = J.lazyProduct(d.v());
  inverse_ = J.transpose();
  Cholesky(d.M()).solve_columns(inverse_);
  mobility_ = J.lazyProduct(inverse_);
  decompose_symmetric(mobility_, eigen_);
  const Matrix6 vectors = eigen_.eigenvectors();
  const Vector6 sizes = eigen_.eigenvalues().cwiseMax(kLeastMobility).cwiseInverse();
  inertia = (vectors * sizes.asDiagonal()).lazyProduct(vectors.transpose());
  const Matrix6V momentum = inertia.lazyProduct(J);
  projector = -inverse_.lazyProduct(momentum);
  projector.diagonal().array() += 1.0;
  smallest = smallest_singular_value(J, square_, eigen_);
}

VMS_PH_WIDE void PoseMotion::decouple(Evaluation& d) noexcept {
  null_ = projector.lazyProduct(d.v());
  along_ = d.v() - null_;
  bias_ = d.C().lazyProduct(null_);
  Cholesky(d.M()).solve(bias_.data());
  Vector6 drift = J_rate.lazyProduct(null_);
  drift -= J.lazyProduct(bias_);
  on_task = -(inertia * drift);
  const Vector6 momentum = inertia * twist;
  VectorV left = J_rate.transpose().lazyProduct(momentum);
  left -= d.C().transpose().lazyProduct(along_);
  on_null = projector.transpose().lazyProduct(left);
}

}  // namespace vms_ph
