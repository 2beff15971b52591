// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <Eigen/Core>
#include <cassert>

namespace vms_ph {

/// Numbers of a matrix that is kept elsewhere, of any size and in any order.
///
/// Products of these are loops that are compiled once. Eigen instantiates some twenty classes for
/// every combination of operands, which takes a compiler a quarter of a second; expressions are
/// kept for the small matrices of fixed size and where the size being known makes a hot path
/// faster.
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
  MatrixView(const double* data, Eigen::Index rows, Eigen::Index columns, Eigen::Index row_step,
             Eigen::Index column_step) noexcept
      : data_(data),
        rows_(rows),
        columns_(columns),
        row_step_(row_step),
        column_step_(column_step) {}

  const double* data_;
  Eigen::Index rows_, columns_, row_step_, column_step_;
};

/// The transpose of a matrix.
inline MatrixView transposed(const MatrixView& matrix) noexcept { return matrix.transposed(); }

namespace products {

/// Add `by a b` to a matrix of as many rows as a has, the columns of which are `step` apart.
void add(const MatrixView& a, const MatrixView& b, double by, double* to,
         Eigen::Index step) noexcept;

/// Write `a b` there.
void write(const MatrixView& a, const MatrixView& b, double* to, Eigen::Index step) noexcept;

}  // namespace products

/// Write `a b`, of which neither may be the result.
template <class Result>
void multiply(const MatrixView& a, const MatrixView& b, Result& result) noexcept {
  static_assert(!Result::IsRowMajor || Result::IsVectorAtCompileTime);
  result.resize(a.rows(), b.cols());
  products::write(a, b, result.data(), result.outerStride());
}

/// Return `a b`.
template <class Result>
Result product(const MatrixView& a, const MatrixView& b) noexcept {
  Result result;
  multiply(a, b, result);
  return result;
}

/// Add `by a b` to the result, which neither may be.
template <class Result>
void add_product(const MatrixView& a, const MatrixView& b, Result&& result,
                 double by = 1.0) noexcept {
  assert(result.rows() == a.rows() && result.cols() == b.cols());
  products::add(a, b, by, result.data(), result.outerStride());
}

}  // namespace vms_ph
