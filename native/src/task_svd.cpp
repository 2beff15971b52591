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

#include "vms_ph_native/task_svd.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/orthogonal_columns.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
template <int kRows>
using Columns =
    Eigen::Matrix<double, kRows, 3, 0, kRows == Eigen::Dynamic ? kMaxVelocities : kRows, 3>;
using Tall = Columns<Eigen::Dynamic>;

// Below this share of the largest singular value, the direction of a column is rounding.
constexpr double kSmall = 1e-5;

/// The product of the reflections 1 - tau w w^T that make a matrix triangular. Where the number of
/// rows is known to the compiler, it unrolls the loops.
template <int kRows>
class Reflections {
 public:
  /// Replace J^T (nv,3) by its triangle and the reflections.
  VMS_PH_INLINED explicit Reflections(Columns<kRows>& columns) noexcept : columns_(columns) {
    const Eigen::Index nv = columns.rows();
    for (int k = 0; k < 3; ++k) {
      double* x = &columns.coeffRef(0, k);
      double rest = 0.0;
      for (Eigen::Index i = k + 1; i < nv; ++i) rest += x[i] * x[i];
      if (rest == 0.0) {
        taus_[k] = 0.0;
        triangle(k, k) = x[k];
      } else {
        const double length = std::sqrt(x[k] * x[k] + rest);
        triangle(k, k) = x[k] > 0.0 ? -length : length;
        const double lead = x[k] - triangle(k, k);
        taus_[k] = 2.0 * lead * lead / (lead * lead + rest);
        for (Eigen::Index i = k + 1; i < nv; ++i) x[i] /= lead;
      }
      for (int j = k + 1; j < 3; ++j) {
        apply(k, &columns.coeffRef(0, j));
        triangle(k, j) = columns(k, j);
      }
    }
  }

  /// Replace a vector (nv,) by its product with all of them.
  VMS_PH_INLINED void apply(double* x) const noexcept {
    for (int k = 3; k-- > 0;) apply(k, x);
  }

  Matrix3d triangle = Matrix3d::Zero();  ///< upper

 private:
  VMS_PH_INLINED void apply(int k, double* x) const noexcept {
    const double* w = &columns_.coeffRef(0, k);
    const Eigen::Index nv = columns_.rows();
    double along = x[k];
    for (Eigen::Index i = k + 1; i < nv; ++i) along += w[i] * x[i];
    along *= taus_[k];
    x[k] -= along;
    for (Eigen::Index i = k + 1; i < nv; ++i) x[i] -= along * w[i];
  }

  Columns<kRows>& columns_;
  double taus_[3];
};

/// Write the triangle T of J^T = Q [T; 0], the first three columns of Q and the rest, transposed.
template <int kRows>
VMS_PH_INLINED inline void reduce(const Matrix3V& jacobian, Matrix3d& triangle, Tall& range,
                                  MatrixV& kernel) noexcept {
  const Eigen::Index nv = jacobian.cols();
  Columns<kRows> columns = jacobian.transpose();
  const Reflections<kRows> reflections(columns);
  triangle = reflections.triangle;
  Columns<kRows> first = Columns<kRows>::Zero(nv, 3);
  for (int k = 0; k < 3; ++k) {
    first(k, k) = 1.0;
    reflections.apply(&first.coeffRef(0, k));
  }
  range = first;
  Eigen::Matrix<double, kRows, 1, 0, Columns<kRows>::MaxRowsAtCompileTime, 1> row(nv);
  kernel.resize(nv - 3, nv);
  for (Eigen::Index k = 3; k < nv; ++k) {
    row.setZero();
    row[k] = 1.0;
    reflections.apply(row.data());
    kernel.row(k - 3) = row;
  }
}

/// Turn the columns of a matrix until they are orthogonal, and `turn` with it; false where that
/// leaves no direction for one of them.
bool orthogonalise(Matrix3d& columns, Matrix3d& turn) {
  make_columns_orthogonal(columns, turn);
  const Vector3d lengths = columns.colwise().norm();
  return lengths.minCoeff() > kSmall * lengths.maxCoeff();  // false for what is not finite
}

}  // namespace

VMS_PH_WIDE void TaskSvd::compute(const Matrix3V& jacobian) noexcept {
  // J^T = Q [T; 0] reduces the problem to a decomposition of fixed size; the rest of Q is the
  // kernel.
  Matrix3d triangle;
  Tall range;
  switch (jacobian.cols()) {
    case 6:
      reduce<6>(jacobian, triangle, range, kernel);
      break;
    case 7:
      reduce<7>(jacobian, triangle, range, kernel);
      break;
    default:
      reduce<Eigen::Dynamic>(jacobian, triangle, range, kernel);
  }
  decompose(triangle.transpose());
  right = right_turn_.lazyProduct(range.transpose());
}

/// The values and singular vectors of a matrix of fixed size.
VMS_PH_WIDE void TaskSvd::decompose(const Matrix3d& matrix) noexcept {
  Matrix3d turned = matrix, turn;
  if (orthogonalise(turned, turn)) {
    int order[] = {0, 1, 2};
    const Vector3d lengths = turned.colwise().norm();
    std::sort(order, order + 3, [&](int a, int b) { return lengths[a] > lengths[b]; });
    for (int k = 0; k < 3; ++k) {
      values[k] = lengths[order[k]];
      left.col(k) = turned.col(order[k]) / values[k];
      right_turn_.row(k) = turn.col(order[k]);
    }
    return;
  }
  general_.compute(matrix, Eigen::ComputeFullU | Eigen::ComputeFullV);
  if (general_.info() == Eigen::Success) {
    left = general_.matrixU();
    values = general_.singularValues();
    right_turn_ = general_.matrixV().transpose();
  } else {
    left.setIdentity();
    values.setZero();
    right_turn_.setIdentity();
  }
}

VMS_PH_WIDE Tall TaskSvd::pseudo_inverse(double lifted) const noexcept {
  const Vector3d inverse = values.cwiseMax(lifted).cwiseInverse();
  const Matrix3d scaled = inverse.asDiagonal() * left.transpose();
  return right.transpose().lazyProduct(scaled);
}

}  // namespace vms_ph
