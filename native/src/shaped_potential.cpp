// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/shaped_potential.hpp"

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/split_motion.hpp"
#include "vms_ph_native/task_svd.hpp"

namespace vms_ph {

ShapedPotential::ShapedPotential(const Model& model)
    : model_(&model), q_star_(model.neutral_configuration()) {}

void ShapedPotential::set(const Minimum& minimum, double stiffness) noexcept {
  q_star_ = minimum.q;
  place_ = minimum.place;
  is_number_ = true;
  number_ = stiffness;
}

void ShapedPotential::set(const Minimum& minimum, const Weight& weight) noexcept {
  q_star_ = minimum.q;
  place_ = minimum.place;
  is_number_ = false;
  weight_.matrix = weight.matrix;
  weight_.name = weight.name;
}

void ShapedPotential::move(const ShapedPotential& there) noexcept {
  q_star_ = there.q_star_;
  place_ = there.place_;
}

double ShapedPotential::energy(const ConstVector& q) const noexcept {
  const VectorV apart = away(q);
  return 0.5 * apart.dot(weighted(apart));
}

VectorV ShapedPotential::gradient(const ConstVector& q) const noexcept { return weighted(away(q)); }

void ShapedPotential::add_weight(double share, MatrixV& stiffness) const noexcept {
  if (is_number_) {
    stiffness.diagonal().array() += share * number_;
  } else {
    stiffness += share * weight_.matrix;
  }
}

bool ShapedPotential::is_same(const ShapedPotential& other) const noexcept {
  if (place_ != other.place_ || is_number_ != other.is_number_) return false;
  return is_number_ ? number_ == other.number_ : weight_.name == other.weight_.name;
}

VectorV ShapedPotential::away(const ConstVector& q) const noexcept {
  VectorV apart(model_->nv());
  model_->difference(q_star_, q, apart);
  return apart;
}

VectorV ShapedPotential::weighted(const VectorV& away) const noexcept {
  if (is_number_) return number_ * away;
  return product<VectorV>(weight_.matrix, away);
}

MatrixV weight_of_task_stiffness(const PositionTask& task, Evaluation& d,
                                 const Eigen::Matrix3d& task_stiffness,
                                 double null_stiffness) noexcept {
  const Matrix3V jacobian = task.jacobian(d);
  TaskSvd svd;
  svd.compute(jacobian);
  const MatrixV n = null_space_map(svd.kernel, d.M());
  const Matrix3V stretched = product<Matrix3V>(task_stiffness, jacobian);
  MatrixV weight = product<MatrixV>(transposed(jacobian), stretched);
  add_product(transposed(n), n, weight, null_stiffness);
  const MatrixV mirrored = weight.transpose();
  return 0.5 * (weight + mirrored);
}

}  // namespace vms_ph
