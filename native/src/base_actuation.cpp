// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/base_actuation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <Eigen/Geometry>

namespace vms_ph {
namespace {

using Wrench = Eigen::Matrix<double, 6, 1>;

// Squares of singular values below this share of the largest one count as zero.
constexpr double kRankTolerance = 1e-9;

/// The wrench of a thrust of 1 N at the base's origin.
Wrench unit_thrust_wrench(const Rotor& rotor, const std::string& name) {
  if (!rotor.axis.allFinite()) throw ModelError("axis of " + name + " must be finite");
  if (!rotor.position.allFinite()) throw ModelError("position of " + name + " must be finite");
  const double length = rotor.axis.norm();
  if (length == 0.0) throw ModelError("the axis of " + name + " has length zero");
  if (!std::isfinite(rotor.drag_ratio)) {
    throw ModelError("drag_ratio of " + name +
                     " must be finite; given: " + std::to_string(rotor.drag_ratio));
  }
  const Eigen::Vector3d axis = rotor.axis / length;
  Wrench wrench;
  wrench << axis, rotor.position.cross(axis) + rotor.drag_ratio * axis;
  return wrench;
}

void check_limits(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper) {
  for (Eigen::Index i = 0; i < lower.size(); ++i) {
    if (!(lower[i] <= upper[i])) {
      throw ModelError("the limits of rotor " + std::to_string(i) +
                       " must be lower <= upper; given: " + std::to_string(lower[i]) + ", " +
                       std::to_string(upper[i]));
    }
  }
}

// Rounding of inputs, relative to the largest: that of an inverse of the map.
constexpr double kRounding = 1e-9;

/// The inverse of a map of inputs. An input without room between its limits, such as a failed one,
/// takes no part: it is written to `fixed_inputs`, (m,), zero for the others.
Eigen::MatrixXd active_inverse(const Allocation& allocation, Eigen::MatrixXd input_map,
                               Eigen::VectorXd& fixed_inputs) {
  const auto is_fixed = (allocation.lower().array() < allocation.upper().array()) == false;
  fixed_inputs = is_fixed.select(allocation.lower(), 0.0);
  for (Eigen::Index i = 0; i < input_map.cols(); ++i) {
    if (is_fixed[i]) input_map.col(i).setZero();
  }
  Eigen::MatrixXd inverse = pseudo_inverse(input_map);
  for (Eigen::Index i = 0; i < input_map.cols(); ++i) {
    if (is_fixed[i]) inverse.row(i).setZero();
  }
  return inverse;
}

// Largest missing part of the weighted wrench that is not reported, N or N m.
constexpr double kTolerance = 1e-6;

/// A force has the weight 1, a moment ten over the actuators' mean lever arm.
VectorB default_weights(const Eigen::MatrixXd& matrix) {
  const Eigen::Index n_moments = matrix.rows() == 6 ? 3 : 1, n_forces = matrix.rows() - n_moments;
  const double force_norm = matrix.topRows(n_forces).norm(),
               moment_norm = matrix.bottomRows(n_moments).norm();
  const double lever_arm = force_norm > 0.0 && moment_norm > 0.0 ? moment_norm / force_norm : 1.0;
  VectorB weights = VectorB::Ones(matrix.rows());
  weights.tail(n_moments).setConstant(10.0 / lever_arm);
  return weights;
}

VectorB checked_weights(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& weights) {
  if (weights.size() == 0) return default_weights(matrix);
  if (weights.size() == matrix.rows()) return weights;
  throw ModelError("the weights of a wrench of " + std::to_string(matrix.rows()) +
                   " components are " + std::to_string(weights.size()));
}

const Allocation& checked_allocation(const Allocation& allocation) {
  const Eigen::Index count = allocation.matrix().cols();
  if (count > kMaxVelocities) {
    throw ModelError("a base with " + std::to_string(count) + " actuators has more than the " +
                     std::to_string(kMaxVelocities) + " that the C++ core serves");
  }
  return allocation;
}

}  // namespace

Allocation::Allocation(const std::vector<Rotor>& rotors, Base base) {
  if (rotors.empty()) throw ModelError("an allocation needs at least one rotor or thruster");
  if (base == Base::fixed) {
    throw ModelError("actuators act on a floating or planar base; given: a fixed one");
  }
  const auto m = static_cast<Eigen::Index>(rotors.size());
  matrix_.resize(base == Base::floating ? 6 : 3, m);
  lower_.resize(m);
  upper_.resize(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const Rotor& rotor = rotors[static_cast<std::size_t>(i)];
    const Wrench wrench = unit_thrust_wrench(rotor, "rotor " + std::to_string(i));
    if (base == Base::floating) {
      matrix_.col(i) = wrench;
    } else {
      matrix_.col(i) << wrench[0], wrench[1], wrench[5];
    }
    lower_[i] = rotor.lower;
    upper_[i] = rotor.upper;
  }
  check_limits(lower_, upper_);
}

Allocation::Allocation(Eigen::MatrixXd matrix, Eigen::VectorXd lower, Eigen::VectorXd upper)
    : matrix_(std::move(matrix)), lower_(std::move(lower)), upper_(std::move(upper)) {
  const auto m = matrix_.cols();
  if ((matrix_.rows() != 3 && matrix_.rows() != 6) || m == 0 || lower_.size() != m ||
      upper_.size() != m) {
    throw ModelError(
        "an allocation is a (6,m) or (3,m) matrix with m lower and m upper limits; "
        "given: (" +
        std::to_string(matrix_.rows()) + "," + std::to_string(m) + ") with " +
        std::to_string(lower_.size()) + " and " + std::to_string(upper_.size()));
  }
  if (!matrix_.allFinite()) throw ModelError("the matrix of an allocation must be finite");
  check_limits(lower_, upper_);
}

bool Allocation::is_fully_actuated() const {
  SymmetricEigen gram_eigen;
  gram_eigen.compute(product<Eigen::MatrixXd>(matrix_, transposed(matrix_)));
  const Eigen::VectorXd& eigenvalues = gram_eigen.values();
  return eigenvalues[0] > kRankTolerance * eigenvalues[eigenvalues.size() - 1];
}

BaseActuation::BaseActuation(const Model& model, std::optional<Allocation> allocation,
                             bool base_actuated)
    : is_actuated_(base_actuated && model.b() > 0),
      allocation_(std::move(allocation)),
      wrench_(VectorB::Zero(model.b())),
      residual_(wrench_) {
  if (!allocation_) return;
  const Eigen::MatrixXd& matrix = allocation_->matrix();
  if (matrix.rows() != model.b()) {
    throw ModelError("the allocation makes wrenches of " + std::to_string(matrix.rows()) +
                     " components; the " + name_of(model.base()) + " base of '" + model.name() +
                     "' has " + std::to_string(model.b()));
  }
  inverse_ = active_inverse(*allocation_, matrix, fixed_inputs_);
  multiply(matrix, fixed_inputs_, fixed_wrench_);
  multiply(matrix, inverse_, projector_);
  thrusts_ = static_thrusts_ = thrust_step_ = Eigen::VectorXd::Zero(matrix.cols());
}

const VectorB& BaseActuation::apply(const ConstVector& desired_wrench,
                                    const ConstVector& static_wrench) noexcept {
  reason_.clear();
  if (!is_actuated_) return wrench_;
  if (!allocation_) {
    wrench_ = desired_wrench;
    return wrench_;
  }
  residual_ = static_wrench - fixed_wrench_;
  static_thrusts_ = fixed_inputs_;
  add_product(inverse_, residual_, static_thrusts_);
  wrench_ = desired_wrench - fixed_wrench_;
  thrusts_ = fixed_inputs_;
  add_product(inverse_, wrench_, thrusts_);
  thrust_step_ = thrusts_ - static_thrusts_;
  multiply(projector_, wrench_, residual_);
  residual_ -= wrench_;
  if (static_thrusts_exceed_limits()) {
    clip_thrusts();
    reason_.set("the base cannot hold the robot against gravity");
  } else if (const double share = share_within_limits(static_thrusts_, thrust_step_,
                                                      allocation_->lower(), allocation_->upper());
             share < 1.0) {
    thrusts_ = static_thrusts_ + share * thrust_step_;
    clip_thrusts();
    reason_.set("base wrench at its limit: %.0f%% of the desired wrench beyond gravity",
                100.0 * share);
  } else if (residual_.cwiseAbs().maxCoeff() > 1e-9) {
    reason_.set("the base has no actuator for a part of the wrench");
  }
  multiply(allocation_->matrix(), thrusts_, wrench_);
  return wrench_;
}

/// Whether the static thrusts exceed the limits by more than rounding.
bool BaseActuation::static_thrusts_exceed_limits() const noexcept {
  const double tolerance = kRounding * static_thrusts_.cwiseAbs().maxCoeff();
  return ((allocation_->lower() - static_thrusts_).array() > tolerance).any() ||
         ((static_thrusts_ - allocation_->upper()).array() > tolerance).any();
}

void BaseActuation::clip_thrusts() noexcept {
  thrusts_ = thrusts_.cwiseMax(allocation_->lower()).cwiseMin(allocation_->upper());
}

double share_within_limits(const ConstVector& start, const ConstVector& step,
                           const ConstVector& lower, const ConstVector& upper) noexcept {
  double share = 1.0;
  for (Eigen::Index i = 0; i < step.size(); ++i) {
    const double magnitude = std::abs(step[i]);
    if (magnitude <= 1e-12) continue;
    const double margin = step[i] > 0.0 ? upper[i] - start[i] : start[i] - lower[i];
    share = std::min(share, std::max(0.0, margin) / magnitude);
  }
  return share;
}

PrioritisedActuation::PrioritisedActuation(const Allocation& allocation,
                                           const Eigen::VectorXd& weights)
    : allocation_(checked_allocation(allocation)),
      weights_(checked_weights(allocation.matrix(), weights)),
      weighted_map_(weights_.asDiagonal() * allocation.matrix()),
      projector_(product<Eigen::MatrixXd>(weighted_map_, pseudo_inverse(weighted_map_))),
      fixed_inputs_(Eigen::VectorXd::Zero(weighted_map_.cols())),
      inputs_(fixed_inputs_),
      solver_(weighted_map_),
      wrench_(VectorB::Zero(weighted_map_.rows())),
      weighted_goal_(wrench_),
      residual_(wrench_) {
  inverse_ = active_inverse(allocation_, weighted_map_, fixed_inputs_);
}

const VectorB& PrioritisedActuation::apply(const ConstVector& desired_wrench,
                                           const ConstVector&) noexcept {
  reason_.clear();
  weighted_goal_ = weights_.cwiseProduct(desired_wrench);
  residual_ = weighted_goal_;
  add_product(weighted_map_, fixed_inputs_, residual_, -1.0);
  inputs_ = fixed_inputs_;
  add_product(inverse_, residual_, inputs_);
  if (!is_within_limits())
    solver_.solve(weighted_goal_, allocation_.lower(), allocation_.upper(), inputs_);
  multiply(allocation_.matrix(), inputs_, wrench_);
  residual_ = weights_.cwiseProduct(desired_wrench - wrench_);
  // Components that no inputs can produce do not count.
  const auto shortfall = product<VectorB>(projector_, residual_);
  if (shortfall.cwiseAbs().maxCoeff() > kTolerance * (1.0 + weighted_goal_.cwiseAbs().maxCoeff())) {
    reason_.set(reasons::base_wrench_limited);
  }
  return wrench_;
}

bool PrioritisedActuation::is_within_limits() const noexcept {
  return (inputs_.array() >= allocation_.lower().array()).all() &&
         (inputs_.array() <= allocation_.upper().array()).all();
}

}  // namespace vms_ph
