// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/bounded_least_squares.hpp"

#include <algorithm>
#include <limits>

#include "vms_ph_native/cholesky.hpp"

namespace vms_ph {
namespace {

// Share of the largest eigenvalue that is added to all, so that the solution is unique.
constexpr double kUnique = 1e-9;

// Searches that begin at the solution of the one before and add to the distance from it instead, so
// that what is added has no effect in the end.
constexpr int kCorrections = 3;

// A gradient of this size, relative to its terms, releases no bound: what is added is 1e-9 of them.
constexpr double kRounding = 1e-13;

}  // namespace

BoundedLeastSquares::BoundedLeastSquares(const Eigen::MatrixXd& A) { replace(A); }

void BoundedLeastSquares::replace(const Eigen::MatrixXd& A, double share) noexcept {
  At_ = A.transpose();
  H_.noalias() = At_.lazyProduct(A);
  if (share > 0.0) H_.diagonal().array() += share * H_.trace();
  regularisation_ = kUnique * std::max(H_.trace(), 1e-300);
  H_.diagonal().array() += regularisation_;
}

void BoundedLeastSquares::solve(const VectorB& b, const Eigen::VectorXd& lower,
                                const Eigen::VectorXd& upper, Eigen::VectorXd& x) noexcept {
  const Eigen::Index m = H_.rows();
  linear_term_.noalias() = At_.lazyProduct(b);
  for (Eigen::Index i = 0; i < m; ++i) {
    x[i] = std::min(std::max(0.0, lower[i]), upper[i]);
    active_bounds_[i] = x[i] == upper[i] ? 1 : x[i] == lower[i] ? -1 : 0;
  }
  // The least error, then the smallest x with the same A x.
  for (int round = 0; round < 2; ++round) {
    g_ = linear_term_;
    search(lower, upper, x);
    for (int k = 0; k < kCorrections; ++k) {
      g_ = linear_term_ + regularisation_ * x;
      search(lower, upper, x);
    }
    linear_term_.noalias() = H_.lazyProduct(x);
    linear_term_ -= regularisation_ * x;
  }
  x = x.cwiseMax(lower).cwiseMin(upper);
}

/// Move x to the least of x.H x / 2 - g.x within the bounds.
void BoundedLeastSquares::search(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                                 Eigen::VectorXd& x) noexcept {
  const Eigen::Index m = H_.rows();
  const double largest_entry = H_.cwiseAbs().maxCoeff(), largest_g = g_.cwiseAbs().maxCoeff();
  for (Eigen::Index k = 0; k < 10 * m; ++k) {
    if (step_to_bound(lower, upper, x)) continue;
    gradient_.noalias() = H_.lazyProduct(x);
    gradient_ -= g_;
    Eigen::Index worst = 0;
    double largest_multiplier = -std::numeric_limits<double>::infinity();
    for (Eigen::Index i = 0; i < m; ++i) {
      const double multiplier = lower[i] == upper[i] ? 0.0 : active_bounds_[i] * gradient_[i];
      if (multiplier > largest_multiplier) largest_multiplier = multiplier, worst = i;
    }
    const double size = largest_g + largest_entry * x.cwiseAbs().maxCoeff();
    if (!(largest_multiplier > kRounding * size)) break;
    active_bounds_[worst] = 0;
  }
}

/// Step to the minimum over the free entries, or to the first bound on the way; whether one was
/// met.
bool BoundedLeastSquares::step_to_bound(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                                        Eigen::VectorXd& x) noexcept {
  Eigen::Index count = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (active_bounds_[i] == 0) free_indices_[count++] = i;
  }
  if (count == 0) return false;
  free_hessian_.resize(count, count);
  step_.resize(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < count; ++j)
      free_hessian_(i, j) = H_(free_indices_[i], free_indices_[j]);
    step_[i] = g_[free_indices_[i]] - H_.row(free_indices_[i]).dot(x);
  }
  Cholesky(free_hessian_).solve(step_.data());
  Eigen::Index first = 0;
  double step_length = std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i < count; ++i) {
    if (step_[i] == 0.0) continue;
    const double bound = step_[i] > 0.0 ? upper[free_indices_[i]] : lower[free_indices_[i]];
    const double share = (bound - x[free_indices_[i]]) / step_[i];
    if (share < step_length) step_length = share, first = i;
  }
  const bool is_blocked = step_length < 1.0;
  for (Eigen::Index i = 0; i < count; ++i)
    x[free_indices_[i]] += (is_blocked ? step_length : 1.0) * step_[i];
  if (!is_blocked) return false;
  const bool up = step_[first] > 0.0;
  x[free_indices_[first]] = up ? upper[free_indices_[first]] : lower[free_indices_[first]];
  active_bounds_[free_indices_[first]] = up ? 1 : -1;
  return true;
}

}  // namespace vms_ph
