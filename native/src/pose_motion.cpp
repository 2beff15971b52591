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
  return std::sqrt(std::max(eigen.least(square), 0.0));
}

PoseMotion::PoseMotion(const Model& model)
    : J(Matrix6V::Zero(6, model.nv())),
      J_rate(J),
      inertia(Matrix6::Zero()),
      null_inertia(MatrixV::Zero(model.nv(), model.nv())),
      twist(Vector6::Zero()),
      on_task(Vector6::Zero()),
      on_null(VectorV::Zero(model.nv())),
      nv_(model.nv()),
      eigen_(std::min(6, nv_)),
      mobility_eigen_(6) {
  inverse_.setZero(nv_, 6);
}

VMS_PH_WIDE void PoseMotion::compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept {
  J = d.frame_jacobian(frame, pinocchio::LOCAL);
  J_rate = d.frame_jacobian_rate(frame, pinocchio::LOCAL);
  twist = J.lazyProduct(d.v());
  inverse_ = J.transpose();
  Cholesky(d.M()).solve_columns(inverse_);
  mobility_ = J.lazyProduct(inverse_);
  invert();
  smallest = smallest_singular_value(J, square_, eigen_);

  // Pi = 1 - M^-1 J^T Lambda J; where Lambda is bounded it is no exact projector.
  const Matrix6 turned = mobility_.lazyProduct(inertia);
  const Matrix6 both = 2.0 * inertia - inertia.lazyProduct(turned);
  const Matrix6V momenta = both.lazyProduct(J);
  null_inertia = d.M();
  null_inertia -= J.transpose().lazyProduct(momenta);

  const Vector6 momentum = inertia.lazyProduct(twist);
  along_ = inverse_.lazyProduct(momentum);
  null_ = d.v() - along_;
  force_ = d.C().lazyProduct(null_);
  Vector6 drift = J_rate.lazyProduct(null_);
  drift -= inverse_.transpose().lazyProduct(force_);
  on_task = -inertia.lazyProduct(drift);
  on_null = J_rate.transpose().lazyProduct(momentum);
  on_null -= d.C().transpose().lazyProduct(along_);
  const Vector6 moved = inverse_.transpose().lazyProduct(on_null);
  const Vector6 felt = inertia.lazyProduct(moved);
  on_null -= J.transpose().lazyProduct(felt);
}

/// Invert the mobility, of which the least eigenvalue is bounded.
VMS_PH_WIDE void PoseMotion::invert() noexcept {
  square_ = mobility_;
  square_.diagonal().array() -= kLeastMobility;
  if (Cholesky(square_).is_positive()) {  // no eigenvalue is at the bound: the usual case
    square_.setIdentity();
    Cholesky(mobility_).solve_columns(square_);
    inertia = square_;
    return;
  }
  mobility_eigen_.compute(mobility_);
  const Matrix6 vectors = mobility_eigen_.vectors();
  const Vector6 sizes = mobility_eigen_.values().cwiseMax(kLeastMobility).cwiseInverse();
  inertia = (vectors * sizes.asDiagonal()).lazyProduct(vectors.transpose());
}

}  // namespace vms_ph
