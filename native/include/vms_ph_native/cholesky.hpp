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

// The Cholesky decomposition of matrices of a few rows.
#pragma once

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The factors L D L^T of a symmetric positive definite matrix. At the sizes of robots plain loops
/// take half the time of Eigen's LLT, which works in blocks; these go over four rows at a time, so
/// that compilers turn them into operations on vectors without a rest.
class Cholesky {
 public:
  /// Decompose a matrix, of which the lower triangle is read.
  explicit Cholesky(const MatrixV& matrix) noexcept
      : size_(matrix.rows()),
        rows_((size_ + kTogether - 1) / kTogether * kTogether),
        is_positive_(factorise(matrix)) {}

  /// Whether the matrix was positive definite; without that nothing can be solved.
  bool is_positive() const noexcept { return is_positive_; }

  /// Replace a vector, the first of as many entries as the matrix has rows, by the solution.
  void solve(double* x) const noexcept {
    double y[kMaxVelocities];
    for (Eigen::Index i = 0; i < rows_; ++i) y[i] = i < size_ ? x[i] : 0.0;
    for (Eigen::Index j = 0; j < size_; ++j) {
      const double* column = factor_ + j * kMaxVelocities;
      const double value = y[j];
      for (Eigen::Index r = first(j); r < rows_; r += kTogether) {
        for (Eigen::Index l = 0; l < kTogether; ++l) y[r + l] -= value * column[r + l];
      }
      y[j] = value * over_[j];
    }
    for (Eigen::Index j = size_; j-- > 0;) {
      const double* column = factor_ + j * kMaxVelocities;
      double sums[kTogether] = {};
      for (Eigen::Index r = first(j); r < rows_; r += kTogether) {
        for (Eigen::Index l = 0; l < kTogether; ++l) sums[l] += column[r + l] * y[r + l];
      }
      y[j] -= (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    for (Eigen::Index i = 0; i < size_; ++i) x[i] = y[i];
  }

  /// Replace every column of a matrix by its solution.
  template <class Matrix>
  void solve_columns(Matrix& matrix) const noexcept {
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) solve(&matrix.coeffRef(0, k));
  }

 private:
  static constexpr Eigen::Index kTogether = 4;
  static_assert(kMaxVelocities % kTogether == 0);

  /// The first row of the group that a row is in.
  static Eigen::Index first(Eigen::Index row) { return row / kTogether * kTogether; }

  /// Column after column; in groups that contain the diagonal, the rows above it are zero.
  bool factorise(const MatrixV& matrix) noexcept {
    double scaled[kMaxVelocities];
    for (Eigen::Index j = 0; j < size_; ++j) {
      double* column = factor_ + j * kMaxVelocities;
      const double* given = matrix.data() + j * size_;
      for (Eigen::Index i = first(j); i < j; ++i) column[i] = 0.0;
      for (Eigen::Index i = j; i < size_; ++i) column[i] = given[i];
      for (Eigen::Index i = size_; i < rows_; ++i) column[i] = 0.0;
      double pivot = column[j];
      for (Eigen::Index k = 0; k < j; ++k) {
        const double entry = factor_[k * kMaxVelocities + j];
        scaled[k] = entry * diagonal_[k];
        pivot -= entry * scaled[k];
      }
      // Written so that it is false for numbers that are not finite.
      if (!(pivot > 0.0)) return false;
      const double over = 1.0 / pivot;
      diagonal_[j] = pivot;
      over_[j] = over;
      for (Eigen::Index r = first(j); r < rows_; r += kTogether) {
        double sums[kTogether];
        for (Eigen::Index l = 0; l < kTogether; ++l) sums[l] = column[r + l];
        for (Eigen::Index k = 0; k < j; ++k) {
          const double* earlier = factor_ + k * kMaxVelocities + r;
          for (Eigen::Index l = 0; l < kTogether; ++l) sums[l] -= scaled[k] * earlier[l];
        }
        for (Eigen::Index l = 0; l < kTogether; ++l) column[r + l] = over * sums[l];
      }
      for (Eigen::Index i = first(j); i <= j; ++i) column[i] = 0.0;  // the diagonal of L is one
    }
    return true;
  }

  Eigen::Index size_, rows_;
  double factor_[kMaxVelocities * kMaxVelocities];
  double diagonal_[kMaxVelocities], over_[kMaxVelocities];
  bool is_positive_;
};

}  // namespace vms_ph
