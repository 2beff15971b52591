// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pose_motion.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
// singularities, and leaves it as it is elsewhere.
constexpr double kLeastMobility = 1e-4;

}  // namespace

double smallest_singular_value(const Matrix6V& jacobian, MatrixV& square,
                               SymmetricEigen& eigen) noexcept {
  // Of the fewer of rows and columns.
  if (jacobian.cols() < 6) {
    multiply(transposed(jacobian), jacobian, square);
  } else {
    multiply(jacobian, transposed(jacobian), square);
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

void PoseMotion::compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept {
  J = d.frame_jacobian(frame, pinocchio::LOCAL);
  J_rate = d.frame_jacobian_rate(frame, pinocchio::LOCAL);
  multiply(J, d.v(), twist);
  inverse_ = J.transpose();
  Cholesky(d.M()).solve_columns(inverse_);
  multiply(J, inverse_, mobility_);
  invert();
  smallest = smallest_singular_value(J, square_, eigen_);

  // Pi = 1 - M^-1 J^T Lambda J; where Lambda is bounded it is no exact projector.
  const auto turned = product<Matrix6>(mobility_, inertia);
  Matrix6 both = 2.0 * inertia;
  add_product(inertia, turned, both, -1.0);
  const auto momenta = product<Matrix6V>(both, J);
  null_inertia = d.M();
  add_product(transposed(J), momenta, null_inertia, -1.0);

  const auto momentum = product<Vector6>(inertia, twist);
  multiply(inverse_, momentum, along_);
  null_ = d.v() - along_;
  multiply(d.C(), null_, force_);
  auto drift = product<Vector6>(J_rate, null_);
  add_product(transposed(inverse_), force_, drift, -1.0);
  on_task.setZero();
  add_product(inertia, drift, on_task, -1.0);
  multiply(transposed(J_rate), momentum, on_null);
  add_product(transposed(d.C()), along_, on_null, -1.0);
  const auto moved = product<Vector6>(transposed(inverse_), on_null);
  const auto felt = product<Vector6>(inertia, moved);
  add_product(transposed(J), felt, on_null, -1.0);
}

/// Invert the mobility, of which the least eigenvalue is bounded.
void PoseMotion::invert() noexcept {
  square_ = mobility_;
  for (Eigen::Index k = 0; k < 6; ++k) square_(k, k) -= kLeastMobility;
  if (Cholesky(square_).is_positive()) {  // no eigenvalue is at the bound: the usual case
    square_.setIdentity();
    Cholesky(mobility_).solve_columns(square_);
    inertia = square_;
    return;
  }
  mobility_eigen_.compute(mobility_);
  const Matrix6 vectors = mobility_eigen_.vectors();
  Matrix6 scaled = vectors;
  for (Eigen::Index k = 0; k < 6; ++k) {
    scaled.col(k) /= std::max(mobility_eigen_.values()[k], kLeastMobility);
  }
  multiply(scaled, transposed(vectors), inertia);
}

}  // namespace vms_ph
