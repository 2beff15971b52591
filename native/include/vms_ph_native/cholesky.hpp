// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Cholesky decomposition of matrices of a few rows.
#pragma once

#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/symmetric_factors.hpp"

namespace vms_ph {

/// The factors L D L^T of a symmetric positive definite matrix; see symmetric_factors.hpp.
class Cholesky {
 public:
  /// Those of the velocities and of ten inertial parameters besides.
  static constexpr int kMaxRows = kMaxVelocities + 12;

  Cholesky() = default;

  /// Decompose a matrix as compute() does.
  explicit Cholesky(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept { compute(matrix); }

  /// Decompose a matrix, of which the lower triangle is read; return whether it is positive
  /// definite. Without that all solutions are NaN.
  bool compute(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept;

  /// Whether the matrix was positive definite.
  bool is_positive() const noexcept { return is_positive_; }

  /// Replace a vector, the first of as many entries as the matrix has rows, by the solution.
  void solve(double* x) const noexcept;

  /// Replace a vector x by R x, or by the solution of R x, where the matrix is R R^T.
  void multiply_root(double* x) const noexcept;
  void solve_root(double* x) const noexcept;

  /// Replace every column of a matrix by its solution.
  template <class Matrix>
  void solve_columns(Matrix& matrix) const noexcept {
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) solve(&matrix.coeffRef(0, k));
  }

 private:
  static_assert(kMaxRows % symmetric::kGroup == 0);

  Eigen::Index size_ = 0;
  double factor_[kMaxRows * kMaxRows];  ///< L, column after column
  double over_[kMaxRows];               ///< one over D
  bool is_positive_ = false;
};

}  // namespace vms_ph
