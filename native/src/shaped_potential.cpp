// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/shaped_potential.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

ShapedPotential::ShapedPotential(const Model& model)
    : model_(&model), q_star_(model.neutral_configuration()) {}

void ShapedPotential::set(const Minimum& minimum, double stiffness) noexcept {
  q_star_ = minimum.q;
  minimum_id_ = minimum.identifier;
  is_scalar_ = true;
  stiffness_ = stiffness;
}

void ShapedPotential::set(const Minimum& minimum, const WeightMatrix& weight) noexcept {
  q_star_ = minimum.q;
  minimum_id_ = minimum.identifier;
  is_scalar_ = false;
  weight_.matrix = weight.matrix;
  weight_.version = weight.version;
}

void ShapedPotential::copy_minimum(const ShapedPotential& source) noexcept {
  q_star_ = source.q_star_;
  minimum_id_ = source.minimum_id_;
}

double ShapedPotential::energy(const ConstVector& q) const noexcept {
  const VectorV offset = displacement(q);
  return 0.5 * offset.dot(apply_weight(offset));
}

VectorV ShapedPotential::gradient(const ConstVector& q) const noexcept {
  return apply_weight(displacement(q));
}

void ShapedPotential::add_weight(double share, MatrixV& stiffness) const noexcept {
  if (is_scalar_) {
    stiffness.diagonal().array() += share * stiffness_;
  } else {
    stiffness += share * weight_.matrix;
  }
}

bool ShapedPotential::is_same(const ShapedPotential& other) const noexcept {
  if (minimum_id_ != other.minimum_id_ || is_scalar_ != other.is_scalar_) return false;
  return is_scalar_ ? stiffness_ == other.stiffness_ : weight_.version == other.weight_.version;
}

VectorV ShapedPotential::displacement(const ConstVector& q) const noexcept {
  VectorV offset(model_->nv());
  model_->difference(q_star_, q, offset);
  return offset;
}

VectorV ShapedPotential::apply_weight(const VectorV& displacement) const noexcept {
  if (is_scalar_) return stiffness_ * displacement;
  return product<VectorV>(weight_.matrix, displacement);
}

MatrixV weight_of_task_stiffness(const PositionTask& task, Evaluation& d,
                                 const Eigen::Matrix3d& task_stiffness,
                                 double null_stiffness) noexcept {
  const Matrix3V jacobian = task.jacobian(d);
  TaskSvd svd;
  svd.compute(jacobian);
  const MatrixV null_map = null_space_map(svd.kernel, d.M());
  const Matrix3V stiff_jacobian = product<Matrix3V>(task_stiffness, jacobian);
  MatrixV weight = product<MatrixV>(transposed(jacobian), stiff_jacobian);
  add_product(transposed(null_map), null_map, weight, null_stiffness);
  const MatrixV weight_transposed = weight.transpose();
  return 0.5 * (weight + weight_transposed);
}

namespace {

// Distances of the reference shorter than this, m, count as zero.
constexpr double kNegligible = 1e-9;

// Smallest distance between reference and minimum, m, at which the reference is out of reach.
constexpr double kReachTolerance = 1e-3;

// Rate at which a minimum that cannot follow returns to its initial posture, 1/s.
constexpr double kPostureRate = 1.0;

}  // namespace

MinimumStep::MinimumStep(const Model& model)
    : model_(model),
      joint_limits_(model),
      state_(model),
      zero_velocity_(Eigen::VectorXd::Zero(model.nv())) {
  next_minimum.q = model.neutral_configuration();
}

Evaluation& MinimumStep::evaluate_at(const ConstVector& q) noexcept {
  state_.set(q, zero_velocity_);
  return state_;
}

void MinimumStep::compute(const PositionTask& task, const Minimum& current_minimum,
                          const Eigen::Vector3d& step, const VectorV& posture,
                          const Bounds& bounds) noexcept {
  evaluate_at(current_minimum.q);
  const Matrix3V jacobian = task.jacobian(state_);
  const Eigen::Vector3d position = task.origin(state_);
  Eigen::Vector3d position_step = current_minimum.x + step - position;
  const double distance = position_step.norm();
  was_at_target = distance < kNegligible;
  // A reference that the minimum cannot follow is held at this distance ahead of it.
  const double reach_limit = std::max(kReachTolerance, 2.0 * bounds.max_length);
  is_out_of_reach = distance > reach_limit;
  position_step *= distance > 0.0 ? std::min(1.0, reach_limit / distance) : 0.0;
  VectorV q0(model_.n());
  model_.joint_positions(current_minimum.q, q0);
  const VectorV displacement = next_q(jacobian, position_step, q0, posture, bounds) - q0;
  model_.integrate(current_minimum.q, displacement, next_minimum.q);
  next_minimum.x = position + position_step;
}

