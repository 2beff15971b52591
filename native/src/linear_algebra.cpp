// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/linear_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vms_ph {

using Eigen::Index;

namespace products {
namespace {

/// Write `factor a b`, or add it, of groups of rows of `a` that lie beside each other and of
/// columns of `b`, enough of both that the processor need not wait for a sum.
template <bool kAdds, int kGroups, int kColumns>
VMS_PH_INLINED inline void multiply_groups(const MatrixView& a, const MatrixView& b, double factor,
                                           Index row, Index column, double* target, Index step) {
  const double *source = a.data() + row, *x = b.data() + column * b.column_step();
  Lanes sums[kColumns][kGroups] = {};
  for (Index k = 0; k < a.cols(); ++k, source += a.column_step(), x += b.row_step()) {
    for (int c = 0; c < kColumns; ++c) {
      for (int g = 0; g < kGroups; ++g) sums[c][g] += load(source + g * 4) * x[c * b.column_step()];
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    for (int g = 0; g < kGroups; ++g) {
      double* target_rows = target + (column + c) * step + row + g * 4;
      store(target_rows, kAdds ? load(target_rows) + factor * sums[c][g] : factor * sums[c][g]);
    }
  }
}

/// The same of all full groups of rows; return their number of rows.
template <bool kAdds, int kColumns>
VMS_PH_INLINED inline Index multiply_columns(const MatrixView& a, const MatrixView& b,
                                             double factor, Index column, double* target,
                                             Index step) {
  Index i = 0;
  for (; i + 16 <= a.rows(); i += 16) {
    multiply_groups<kAdds, 4, kColumns>(a, b, factor, i, column, target, step);
  }
  for (; i + 8 <= a.rows(); i += 8) {
    multiply_groups<kAdds, 2, kColumns>(a, b, factor, i, column, target, step);
  }
  for (; i + 4 <= a.rows(); i += 4) {
    multiply_groups<kAdds, 1, kColumns>(a, b, factor, i, column, target, step);
  }
  return i;
}

/// The sums of four neighbouring rows in any order; processors add them side by side.
VMS_PH_INLINED inline Lanes sum_of_four(const double* a, Index stride, Index row_stride,
                                        Index count, const double* x, Index x_stride) {
  double sum_0 = 0.0, sum_1 = 0.0, sum_2 = 0.0, sum_3 = 0.0;
  for (Index k = 0; k < count; ++k) {
    const double factor = x[k * x_stride];
    const double* source = a + k * stride;
    sum_0 += factor * source[0];
    sum_1 += factor * source[row_stride];
    sum_2 += factor * source[2 * row_stride];
    sum_3 += factor * source[3 * row_stride];
  }
  return Lanes{sum_0, sum_1, sum_2, sum_3};
}

/// Write `factor a b`, or add it to the destination.
template <bool kAdds>
VMS_PH_INLINED inline void product(const MatrixView& a, const MatrixView& b, double factor,
                                   double* target, Index step) {
  assert(a.cols() == b.rows());
  const Index rows = a.rows(), count = a.cols(), columns = b.cols();
  const auto write_entry = [&](Index i, Index j, double sum) VMS_PH_INLINED {
    double& entry = target[j * step + i];
    entry = factor * sum + (kAdds ? entry : 0.0);
  };
  Index i = 0;
  if (a.row_step() == 1) {
    Index j = 0;
    for (; j + 2 <= columns; j += 2) i = multiply_columns<kAdds, 2>(a, b, factor, j, target, step);
    if (j < columns) i = multiply_columns<kAdds, 1>(a, b, factor, j, target, step);
  }
  for (; i + 4 <= rows; i += 4) {
    for (Index j = 0; j < columns; ++j) {
      const Lanes sums = sum_of_four(a.data() + i * a.row_step(), a.column_step(), a.row_step(),
                                     count, b.data() + j * b.column_step(), b.row_step());
      for (Index l = 0; l < 4; ++l) write_entry(i + l, j, sums[l]);
    }
  }
  for (; i < rows; ++i) {  // four columns at once
    const double* row = a.data() + i * a.row_step();
    Index j = 0;
    for (; j + 4 <= columns; j += 4) {
      const Lanes sums = sum_of_four(b.data() + j * b.column_step(), b.row_step(), b.column_step(),
                                     count, row, a.column_step());
      for (Index l = 0; l < 4; ++l) write_entry(i, j + l, sums[l]);
    }
    for (; j < columns; ++j) {
      const double* column = b.data() + j * b.column_step();
      double sum = 0.0;
      for (Index k = 0; k < count; ++k) sum += row[k * a.column_step()] * column[k * b.row_step()];
      write_entry(i, j, sum);
    }
  }
}

}  // namespace

VMS_PH_FMA void add(const MatrixView& a, const MatrixView& b, double factor, double* target,
                    Index step) noexcept {
  product<true>(a, b, factor, target, step);
}

VMS_PH_FMA void write(const MatrixView& a, const MatrixView& b, double factor, double* target,
                      Index step) noexcept {
  product<false>(a, b, factor, target, step);
}

}  // namespace products

VMS_PH_FMA bool Cholesky::compute(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept {
  size_ = matrix.rows();
  const Eigen::Index rows = symmetric::padded(size_), stride = matrix.outerStride();
  for (Eigen::Index j = 0; j < size_; ++j) {
    double* column = factor_ + j * kMaxRows;
    const double* source = matrix.data() + j * stride;
    for (Eigen::Index i = symmetric::group_start(j); i < rows; i += symmetric::kGroupSize) {
      for (Eigen::Index r = i; r < i + symmetric::kGroupSize; ++r) {
        column[r] = r < j || r >= size_ ? 0.0 : source[r];
      }
    }
  }
  is_positive_ = symmetric::factorise(factor_, inverse_diagonal_, size_, kMaxRows);
  if (!is_positive_) std::fill(inverse_diagonal_, inverse_diagonal_ + size_, kNaN);
  return is_positive_;
}

VMS_PH_FMA void Cholesky::solve(double* x) const noexcept {
  double padded_x[kMaxRows];
  const Eigen::Index rows = symmetric::padded(size_);
  std::copy(x, x + size_, padded_x);
  std::fill(padded_x + size_, padded_x + rows, 0.0);
  symmetric::solve(factor_, inverse_diagonal_, size_, kMaxRows, padded_x);
  std::copy(padded_x, padded_x + size_, x);
}

void Cholesky::multiply_root(double* x) const noexcept {
  for (Eigen::Index j = size_; j-- > 0;) {
    const double* column = factor_ + j * kMaxRows;
    x[j] /= std::sqrt(inverse_diagonal_[j]);
    for (Eigen::Index i = j + 1; i < size_; ++i) x[i] += x[j] * column[i];
  }
}

void Cholesky::solve_root(double* x) const noexcept {
  for (Eigen::Index j = 0; j < size_; ++j) {
    const double* column = factor_ + j * kMaxRows;
    for (Eigen::Index i = j + 1; i < size_; ++i) x[i] -= x[j] * column[i];
    x[j] *= std::sqrt(inverse_diagonal_[j]);
  }
}

bool solve_square(Eigen::Ref<Eigen::MatrixXd> A, Eigen::Ref<Eigen::MatrixXd> B,
                  double smallest_pivot) noexcept {
  const Index n = A.rows(), columns = B.cols();
  for (Index k = 0; k < n; ++k) {
    Index pivot = k;
    for (Index i = k + 1; i < n; ++i) {
      if (std::abs(A(i, k)) > std::abs(A(pivot, k))) pivot = i;
    }
    if (!(std::abs(A(pivot, k)) > smallest_pivot)) return false;
    for (Index c = k; c < n; ++c) std::swap(A(k, c), A(pivot, c));
    for (Index c = 0; c < columns; ++c) std::swap(B(k, c), B(pivot, c));
    const double reciprocal = 1.0 / A(k, k);
    for (Index i = k + 1; i < n; ++i) A(i, k) *= reciprocal;
    for (Index c = k + 1; c < n; ++c) {
      for (Index i = k + 1; i < n; ++i) A(i, c) -= A(i, k) * A(k, c);
    }
    for (Index c = 0; c < columns; ++c) {
      for (Index i = k + 1; i < n; ++i) B(i, c) -= A(i, k) * B(k, c);
    }
  }
  for (Index c = 0; c < columns; ++c) {
    for (Index k = n; k-- > 0;) {
      B(k, c) /= A(k, k);
      for (Index i = 0; i < k; ++i) B(i, c) -= A(i, k) * B(k, c);
    }
  }
  return true;
}

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& matrix) {
  const bool is_wide = matrix.cols() > matrix.rows();
  Eigen::MatrixXd columns = is_wide ? matrix.transpose() : matrix, rotation;
  make_columns_orthogonal(columns, rotation);
  // With the decomposition U S V^T of the taller one, these are U S and V.
  Eigen::VectorXd squares(columns.cols());
  for (Eigen::Index i = 0; i < squares.size(); ++i) squares[i] = columns.col(i).squaredNorm();
  const double min_square = 1e-30 * squares.maxCoeff();
  for (Eigen::Index i = 0; i < squares.size(); ++i) {
    rotation.col(i) *= squares[i] > min_square ? 1.0 / squares[i] : 0.0;
  }
  return is_wide ? product<Eigen::MatrixXd>(columns, transposed(rotation))
                 : product<Eigen::MatrixXd>(rotation, transposed(columns));
}

namespace {

// Share of the largest eigenvalue that is added to all, so that the solution is unique.
constexpr double kRegularisation = 1e-9;

// Searches that begin at the solution of the one before and add to the distance from it instead, so
// that what is added has no effect in the end.
constexpr int kCorrections = 3;

// A gradient of this size, relative to its terms, releases no bound: what is added is 1e-9 of them.
constexpr double kMultiplierRounding = 1e-13;

}  // namespace

BoundedLeastSquares::BoundedLeastSquares(const Eigen::MatrixXd& A) { set_matrix(A); }

void BoundedLeastSquares::set_matrix(const Eigen::MatrixXd& A, double trace_share) noexcept {
  A_transposed_ = A.transpose();
  H_.noalias() = A_transposed_.lazyProduct(A);
  if (trace_share > 0.0) H_.diagonal().array() += trace_share * H_.trace();
  regularisation_ = kRegularisation * std::max(H_.trace(), 1e-300);
  H_.diagonal().array() += regularisation_;
}

void BoundedLeastSquares::solve(const VectorB& b, const Eigen::VectorXd& lower,
                                const Eigen::VectorXd& upper, Eigen::VectorXd& x) noexcept {
  const Eigen::Index m = H_.rows();
  linear_term_.noalias() = A_transposed_.lazyProduct(b);
  for (Eigen::Index i = 0; i < m; ++i) {
    x[i] = std::min(std::max(0.0, lower[i]), upper[i]);
    active_bounds_[i] = x[i] == upper[i] ? 1 : x[i] == lower[i] ? -1 : 0;
  }
  // The least error, then the smallest x with the same A x.
  for (int round = 0; round < 2; ++round) {
    rhs_ = linear_term_;
    search(lower, upper, x);
    for (int k = 0; k < kCorrections; ++k) {
      rhs_ = linear_term_ + regularisation_ * x;
      search(lower, upper, x);
    }
    linear_term_.noalias() = H_.lazyProduct(x);
    linear_term_ -= regularisation_ * x;
  }
  x = x.cwiseMax(lower).cwiseMin(upper);
}

/// Move x to the least of x.H x / 2 - rhs.x within the bounds.
void BoundedLeastSquares::search(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                                 Eigen::VectorXd& x) noexcept {
  const Eigen::Index m = H_.rows();
  const double largest_entry = H_.cwiseAbs().maxCoeff(), largest_rhs = rhs_.cwiseAbs().maxCoeff();
  for (Eigen::Index k = 0; k < 10 * m; ++k) {
    if (step_to_bound(lower, upper, x)) continue;
    gradient_.noalias() = H_.lazyProduct(x);
    gradient_ -= rhs_;
    Eigen::Index released_index = 0;
    double largest_multiplier = -kInfinity;
    for (Eigen::Index i = 0; i < m; ++i) {
      const double multiplier = lower[i] == upper[i] ? 0.0 : active_bounds_[i] * gradient_[i];
      if (multiplier > largest_multiplier) largest_multiplier = multiplier, released_index = i;
    }
    const double magnitude = largest_rhs + largest_entry * x.cwiseAbs().maxCoeff();
    if (!(largest_multiplier > kMultiplierRounding * magnitude)) break;
    active_bounds_[released_index] = 0;
  }
}

/// Step to the minimum over the free entries or to the first bound; return whether one was met.
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
    step_[i] = rhs_[free_indices_[i]] - H_.row(free_indices_[i]).dot(x);
  }
  Cholesky(free_hessian_).solve(step_.data());
  Eigen::Index blocking_index = 0;
  double step_length = kInfinity;
  for (Eigen::Index i = 0; i < count; ++i) {
    if (step_[i] == 0.0) continue;
    const double bound = step_[i] > 0.0 ? upper[free_indices_[i]] : lower[free_indices_[i]];
    const double length = (bound - x[free_indices_[i]]) / step_[i];
    if (length < step_length) step_length = length, blocking_index = i;
  }
  const bool is_blocked = step_length < 1.0;
  for (Eigen::Index i = 0; i < count; ++i)
    x[free_indices_[i]] += (is_blocked ? step_length : 1.0) * step_[i];
  if (!is_blocked) return false;
  const Eigen::Index index = free_indices_[blocking_index];
  active_bounds_[index] = step_[blocking_index] > 0.0 ? 1 : -1;
  x[index] = step_[blocking_index] > 0.0 ? upper[index] : lower[index];
  return true;
}

}  // namespace vms_ph
