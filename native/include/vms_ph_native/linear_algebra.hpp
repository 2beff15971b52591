// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Products of matrices of any size, the Cholesky decomposition, square systems, pseudo-inverses,
// symmetric eigenvalues, and bounded least squares; none allocates where it is not said.
#pragma once

#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include "vms_ph_native/lanes.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Numbers of a matrix that is kept elsewhere, of any size and in any order.
///
/// Products of these are loops that are compiled once. Eigen instantiates some twenty classes for
/// every combination of operands, which takes a compiler a quarter of a second; expressions are
/// kept for small matrices of fixed size, and where a known size makes a hot path faster.
class MatrixView {
 public:
  /// A matrix, or a vector as one column.
  template <class Derived>
  MatrixView(const Eigen::PlainObjectBase<Derived>& matrix) noexcept  // implicit, like Eigen::Ref
      : MatrixView(matrix.data(), matrix.rows(), matrix.cols(),
                   Derived::IsRowMajor ? matrix.outerStride() : 1,
                   Derived::IsRowMajor ? 1 : matrix.outerStride()) {}
  /// A block, a map or a reference.
  template <class Derived>
  MatrixView(const Eigen::MapBase<Derived, Eigen::ReadOnlyAccessors>& matrix) noexcept
      : MatrixView(matrix.data(), matrix.rows(), matrix.cols(),
                   Derived::IsRowMajor ? matrix.outerStride() : matrix.innerStride(),
                   Derived::IsRowMajor ? matrix.innerStride() : matrix.outerStride()) {}

  MatrixView(const double* data, Eigen::Index rows, Eigen::Index columns, Eigen::Index row_step,
             Eigen::Index column_step) noexcept
      : data_(data),
        rows_(rows),
        columns_(columns),
        row_step_(row_step),
        column_step_(column_step) {}

  MatrixView transposed() const noexcept {
    return {data_, columns_, rows_, column_step_, row_step_};
  }
  MatrixView top_rows(Eigen::Index count) const noexcept {
    return {data_, count, columns_, row_step_, column_step_};
  }
  MatrixView bottom_rows(Eigen::Index count) const noexcept {
    return {data_ + (rows_ - count) * row_step_, count, columns_, row_step_, column_step_};
  }
  MatrixView left_columns(Eigen::Index count) const noexcept {
    return {data_, rows_, count, row_step_, column_step_};
  }
  MatrixView right_columns(Eigen::Index count) const noexcept {
    return {data_ + (columns_ - count) * column_step_, rows_, count, row_step_, column_step_};
  }

  const double* data() const noexcept { return data_; }
  Eigen::Index rows() const noexcept { return rows_; }
  Eigen::Index cols() const noexcept { return columns_; }
  /// Distances between neighbours of a column and of a row.
  Eigen::Index row_step() const noexcept { return row_step_; }
  Eigen::Index column_step() const noexcept { return column_step_; }

 private:
  const double* data_;
  Eigen::Index rows_, columns_, row_step_, column_step_;
};

/// The transpose of a matrix.
inline MatrixView transposed(const MatrixView& matrix) noexcept { return matrix.transposed(); }

namespace products {

/// Add `factor a b` to a matrix of as many rows as a has, the columns of which are `step` apart.
void add(const MatrixView& a, const MatrixView& b, double factor, double* target,
         Eigen::Index step) noexcept;

/// Write `factor a b` there.
void write(const MatrixView& a, const MatrixView& b, double factor, double* target,
           Eigen::Index step) noexcept;

/// Rows of `width` numbers, `source_stride` and `target_stride` apart, as factors and as a result.
struct Rows {
  Eigen::Index source_stride, target_stride, width;

  /// Add `factor` times the product of a matrix and rows to others, or write it there.
  void add(const MatrixView& matrix, const double* source, double* target,
           double factor = 1.0) const noexcept {
    products::add({source, width, matrix.cols(), 1, source_stride}, matrix.transposed(), factor,
                  target, target_stride);
  }
  void write(const MatrixView& matrix, const double* source, double* target,
             double factor = 1.0) const noexcept {
    products::write({source, width, matrix.cols(), 1, source_stride}, matrix.transposed(), factor,
                    target, target_stride);
  }
};

}  // namespace products