VectorV MinimumStep::next_q(const Matrix3V& jacobian, const Eigen::Vector3d& position_step,
                            const VectorV& q0, const VectorV& posture,
                            const Bounds& bounds) const noexcept {
  const double dt = bounds.dt, min_sigma = bounds.min_sigma;
  const Eigen::Index n = q0.size();
  VectorV free_mask = VectorV::Ones(n), posture_step = VectorV::Zero(n), q1 = q0;
  if (is_out_of_reach) {
    // A stretched arm could fold in the wrong direction: the initial posture decides.
    posture_step = posture - q0;
    posture_step *= dt * kPostureRate;
  }
  for (Eigen::Index pass = 0; pass < n; ++pass) {
    Matrix3V free_jacobian = jacobian;
    for (Eigen::Index i = 0; i < n; ++i) free_jacobian.col(i) *= free_mask[i];
    // Damped, so that a reference out of reach stops the minimum.
    auto gram = product<Eigen::Matrix3d>(free_jacobian, transposed(free_jacobian));
    for (Eigen::Index i = 0; i < 3; ++i) gram(i, i) += min_sigma * min_sigma;
    Eigen::Vector3d residual = position_step;
    add_product(free_jacobian, posture_step, residual, -1.0);
    const Eigen::Matrix3d inverse = gram.inverse();
    const Eigen::Vector3d multipliers = inverse * residual;
    VectorV increment = product<VectorV>(transposed(free_jacobian), multipliers);
    // Joints at a limit are excluded; the others move.
    double speed_ratio = 1.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      increment[i] += posture_step[i] * free_mask[i];
      speed_ratio = std::max(speed_ratio, std::abs(increment[i]) / (dt * model_.max_velocity()[i]));
    }
    increment /= speed_ratio;
    q1 = joint_limits_.clip_positions(q0 + increment, q0, bounds.margin);
    bool is_limited = false;
    for (Eigen::Index i = 0; i < n; ++i) {
      if (free_mask[i] == 0.0 || !(std::abs(q1[i] - q0[i] - increment[i]) > kNegligible)) continue;
      free_mask[i] = 0.0;
      is_limited = true;
    }
    if (!is_limited) break;
  }
  return q1;
}

ReferenceGovernor::ReferenceGovernor(const Model& model, const PositionTask& task, double min_sigma)
    : model_(model), task_(task), min_sigma_(min_sigma), minimum_step_(model), posture_(model.n()) {
  restart(model.neutral_configuration());
  interpolated_minimum_.q = current_minimum_.q;
}

Evaluation& ReferenceGovernor::restart(const ConstVector& q) noexcept {
  Evaluation& d = minimum_step_.evaluate_at(q);
  current_minimum_.q = q;
  current_minimum_.x = task_.origin(d);
  current_minimum_.identifier = ++last_identifier_;
  target_.reset();
  is_rejected_ = is_out_of_reach_ = false;
  was_at_target_ = true;
  model_.joint_positions(q, posture_);
  return d;
}

const Minimum& ReferenceGovernor::propose(const Reference& reference, double dt, double max_speed,
                                          double margin) noexcept {
  Eigen::Vector3d step = desired_step(reference, dt);
  const double length = step.norm();
  if (!(dt > 0.0) || (length < kNegligible && was_at_target_)) return current_minimum_;
  const double max_length = dt * max_speed;
  step *= length > 0.0 ? std::min(1.0, max_length / length) : 0.0;
  minimum_step_.compute(task_, current_minimum_, step, posture_,
                        {min_sigma_, dt, max_length, margin});
  was_at_target_ = minimum_step_.was_at_target;
  is_out_of_reach_ = minimum_step_.is_out_of_reach;
  minimum_step_.next_minimum.identifier = ++last_identifier_;
  return minimum_step_.next_minimum;
}

const Minimum& ReferenceGovernor::interpolate(const Minimum& minimum, double share) noexcept {
  VectorV displacement(model_.nv());
  model_.difference(current_minimum_.q, minimum.q, displacement);
  displacement *= share;
  model_.integrate(current_minimum_.q, displacement, interpolated_minimum_.q);
  interpolated_minimum_.x = current_minimum_.x + share * (minimum.x - current_minimum_.x);
  interpolated_minimum_.identifier = ++last_identifier_;
  return interpolated_minimum_;
}

void ReferenceGovernor::accept(const Minimum& minimum) noexcept {
  if (&minimum == &current_minimum_) return;
  current_minimum_ = minimum;
}

Eigen::Vector3d ReferenceGovernor::desired_step(const Reference& reference, double dt) noexcept {
  is_rejected_ = false;
  const bool has_position = is_finite(reference.position);
  if (has_position) target_ = reference.position;
  Eigen::Vector3d step = Eigen::Vector3d::Zero();
  if (is_finite(reference.velocity) && !has_position) {
    step += dt * *reference.velocity;
    target_.reset();
  }
  if (target_) step += *target_ - current_minimum_.x;
  return step;
}

bool ReferenceGovernor::is_finite(const std::optional<Eigen::Vector3d>& value) noexcept {
  if (!value) return false;
  if (value->allFinite()) return true;
  is_rejected_ = true;
  return false;
}

}  // namespace vms_ph
