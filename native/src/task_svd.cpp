// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_svd.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/orthogonal_columns.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Tall = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3>;

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
  constexpr bool kIsKnown = kRows != Eigen::Dynamic;
  constexpr int kMost = kIsKnown ? kRows : kMaxVelocities;
  const Eigen::Index nv = kIsKnown ? kRows : jacobian.cols();
  double w[3][kMost], u[3][kMost];
  for (int k = 0; k < 3; ++k) {
    for (Eigen::Index i = 0; i < nv; ++i) w[k][i] = jacobian(k, i);
  }
  double factor[3][3] = {};
  triangle.setZero();
  for (int k = 0; k < 3; ++k) {
    double* x = w[k];
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
      double* y = w[j];
      double along = 0.0;
      for (Eigen::Index i = k; i < nv; ++i) along += x[i] * y[i];
      along *= tau;
      for (Eigen::Index i = k; i < nv; ++i) y[i] -= along * x[i];
      triangle(k, j) = y[k];
    }
    factor[k][k] = tau;
    for (int l = 0; l < k; ++l) {
      double along = 0.0;
      for (Eigen::Index i = 0; i < nv; ++i) along += w[l][i] * x[i];
      for (int j = 0; j <= l; ++j) factor[j][k] -= factor[j][l] * tau * along;
    }
  }
  for (int k = 0; k < 3; ++k) {
    for (Eigen::Index i = 0; i < nv; ++i) {
      u[k][i] = w[0][i] * factor[0][k] + w[1][i] * factor[1][k] + w[2][i] * factor[2][k];
    }
  }
  range.resize(nv, 3);
  for (int j = 0; j < 3; ++j) {
    double* to = range.data() + j * nv;
    for (Eigen::Index i = 0; i < nv; ++i) {
      to[i] = -(u[0][i] * w[0][j] + u[1][i] * w[1][j] + u[2][i] * w[2][j]);
    }
    to[j] += 1.0;
  }
  const Eigen::Index rest = nv - 3;
  kernel.resize(rest, nv);
  for (Eigen::Index i = 0; i < nv; ++i) {
    double* to = kernel.data() + i * rest;
    for (Eigen::Index r = 0; r < rest; ++r) {
      to[r] = -(w[0][r + 3] * u[0][i] + w[1][r + 3] * u[1][i] + w[2][r + 3] * u[2][i]);
    }
    if (i >= 3) to[i - 3] += 1.0;
  }
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
  Vector3d lengths;
  for (int k = 0; k < 3; ++k) lengths[k] = turned.col(k).norm();
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
  Matrix3d scaled = left.transpose();
  for (int k = 0; k < 3; ++k) scaled.row(k) /= std::max(values[k], lifted);
  return product<Tall>(transposed(right), scaled);
}

}  // namespace vms_ph
