// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/se3.hpp"

#include <algorithm>
#include <cmath>

namespace vms_ph {
namespace {

// Below this argument the series is used; above it the closed forms are accurate.
constexpr double kSmallArgument = 4.0;

// The first omitted term of the series is below 1e-22.
constexpr int kTerms = 12;

struct InverseFactorials {
  constexpr InverseFactorials() : entries() {
    double factorial = 1.0;
    for (int n = 0; n < 7 + 2 * kTerms; ++n) {
      entries[n] = 1.0 / factorial;
      factorial *= n + 1;
    }
  }
  double entries[7 + 2 * kTerms];
};
constexpr InverseFactorials kInverseFactorials;

/// sum_k (-s)^k / (n + 2k)!, from its last term to its first.
double series(int n, double s) noexcept {
  double total = 0.0;
  for (int k = kTerms; k >= 0; --k) total = kInverseFactorials.entries[n + 2 * k] - s * total;
  return total;
}

}  // namespace

Stumpff::Stumpff(double s) noexcept {
  if (s < kSmallArgument) {
    c5 = series(5, s);
    c6 = series(6, s);
    c4 = 1.0 / 24.0 - s * c6;
    c3 = 1.0 / 6.0 - s * c5;
    c2 = 0.5 - s * c4;
    c1 = 1.0 - s * c3;
    return;
  }
  const double t = std::sqrt(s);
  c1 = std::sin(t) / t;
  const double half_sine_ratio = std::sin(0.5 * t) / t;
  c2 = 2.0 * half_sine_ratio * half_sine_ratio;
  c3 = (1.0 - c1) / s;
  c4 = (0.5 - c2) / s;
  c5 = (1.0 / 6.0 - c3) / s;
  c6 = (1.0 / 24.0 - c4) / s;
}

}  // namespace vms_ph

namespace vms_ph::se3 {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Pose pose(const Matrix3d& rotation, const Vector3d& position) noexcept {
  Pose g = Pose::Identity();
  g.topLeftCorner<3, 3>() = rotation;
  g.topRightCorner<3, 1>() = position;
  return g;
}

struct UnitQuaternion {
  double w;
  Vector3d v;
};

/// Real part, not negative, and vector part of a rotation. The largest of the four components is
/// computed first, so that none is a small difference.
UnitQuaternion quaternion(const Matrix3d& r) noexcept {
  const double squares[4] = {r.trace(), r(0, 0), r(1, 1), r(2, 2)};
  const auto largest_index = std::max_element(squares, squares + 4) - squares;
  if (largest_index == 0) {
    const double w = 0.5 * std::sqrt(1.0 + squares[0]);
    const Vector3d skew_part(r(2, 1) - r(1, 2), r(0, 2) - r(2, 0), r(1, 0) - r(0, 1));
    return {w, skew_part / (4.0 * w)};
  }
  const Eigen::Index i = largest_index - 1, j = (i + 1) % 3, k = (i + 2) % 3;
  Vector3d v;
  v[i] = 0.5 * std::sqrt(std::max(1.0 + r(i, i) - r(j, j) - r(k, k), 0.0));
  v[j] = (r(j, i) + r(i, j)) / (4.0 * v[i]);
  v[k] = (r(k, i) + r(i, k)) / (4.0 * v[i]);
  const double w = (r(k, j) - r(j, k)) / (4.0 * v[i]);
  if (w >= 0.0) return {w, v};
  return {-w, -v};
}

}  // namespace

Vector3d rotation_vector(const Matrix3d& r) noexcept {
  const UnitQuaternion unit_quaternion = quaternion(r);
  const double sine = std::sqrt(unit_quaternion.v.dot(unit_quaternion.v));
  // Half the angle is atan2(sine, w); the ratio has a limit where both sine and angle vanish.
  if (sine < 1e-10) return (2.0 / unit_quaternion.w) * unit_quaternion.v;
  return (2.0 * std::atan2(sine, unit_quaternion.w) / sine) * unit_quaternion.v;
}

Pose inverse(const Pose& g) noexcept {
  const Matrix3d rotation = g.topLeftCorner<3, 3>().transpose();
  return pose(rotation, -rotation * g.topRightCorner<3, 1>());
}

Pose exp(const Twist& x) noexcept {
  const Vector3d v = x.head<3>(), w = x.tail<3>();
  const Stumpff c(w.dot(w));
  const Matrix3d hat = skew(w), square = hat * hat;
  return pose(Matrix3d::Identity() + c.c1 * hat + c.c2 * square,
              v + c.c2 * (hat * v) + c.c3 * (square * v));
}

Twist log(const Pose& g) noexcept {
  const Vector3d w = rotation_vector(g.topLeftCorner<3, 3>());
  // The position is V(w) v with V the right-trivialised differential, dexp(-w).
  const Matrix3d hat = skew(w);
  const double e = Stumpff(w.dot(w)).inverse();
  const Matrix3d dexp_inverse = Matrix3d::Identity() - 0.5 * hat + e * (hat * hat);
  Twist x;
  x << dexp_inverse * g.topRightCorner<3, 1>(), w;
  return x;
}

Eigen::Matrix3d rotation(const Eigen::Vector3d& vector) noexcept {
  Twist twist = Twist::Zero();
  twist.tail<3>() = vector;
  return exp(twist).topLeftCorner<3, 3>();
}

Adjoint Ad(const Pose& g) noexcept {
  const Matrix3d rotation = g.topLeftCorner<3, 3>();
  Adjoint matrix = Adjoint::Zero();
  matrix.topLeftCorner<3, 3>() = rotation;
  matrix.topRightCorner<3, 3>() = skew(g.topRightCorner<3, 1>()) * rotation;
  matrix.bottomRightCorner<3, 3>() = rotation;
  return matrix;
}

Adjoint ad(const Twist& x) noexcept {
  Adjoint matrix = Adjoint::Zero();
  matrix.topLeftCorner<3, 3>() = skew(x.tail<3>());
  matrix.topRightCorner<3, 3>() = skew(x.head<3>());
  matrix.bottomRightCorner<3, 3>() = matrix.topLeftCorner<3, 3>();
  return matrix;
}

}  // namespace vms_ph::se3
