// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/shaped_potential.hpp"

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/split_motion.hpp"

namespace vms_ph {

ShapedPotential::ShapedPotential(const Model& model)
    : model_(&model), q_star_(model.neutral_configuration()) {}

void ShapedPotential::set(const Minimum& minimum, double stiffness) noexcept {
  q_star_ = minimum.q;
  minimum_ = minimum.identifier;
  is_number_ = true;
  number_ = stiffness;
}

void ShapedPotential::set(const Minimum& minimum, const Weight& weight) noexcept {
  q_star_ = minimum.q;
  minimum_ = minimum.identifier;
  is_number_ = false;
  weight_.matrix = weight.matrix;
  weight_.version = weight.version;
}

void ShapedPotential::move(const ShapedPotential& source) noexcept {
  q_star_ = source.q_star_;
  minimum_ = source.minimum_;
}

double ShapedPotential::energy(const ConstVector& q) const noexcept {
  const VectorV offset = displacement(q);
  return 0.5 * offset.dot(weighted(offset));
}

VectorV ShapedPotential::gradient(const ConstVector& q) const noexcept {
  return weighted(displacement(q));
}

void ShapedPotential::add_weight(double share, MatrixV& stiffness) const noexcept {
  if (is_number_) {
    stiffness.diagonal().array() += share * number_;
  } else {
    stiffness += share * weight_.matrix;
  }
}

bool ShapedPotential::is_same(const ShapedPotential& other) const noexcept {
  if (minimum_ != other.minimum_ || is_number_ != other.is_number_) return false;
  return is_number_ ? number_ == other.number_ : weight_.version == other.weight_.version;
}

VectorV ShapedPotential::displacement(const ConstVector& q) const noexcept {
  VectorV offset(model_->nv());
  model_->difference(q_star_, q, offset);
  return offset;
}

VectorV ShapedPotential::weighted(const VectorV& displacement) const noexcept {
  if (is_number_) return number_ * displacement;
  return product<VectorV>(weight_.matrix, displacement);
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