/// Write `a b`, of which neither may be the result.
template <class Result>
void multiply(const MatrixView& a, const MatrixView& b, Result& result) noexcept {
  static_assert(!Result::IsRowMajor || Result::IsVectorAtCompileTime);
  result.resize(a.rows(), b.cols());
  products::write(a, b, 1.0, result.data(), result.outerStride());
}

/// Return `a b`.
template <class Result>
Result product(const MatrixView& a, const MatrixView& b) noexcept {
  Result result;
  multiply(a, b, result);
  return result;
}

/// Add `factor a b` to the result, which neither may be.
template <class Result>
void add_product(const MatrixView& a, const MatrixView& b, Result&& result,
                 double factor = 1.0) noexcept {
  assert(result.rows() == a.rows() && result.cols() == b.cols());
  products::add(a, b, factor, result.data(), result.outerStride());
}

// Columns are stored below the diagonal, one after the other, each of `stride` entries; the rows
// are padded with zeros to a multiple of four. At the sizes of robots plain loops take half the
// time of Eigen's LLT, which works in blocks; these go over four rows at a time, so that compilers
// turn them into operations on vectors without a rest.
namespace symmetric {

constexpr std::ptrdiff_t kGroupSize = 4;

/// The first row of the group that a row is in.
constexpr std::ptrdiff_t group_start(std::ptrdiff_t row) { return row / kGroupSize * kGroupSize; }
constexpr std::ptrdiff_t padded(std::ptrdiff_t rows) { return group_start(rows + kGroupSize - 1); }

/// Add a multiple of four numbers to four others. All are read before one is written, so that a
/// compiler need not ask whether they overlap.
VMS_PH_INLINED inline void add_group(double* target, double factor, const double* source) noexcept {
  double sums[kGroupSize];
  for (std::ptrdiff_t l = 0; l < kGroupSize; ++l) sums[l] = target[l] + factor * source[l];
  for (std::ptrdiff_t l = 0; l < kGroupSize; ++l) target[l] = sums[l];
}

/// Replace the columns by L, of which the diagonal of ones is written as zero, and write the
/// inverse of D to `inverse_diagonal` (size,); false where a pivot is not positive and finite.
///
/// Every column is subtracted from those behind it as soon as it is known: only the pivots wait for
/// each other. Entries above the diagonal may have any finite value before.
VMS_PH_INLINED inline bool factorise(double* columns, double* inverse_diagonal, std::ptrdiff_t size,
                                     std::ptrdiff_t stride) noexcept {
  const std::ptrdiff_t rows = padded(size);
  for (std::ptrdiff_t j = 0; j < size; ++j) {
    double* column = columns + j * stride;
    const double pivot = column[j];
    // Written so that it is false for numbers that are not finite.
    if (!(pivot > 0.0)) return false;
    const double inverse = 1.0 / pivot;
    inverse_diagonal[j] = inverse;
    for (std::ptrdiff_t k = j + 1; k < size; ++k) {
      double* later_column = columns + k * stride;
      const double factor = inverse * column[k];
      for (std::ptrdiff_t r = group_start(k); r < rows; r += kGroupSize) {
        add_group(later_column + r, -factor, column + r);
      }
    }
    for (std::ptrdiff_t r = group_start(j); r < rows; r += kGroupSize) {
      for (std::ptrdiff_t l = 0; l < kGroupSize; ++l) column[r + l] *= inverse;
    }
    for (std::ptrdiff_t i = group_start(j); i <= j; ++i) column[i] = 0.0;
  }
  return true;
}

/// Replace a vector, padded with zeros as the rows are, by the solution.
VMS_PH_INLINED inline void solve(const double* columns, const double* inverse_diagonal,
                                 std::ptrdiff_t size, std::ptrdiff_t stride, double* x) noexcept {
  const std::ptrdiff_t rows = padded(size);
  for (std::ptrdiff_t j = 0; j < size; ++j) {
    const double* column = columns + j * stride;
    const double value = x[j];
    for (std::ptrdiff_t r = group_start(j); r < rows; r += kGroupSize) {
      for (std::ptrdiff_t l = 0; l < kGroupSize; ++l) x[r + l] -= value * column[r + l];
    }
  }
  for (std::ptrdiff_t j = size; j-- > 0;) {
    const double* column = columns + j * stride;
    const std::ptrdiff_t start = group_start(j);
    double sums[kGroupSize] = {};
    for (std::ptrdiff_t r = start + kGroupSize; r < rows; r += kGroupSize) {
      for (std::ptrdiff_t l = 0; l < kGroupSize; ++l) sums[l] += column[r + l] * x[r + l];
    }
    // One by one, from the last on: a number that has just been written is known sooner alone than
    // as one of four. Entries of L that are none are zero.
    double value = x[j] * inverse_diagonal[j] - ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    value -= column[start + 3] * x[start + 3];
    value -= column[start + 2] * x[start + 2];
    value -= column[start + 1] * x[start + 1];
    x[j] = value;
  }
}

/// Replace rows of `width` numbers, `step` apart, by the solution for every column.
VMS_PH_INLINED inline void solve_rows(const double* columns, const double* inverse_diagonal,
                                      std::ptrdiff_t size, std::ptrdiff_t stride, double* x,
                                      std::ptrdiff_t width, std::ptrdiff_t step) noexcept {
  const auto reduce = [&](std::ptrdiff_t row, std::ptrdiff_t pivot, double factor) VMS_PH_INLINED {
    for (std::ptrdiff_t l = 0; l < width; ++l) x[row * step + l] -= factor * x[pivot * step + l];
  };
  for (std::ptrdiff_t j = 0; j < size; ++j) {
    for (std::ptrdiff_t i = j + 1; i < size; ++i) reduce(i, j, columns[j * stride + i]);
  }
  for (std::ptrdiff_t j = size; j-- > 0;) {
    for (std::ptrdiff_t l = 0; l < width; ++l) x[j * step + l] *= inverse_diagonal[j];
    for (std::ptrdiff_t i = j + 1; i < size; ++i) reduce(j, i, columns[j * stride + i]);
  }
}

}  // namespace symmetric

