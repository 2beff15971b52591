// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

VMS_PH_WIDE bool Cholesky::compute(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept {
  size_ = matrix.rows();
  const Eigen::Index rows = symmetric::padded(size_), stride = matrix.outerStride();
  for (Eigen::Index j = 0; j < size_; ++j) {
    double* column = factor_ + j * kMaxRows;
    const double* source = matrix.data() + j * stride;
    for (Eigen::Index i = symmetric::first(j); i < rows; i += symmetric::kGroup) {
      for (Eigen::Index r = i; r < i + symmetric::kGroup; ++r) {
        column[r] = r < j || r >= size_ ? 0.0 : source[r];
      }
    }
  }
  is_positive_ = symmetric::factorise(factor_, over_, size_, kMaxRows);
  if (!is_positive_) std::fill(over_, over_ + size_, std::numeric_limits<double>::quiet_NaN());
  return is_positive_;
}

VMS_PH_WIDE void Cholesky::solve(double* x) const noexcept {
  double padded[kMaxRows];
  const Eigen::Index rows = symmetric::padded(size_);
  std::copy(x, x + size_, padded);
  std::fill(padded + size_, padded + rows, 0.0);
  symmetric::solve(factor_, over_, size_, kMaxRows, padded);
  std::copy(padded, padded + size_, x);
}

void Cholesky::multiply_root(double* x) const noexcept {
  for (Eigen::Index j = size_; j-- > 0;) {
    const double* column = factor_ + j * kMaxRows;
    x[j] /= std::sqrt(over_[j]);
    for (Eigen::Index i = j + 1; i < size_; ++i) x[i] += x[j] * column[i];
  }
}

void Cholesky::solve_root(double* x) const noexcept {
  for (Eigen::Index j = 0; j < size_; ++j) {
    const double* column = factor_ + j * kMaxRows;
    for (Eigen::Index i = j + 1; i < size_; ++i) x[i] -= x[j] * column[i];
    x[j] *= std::sqrt(over_[j]);
  }
}

}  // namespace vms_ph
