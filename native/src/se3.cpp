// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/se3.hpp"

#include <cmath>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {
namespace {

// Below this argument the series is used; above it the closed forms are accurate.
constexpr double kSmallArgument = 4.0;

// The first omitted term of the series is below 1e-22.
constexpr int kTerms = 12;

struct InverseFactorials {
  constexpr InverseFactorials() : entries() {
    double factorial = 1.0;
    for (int n = 0; n < 5 + 2 * kTerms; ++n) {
      entries[n] = 1.0 / factorial;
      factorial *= n + 1;
    }
  }
  double entries[5 + 2 * kTerms];
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
    c3 = series(3, s);
    c4 = series(4, s);
    c2 = 0.5 - s * c4;
    c1 = 1.0 - s * c3;
    return;
  }
  const double angle = std::sqrt(s);
  c1 = std::sin(angle) / angle;
  const double half_sine_ratio = std::sin(0.5 * angle) / angle;
  c2 = 2.0 * half_sine_ratio * half_sine_ratio;
  c3 = (1.0 - c1) / s;
  c4 = (0.5 - c2) / s;
}

}  // namespace vms_ph

namespace vms_ph::se3 {
namespace {

Pose pose(const Matrix3d& rotation, const Vector3d& position) noexcept {
  Pose g = Pose::Identity();
  g.topLeftCorner<3, 3>() = rotation;
  g.topRightCorner<3, 1>() = position;
  return g;
}

}  // namespace

Vector3d rotation_vector(const Matrix3d& R) noexcept {
  return rotation_vector(Eigen::Quaterniond(R));
}

Vector3d rotation_vector(const Eigen::Quaterniond& q) noexcept {
  // Of the two quaternions of a rotation that of the smaller angle. Half the angle is
  // atan2(sine, w); the ratio has a limit where both sine and angle vanish.
  const double half_sine = q.vec().norm(), w = std::abs(q.w());
  const double ratio = half_sine < 1e-10 ? 2.0 / w : 2.0 * std::atan2(half_sine, w) / half_sine;
  return std::copysign(ratio, q.w()) * q.vec();
}

Pose inverse(const Pose& g) noexcept {
  const Matrix3d rotation = g.topLeftCorner<3, 3>().transpose();
  return pose(rotation, -rotation * g.topRightCorner<3, 1>());
}

Pose exp(const Twist& u) noexcept {
  const Vector3d v = u.head<3>(), w = u.tail<3>();
  const Stumpff c(w.dot(w));
  const Matrix3d hat = skew(w), hat_squared = hat * hat;
  return pose(Matrix3d::Identity() + c.c1 * hat + c.c2 * hat_squared,
              v + c.c2 * (hat * v) + c.c3 * (hat_squared * v));
}

Twist log(const Pose& g) noexcept {
  const Vector3d w = rotation_vector(g.topLeftCorner<3, 3>());
  // The position is V(w) v; V is the differential of exp, right-trivialised with argument w.
  const Matrix3d hat = skew(w);
  const double coefficient = Stumpff(w.dot(w)).inverse();
  const Matrix3d dexp_inverse = Matrix3d::Identity() - 0.5 * hat + coefficient * (hat * hat);
  Twist u;
  u << dexp_inverse * g.topRightCorner<3, 1>(), w;
  return u;
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

Adjoint ad(const Twist& u) noexcept {
  Adjoint matrix = Adjoint::Zero();
  matrix.topLeftCorner<3, 3>() = skew(u.tail<3>());
  matrix.topRightCorner<3, 3>() = skew(u.head<3>());
  matrix.bottomRightCorner<3, 3>() = matrix.topLeftCorner<3, 3>();
  return matrix;
}

}  // namespace vms_ph::se3
