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

// Below this share of the longest column, what is left of another has no direction.
constexpr double kNothing = 1e-12;

/// Write the triangle T of J^T = Q [T; 0], the first three columns of Q and the rest, transposed.
///
/// Q is the product of three reflections 1 - tau w w^T, kept as 1 - U W^T (the compact WY form).
/// Where the number of rows is known to the compiler, it unrolls the loops.
template <int kRows>
VMS_PH_INLINED inline void reduce(const Matrix3V& jacobian, Matrix3d& triangle, Tall& range,
                                  MatrixV& kernel) noexcept {
  const Eigen::Index nv = jacobian.cols();
  Columns<kRows> w = jacobian.transpose();
  Matrix3d factor = Matrix3d::Zero();
  triangle.setZero();
  for (int k = 0; k < 3; ++k) {
    double* x = &w.coeffRef(0, k);
    double rest = 0.0, tau = 0.0;
    for (Eigen::Index i = k + 1; i < nv; ++i) rest += x[i] * x[i];
    triangle(k, k) = x[k];
    if (rest != 0.0) {
      const double length = std::sqrt(x[k] * x[k] + rest);
      triangle(k, k) = x[k] > 0.0 ? -length : length;
      const double lead = x[k] - triangle(k, k), over = 1.0 / lead;
      tau = 2.0 * lead * lead / (lead * lead + rest);
      for (Eigen::Index i = k + 1; i < nv; ++i) x[i] *= over;
    }
    for (int i = 0; i < k; ++i) x[i] = 0.0;
    x[k] = 1.0;
    for (int j = k + 1; j < 3; ++j) {
      double* y = &w.coeffRef(0, j);
      double along = 0.0;
      for (Eigen::Index i = k; i < nv; ++i) along += x[i] * y[i];
      along *= tau;
      for (Eigen::Index i = k; i < nv; ++i) y[i] -= along * x[i];
      triangle(k, j) = y[k];
    }
    factor(k, k) = tau;
    double along[2] = {};
    for (int l = 0; l < k; ++l) along[l] = tau * w.col(l).dot(w.col(k));
    for (int j = 0; j < k; ++j) {
      for (int l = j; l < k; ++l) factor(j, k) -= factor(j, l) * along[l];
    }
  }
  const Columns<kRows> u = w.lazyProduct(factor);
  Columns<kRows> first = -u.lazyProduct(w.template topRows<3>().transpose());
  first.diagonal().array() += 1.0;
  range = first;
  constexpr int kRest = kRows == Eigen::Dynamic ? Eigen::Dynamic : kRows - 3;
  constexpr int kMost = Columns<kRows>::MaxRowsAtCompileTime;
  Eigen::Matrix<double, kRest, kRows, 0, kRest == Eigen::Dynamic ? kMost : kRest, kMost> other =
      -w.bottomRows(nv - 3).lazyProduct(u.transpose());
  other.rightCols(nv - 3).diagonal().array() += 1.0;
  kernel = other;
}

/// Make the columns of length one in order, each perpendicular to those before it; what rounding
/// leaves of a short one says nothing of its direction.
void make_orthonormal(Matrix3d& columns) noexcept {
  const double first = columns.col(0).norm();
  if (first > 0.0) {
    columns.col(0) /= first;
  } else {
    columns.col(0) = Vector3d::UnitX();
  }
  const Vector3d along = columns.col(0);
  Vector3d next = columns.col(1);
  for (int pass = 0; pass < 2; ++pass) next -= along.dot(next) * along;
  if (!(next.norm() > kNothing * first)) {
    next = along.cross(std::abs(along.x()) < 0.5 ? Vector3d::UnitX() : Vector3d::UnitY());
  }
  columns.col(1) = next / next.norm();
  const Vector3d last = along.cross(columns.col(1));
  columns.col(2) = last.dot(columns.col(2)) < 0.0 ? Vector3d(-last) : last;
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
  make_columns_orthogonal(turned, turn);
  const Vector3d lengths = turned.colwise().norm();
  if (!lengths.allFinite()) {
    left.setIdentity();
    values.setZero();
    right_turn_.setIdentity();
    return;
  }
  int order[] = {0, 1, 2};
  std::sort(order, order + 3, [&](int a, int b) { return lengths[a] > lengths[b]; });
  for (int k = 0; k < 3; ++k) {
    values[k] = lengths[order[k]];
    left.col(k) = turned.col(order[k]);
    right_turn_.row(k) = turn.col(order[k]);
  }
  if (values[2] > kSmall * values[0]) {
    for (int k = 0; k < 3; ++k) left.col(k) /= values[k];
  } else {
    make_orthonormal(left);
  }
}

VMS_PH_WIDE Tall TaskSvd::pseudo_inverse(double lifted) const noexcept {
  const Vector3d inverse = values.cwiseMax(lifted).cwiseInverse();
  const Matrix3d scaled = inverse.asDiagonal() * left.transpose();
  return right.transpose().lazyProduct(scaled);
}

}  // namespace vms_ph
