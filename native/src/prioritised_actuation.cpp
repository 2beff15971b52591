// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/prioritised_actuation.hpp"

#include <cmath>
#include <string>

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/pseudo_inverse.hpp"

namespace vms_ph {
namespace {

// Part of the weighted wrench that may be missing before it is said, N or N m.
constexpr double kNoticeable = 1e-6;

/// A force has the weight 1, a moment ten over the actuators' mean lever arm.
VectorB default_weights(const Eigen::MatrixXd& matrix) {
  const Eigen::Index moments = matrix.rows() == 6 ? 3 : 1, forces = matrix.rows() - moments;
  const double pull = matrix.topRows(forces).norm(), turn = matrix.bottomRows(moments).norm();
  const double arm = pull > 0.0 && turn > 0.0 ? turn / pull : 1.0;
  VectorB weights = VectorB::Ones(matrix.rows());
  weights.tail(moments).setConstant(10.0 / arm);
  return weights;
}

VectorB chosen_weights(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& given) {
  if (given.size() == 0) return default_weights(matrix);
  if (given.size() == matrix.rows()) return given;
  throw ModelError("the weights of a wrench of " + std::to_string(matrix.rows()) +
                   " components are " + std::to_string(given.size()));
}

/// Multiply the rows of a matrix by weights.
Eigen::MatrixXd weighed(Eigen::MatrixXd matrix, const VectorB& weights) {
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) matrix.row(i) *= weights[i];
  return matrix;
}

const Allocation& checked(const Allocation& allocation) {
  const Eigen::Index count = allocation.matrix().cols();
  if (count > kMaxVelocities) {
    throw ModelError("a base with " + std::to_string(count) + " actuators has more than the " +
                     std::to_string(kMaxVelocities) + " that the C++ core serves");
  }
  return allocation;
}

}  // namespace

PrioritisedActuation::PrioritisedActuation(const Allocation& allocation,
                                           const Eigen::VectorXd& weights)
    : allocation_(checked(allocation)),
      weights_(chosen_weights(allocation.matrix(), weights)),
      weighted_(weighed(allocation.matrix(), weights_)),
      reach_(product<Eigen::MatrixXd>(weighted_, pseudo_inverse(weighted_))),
      held_(Eigen::VectorXd::Zero(weighted_.cols())),
      inputs_(held_),
      search_(weighted_),
      wrench_(VectorB::Zero(weighted_.rows())),
      goal_(wrench_),
      rest_(wrench_) {
  Eigen::MatrixXd free = weighted_;
  for (Eigen::Index i = 0; i < free.cols(); ++i) {
    if (allocation_.lower()[i] < allocation_.upper()[i]) continue;
    held_[i] = allocation_.lower()[i];
    free.col(i).setZero();
  }
  inverse_ = pseudo_inverse(free);
  for (Eigen::Index i = 0; i < free.cols(); ++i) {
    if (!(allocation_.lower()[i] < allocation_.upper()[i])) inverse_.row(i).setZero();
  }
}

const VectorB& PrioritisedActuation::apply(const ConstVector& wanted, const ConstVector&) noexcept {
  reason_.clear();
  goal_ = weights_.cwiseProduct(wanted);
  rest_ = goal_;
  add_product(weighted_, held_, rest_, -1.0);
  inputs_ = held_;
  add_product(inverse_, rest_, inputs_);
  if (!within()) search_.solve(goal_, allocation_.lower(), allocation_.upper(), inputs_);
  multiply(allocation_.matrix(), inputs_, wrench_);
  rest_ = weights_.cwiseProduct(wanted - wrench_);
  // What no inputs can make is not missed.
  const auto lost = product<VectorB>(reach_, rest_);
  if (lost.cwiseAbs().maxCoeff() > kNoticeable * (1.0 + goal_.cwiseAbs().maxCoeff())) {
    reason_.set("base wrench at the limits of its actuators");
  }
  return wrench_;
}

bool PrioritisedActuation::within() const noexcept {
  for (Eigen::Index i = 0; i < inputs_.size(); ++i) {
    const bool fits = inputs_[i] >= allocation_.lower()[i] && inputs_[i] <= allocation_.upper()[i];
    if (!fits) return false;
  }
  return true;
}

}  // namespace vms_ph
