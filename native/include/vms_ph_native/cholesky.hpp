// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Cholesky decomposition of matrices of a few rows.
#pragma once

#include <cstddef>

#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {

// Columns are stored below the diagonal, one after the other, each of `stride` entries; the rows
// are padded with zeros to a multiple of four. At the sizes of robots plain loops take half the
// time of Eigen's LLT, which works in blocks; these go over four rows at a time, so that compilers
// turn them into operations on vectors without a rest.
namespace symmetric {

constexpr std::ptrdiff_t kGroup = 4;

/// The first row of the group that a row is in.
constexpr std::ptrdiff_t first(std::ptrdiff_t row) { return row / kGroup * kGroup; }
constexpr std::ptrdiff_t padded(std::ptrdiff_t rows) { return first(rows + kGroup - 1); }

/// Add a multiple of four numbers to four others. All are read before one is written, so that a
/// compiler need not ask whether they overlap.
VMS_PH_INLINED inline void add_group(double* to, double by, const double* from) noexcept {
  double sums[kGroup];
  for (std::ptrdiff_t l = 0; l < kGroup; ++l) sums[l] = to[l] + by * from[l];
  for (std::ptrdiff_t l = 0; l < kGroup; ++l) to[l] = sums[l];
}

/// Replace the columns by L, of which the diagonal of ones is written as zero, and write the
/// inverse of D to `over` (size,); false where a pivot is not positive and finite.
///
/// Every column is subtracted from those behind it as soon as it is known: only the pivots wait for
/// each other. Entries above the diagonal may have any finite value before.
VMS_PH_INLINED inline bool factorise(double* columns, double* over, std::ptrdiff_t size,
                                     std::ptrdiff_t stride) noexcept {
  const std::ptrdiff_t rows = padded(size);
  for (std::ptrdiff_t j = 0; j < size; ++j) {
    double* column = columns + j * stride;
    const double pivot = column[j];
    // Written so that it is false for numbers that are not finite.
    if (!(pivot > 0.0)) return false;
    const double inverse = 1.0 / pivot;
    over[j] = inverse;
    for (std::ptrdiff_t k = j + 1; k < size; ++k) {
      double* later = columns + k * stride;
      const double scaled = inverse * column[k];
      for (std::ptrdiff_t r = first(k); r < rows; r += kGroup) {
        add_group(later + r, -scaled, column + r);
      }
    }
    for (std::ptrdiff_t r = first(j); r < rows; r += kGroup) {
      for (std::ptrdiff_t l = 0; l < kGroup; ++l) column[r + l] *= inverse;
    }
    for (std::ptrdiff_t i = first(j); i <= j; ++i) column[i] = 0.0;
  }
  return true;
}

/// Replace a vector, padded with zeros as the rows are, by the solution.
VMS_PH_INLINED inline void solve(const double* columns, const double* over, std::ptrdiff_t size,
                                 std::ptrdiff_t stride, double* x) noexcept {
  const std::ptrdiff_t rows = padded(size);
  for (std::ptrdiff_t j = 0; j < size; ++j) {
    const double* column = columns + j * stride;
    const double value = x[j];
    for (std::ptrdiff_t r = first(j); r < rows; r += kGroup) {
      for (std::ptrdiff_t l = 0; l < kGroup; ++l) x[r + l] -= value * column[r + l];
    }
  }
  for (std::ptrdiff_t j = size; j-- > 0;) {
    const double* column = columns + j * stride;
    const std::ptrdiff_t here = first(j);
    double sums[kGroup] = {};
    for (std::ptrdiff_t r = here + kGroup; r < rows; r += kGroup) {
      for (std::ptrdiff_t l = 0; l < kGroup; ++l) sums[l] += column[r + l] * x[r + l];
    }
    // One by one, from the last on: a number that has just been written is known sooner alone than
    // as one of four. Entries of L that are none are zero.
    double value = x[j] * over[j] - ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    value -= column[here + 3] * x[here + 3];
    value -= column[here + 2] * x[here + 2];
    value -= column[here + 1] * x[here + 1];
    x[j] = value;
  }
}

}  // namespace symmetric

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