/// The factors L D L^T of a symmetric positive definite matrix.
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

  /// Replace every column of a matrix by its solution, or every row.
  template <class Matrix>
  void solve_columns(Matrix& matrix) const noexcept {
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) solve(&matrix.coeffRef(0, k));
  }

  template <class Matrix>
  void solve_rows(Matrix& matrix) const noexcept {
    symmetric::solve_rows(factor_, inverse_diagonal_, size_, kMaxRows, matrix.data(), matrix.rows(),
                          matrix.outerStride());
  }

 private:
  static_assert(kMaxRows % symmetric::kGroupSize == 0);

  Eigen::Index size_ = 0;
  double factor_[kMaxRows * kMaxRows];  ///< L, column after column
  double inverse_diagonal_[kMaxRows];   ///< one over D
  bool is_positive_ = false;
};

/// Rotate the columns of a matrix B (n,k) until they are orthogonal, and write their rotation W
/// (k,k). Then the lengths of the columns of B W are the singular values of B, and its directions
/// and the columns of W are the singular vectors; small values keep their digits.
template <class Columns, class Rotation>
VMS_PH_INLINED inline void make_columns_orthogonal(Columns& columns, Rotation& rotation) noexcept {
  // Each sweep squares what is left of the angles between the columns; after one that rotates by
  // less than kSmallSine, that is below rounding.
  constexpr int kSweeps = 12;
  constexpr double kSmallSine = 1e-8;
  const Eigen::Index count = columns.cols();
  const auto rotate_columns = [](auto& matrix, Eigen::Index p, Eigen::Index q, double c, double s) {
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
      const double entry_p = matrix(i, p), entry_q = matrix(i, q);
      matrix(i, p) = c * entry_p - s * entry_q;
      matrix(i, q) = s * entry_p + c * entry_q;
    }
  };
  rotation.setIdentity(count, count);
  bool has_rotated = true;
  for (int sweep = 0; has_rotated && sweep < kSweeps; ++sweep) {
    has_rotated = false;
    for (Eigen::Index p = 0; p + 1 < count; ++p) {
      for (Eigen::Index q = p + 1; q < count; ++q) {
        double a = 0.0, b = 0.0, c = 0.0;
        for (Eigen::Index i = 0; i < columns.rows(); ++i) {
          const double entry_p = columns(i, p), entry_q = columns(i, q);
          a += entry_p * entry_p;
          b += entry_q * entry_q;
          c += entry_p * entry_q;
        }
        // False for what is not finite.
        if (!(std::abs(c) > std::numeric_limits<double>::epsilon() * std::sqrt(a * b))) continue;
        // The tangent of the angle is 2 c / (b - a +- root), written without a second division.
        const double difference = b - a, root = std::sqrt(difference * difference + 4.0 * c * c);
        if (!(root > 0.0)) continue;  // squares of squares may underflow
        const double sum = root + std::abs(difference), scale = 1.0 / std::sqrt(2.0 * root * sum);
        const double cosine = scale * sum, sine = scale * (difference < 0.0 ? -2.0 : 2.0) * c;
        has_rotated = has_rotated || std::abs(sine) > kSmallSine;
        rotate_columns(columns, p, q, cosine, sine);
        rotate_columns(rotation, p, q, cosine, sine);
      }
    }
  }
}

