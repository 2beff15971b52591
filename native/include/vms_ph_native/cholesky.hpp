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

#include <cmath>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The lower factor of a symmetric positive definite matrix. At the sizes of robots plain loops
/// take half the time of Eigen's LLT, which works in blocks.
class Cholesky {
 public:
  /// Replace the lower triangle of a matrix by its factor; it must outlive this object.
  explicit Cholesky(MatrixV& matrix) noexcept
      : size_(matrix.rows()), factor_(matrix.data()), is_positive_(factorise()) {}

  /// Whether the matrix was positive definite; without that nothing can be solved.
  bool is_positive() const noexcept { return is_positive_; }

  /// Replace a vector, the first of as many entries as the matrix has rows, by the solution.
  void solve(double* x) const noexcept {
    for (Eigen::Index j = 0; j < size_; ++j) {
      const double* column = factor_ + j * size_;
      const double value = x[j] /= column[j];
      for (Eigen::Index i = j + 1; i < size_; ++i) x[i] -= column[i] * value;
    }
    for (Eigen::Index j = size_; j-- > 0;) {
      const double* column = factor_ + j * size_;
      double sum = x[j];
      for (Eigen::Index i = j + 1; i < size_; ++i) sum -= column[i] * x[i];
      x[j] = sum / column[j];
    }
  }

  /// Replace every column of a matrix by its solution.
  template <class Matrix>
  void solve_columns(Matrix& matrix) const noexcept {
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) solve(&matrix.coeffRef(0, k));
  }

 private:
  bool factorise() noexcept {
    for (Eigen::Index j = 0; j < size_; ++j) {
      double* column = factor_ + j * size_;
      // Written so that it is false for numbers that are not finite.
      if (!(column[j] > 0.0)) return false;
      const double pivot = std::sqrt(column[j]), over = 1.0 / pivot;
      column[j] = pivot;
      for (Eigen::Index i = j + 1; i < size_; ++i) column[i] *= over;
      for (Eigen::Index k = j + 1; k < size_; ++k) {
        double* later = factor_ + k * size_;
        const double value = column[k];
        for (Eigen::Index i = k; i < size_; ++i) later[i] -= column[i] * value;
      }
    }
    return true;
  }

  Eigen::Index size_;
  double* factor_;
  bool is_positive_;
};

}  // namespace vms_ph
