// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "nearest_inputs.hpp"

namespace vms_ph_ros2_control {
namespace {

// Squares of singular values below this share of the largest are those of wrenches that no inputs
// make.
constexpr double kRank = 1e-13;

}  // namespace

void NearestInputs::replace(const Eigen::MatrixXd& weighted) noexcept {
  weighted_ = weighted;
  search_.replace(weighted);
}

bool NearestInputs::solve_freely(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower,
                                 const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept {
  const Eigen::Index b = weighted_.rows(), m = weighted_.cols();
  gram_.setZero(b, b);
  rest_ = goal;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (lower[i] < upper[i]) {
      gram_.noalias() += weighted_.col(i).lazyProduct(weighted_.col(i).transpose());
    } else {
      rest_ -= lower[i] * weighted_.col(i);
    }
  }
  eigen_.compute(gram_);
  const auto& squares = eigen_.values();
  part_.noalias() = eigen_.vectors().transpose().lazyProduct(rest_);
  for (Eigen::Index k = 0; k < b; ++k) {
    part_[k] = squares[k] > kRank * squares[b - 1] ? part_[k] / squares[k] : 0.0;
  }
  rest_.noalias() = eigen_.vectors().lazyProduct(part_);
  for (Eigen::Index i = 0; i < m; ++i) {
    inputs[i] = lower[i] < upper[i] ? weighted_.col(i).dot(rest_) : lower[i];
    if (!(inputs[i] >= lower[i] && inputs[i] <= upper[i])) return false;
  }
  return true;
}

void NearestInputs::solve(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower,
                          const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept {
  if (!solve_freely(goal, lower, upper, inputs)) search_.solve(goal, lower, upper, inputs);
}

}  // namespace vms_ph_ros2_control
