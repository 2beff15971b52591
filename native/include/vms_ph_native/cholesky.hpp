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
#include "vms_ph_native/symmetric_factors.hpp"

namespace vms_ph {

/// The factors L D L^T of a symmetric positive definite matrix; see symmetric_factors.hpp.
class Cholesky {
 public:
  /// Decompose a matrix, of which the lower triangle is read.
  explicit Cholesky(const MatrixV& matrix) noexcept
      : size_(matrix.rows()), is_positive_(factorise(matrix)) {}

  /// Whether the matrix was positive definite; without that nothing can be solved.
  bool is_positive() const noexcept { return is_positive_; }

  /// Replace a vector, the first of as many entries as the matrix has rows, by the solution.
  void solve(double* x) const noexcept;

  /// Replace every column of a matrix by its solution.
  template <class Matrix>
  void solve_columns(Matrix& matrix) const noexcept {
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) solve(&matrix.coeffRef(0, k));
  }

 private:
  static_assert(kMaxVelocities % symmetric::kGroup == 0);

  bool factorise(const MatrixV& matrix) noexcept;

  Eigen::Index size_;
  double factor_[kMaxVelocities * kMaxVelocities];  ///< L, column after column
  double over_[kMaxVelocities];                     ///< one over D
  bool is_positive_;
};

}  // namespace vms_ph