/// Replace B (n,k) by the solution of A X = B, by elimination with partial pivoting, which destroys
/// A (n,n); false where a pivot is not larger than `smallest_pivot`. Eigen's decomposition, in
/// blocks, takes a compiler four seconds.
bool solve_square(Eigen::Ref<Eigen::MatrixXd> A, Eigen::Ref<Eigen::MatrixXd> B,
                  double smallest_pivot) noexcept;

/// The Moore-Penrose inverse of a matrix, with the threshold of numpy.linalg.pinv; it takes memory.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& matrix);

/// The x (m,) within bounds that minimises |A x - b|^2, of several the smallest: the active-set
/// method of vms_ph_dynamics/actuation/allocation.py.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class BoundedLeastSquares {
 public:
  /// @param A  (k,m), at most 6 by kMaxVelocities.
  explicit BoundedLeastSquares(const Eigen::MatrixXd& A);

  /// Take another matrix of the same size.
  ///
  /// @param trace_share  of A^T A, by which the square of x is added to what is minimised.
  void set_matrix(const Eigen::MatrixXd& A, double trace_share = 0.0) noexcept;

  /// Write the solution to x (m,).
  ///
  /// @param b             (k,) right-hand side.
  /// @param lower, upper  (m,) bounds; may be infinite.
  void solve(const VectorB& b, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
             Eigen::VectorXd& x) noexcept;

 private:
  bool step_to_bound(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                     Eigen::VectorXd& x) noexcept;
  void search(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
              Eigen::VectorXd& x) noexcept;

  Eigen::MatrixXd A_transposed_, H_;             // H: A^T A and the regularisation
  double regularisation_ = 0.0;                  // to the diagonal of H
  VectorV linear_term_, rhs_, step_, gradient_;  // A^T b; the same and a correction
  MatrixV free_hessian_;
  int active_bounds_[kMaxVelocities];  // the bound that an entry is at: -1, 0 for none, 1
  Eigen::Index free_indices_[kMaxVelocities];
};

/// Eigenvalues, in increasing order, and eigenvectors of symmetric matrices. Compilers take seconds
/// for every type of Eigen's solver: this one serves all sizes.
class SymmetricEigen {
 public:
  /// @param size  of the matrices; one of another size takes memory.
  explicit SymmetricEigen(Eigen::Index size = 0);

  /// Decompose a matrix, of which the lower triangle is read; false for one that is not finite.
  bool compute(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept;

  /// Return the least eigenvalue of a matrix; eigenvectors are not computed.
  double least_eigenvalue(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept;

  const Eigen::VectorXd& values() const noexcept { return solver_.eigenvalues(); }
  const Eigen::MatrixXd& vectors() const noexcept { return vectors_; }

 private:
  bool solve(const Eigen::Ref<const Eigen::MatrixXd>& matrix, int options) noexcept;

  // SelfAdjointEigenSolver alone takes memory for the vectors in every call.
  Eigen::Tridiagonalization<Eigen::MatrixXd> tridiagonal_;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver_;
  Eigen::VectorXd diagonal_, subdiagonal_, workspace_;  // of the tridiagonal matrix
  Eigen::MatrixXd matrix_, rotation_, vectors_;         // rotation_: to its axes
};

}  // namespace vms_ph
