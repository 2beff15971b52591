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

// Poses, twists and wrenches as two blocks each, which costs less than matrices of (6,6).
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace vms_ph::rigid {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Twist = Eigen::Matrix<double, 6, 1>;  // or a wrench; linear first
using StoredPose = Eigen::Matrix<double, 4, 4, Eigen::RowMajor>;

struct Motion {
  Matrix3d R;
  Vector3d p;

  static Motion of(const Eigen::Matrix4d& g) {
    return {g.topLeftCorner<3, 3>(), g.topRightCorner<3, 1>()};
  }
  /// From (4,4) row by row.
  static Motion read(const double* x) {
    const Eigen::Map<const StoredPose> g(x);
    return {g.topLeftCorner<3, 3>(), g.topRightCorner<3, 1>()};
  }
  void write(double* x) const {
    Eigen::Map<StoredPose> to(x);
    to.topLeftCorner<3, 3>() = R;
    to.topRightCorner<3, 1>() = p;
  }
  Motion operator*(const Motion& g) const { return {R * g.R, p + R * g.p}; }
  Motion inverse() const { return {R.transpose(), -(R.transpose() * p)}; }

  /// Ad_g u.
  Twist act(const Twist& u) const {
    Twist out;
    out.tail<3>() = R * u.tail<3>();
    out.head<3>() = R * u.head<3>() + p.cross(out.tail<3>());
    return out;
  }
  /// Ad_{g^-1} u.
  Twist pull(const Twist& u) const {
    Twist out;
    out.head<3>() = R.transpose() * (u.head<3>() - p.cross(u.tail<3>()));
    out.tail<3>() = R.transpose() * u.tail<3>();
    return out;
  }
  /// Ad_{g^-1}^T f: a wrench in the frame g, in the outer frame.
  Twist push(const Twist& f) const {
    Twist out;
    out.head<3>() = R * f.head<3>();
    out.tail<3>() = R * f.tail<3>() + p.cross(out.head<3>());
    return out;
  }
};

inline Matrix3d skew(const Vector3d& w) {
  Matrix3d out;
  out << 0.0, -w.z(), w.y(), w.z(), 0.0, -w.x(), -w.y(), w.x(), 0.0;
  return out;
}

/// A symmetric matrix from twists to wrenches: [[A, B], [B^T, C]].
struct Inertia {
  Matrix3d A, B, C;

  Twist operator*(const Twist& u) const {
    Twist out;
    out.head<3>() = A * u.head<3>() + B * u.tail<3>();
    out.tail<3>() = B.transpose() * u.head<3>() + C * u.tail<3>();
    return out;
  }
  /// Add X^T M X with X = Ad_{g^-1}: that of a body whose pose is g.
  void add(const Inertia& M, const Motion& g) {
    const Matrix3d a = g.R * M.A * g.R.transpose();
    const Matrix3d b = g.R * M.B * g.R.transpose();
    const Matrix3d hat = skew(g.p);
    const Matrix3d shifted = b - a * hat;
    A += a;
    B += shifted;
    C += g.R * M.C * g.R.transpose() + hat * shifted - b.transpose() * hat;
  }
};

/// ad_x y, the commutator of two twists.
inline Twist commutator(const Twist& x, const Twist& y) {
  Twist out;
  out.head<3>() = x.tail<3>().cross(y.head<3>()) + x.head<3>().cross(y.tail<3>());
  out.tail<3>() = x.tail<3>().cross(y.tail<3>());
  return out;
}

/// The Cayley step g cay(u).
inline Motion stepped(const Motion& g, const Twist& u) {
  const Vector3d v = u.head<3>(), w = u.tail<3>();
  const double scale = 1.0 / (1.0 + 0.25 * w.squaredNorm());
  const Matrix3d hat = skew(w);
  return {g.R + g.R * (scale * (hat + 0.5 * (hat * hat))),
          g.p + g.R * (scale * (v + 0.5 * w.cross(v)))};
}

/// The rate of a Cayley step theta at whose end the twist is u.
inline Twist step_rate(const Twist& theta, const Twist& u) {
  const Vector3d v = theta.head<3>(), w = theta.tail<3>();
  const double angular = 0.25 * w.dot(u.tail<3>());
  const double linear = 0.25 * (w.dot(u.head<3>()) + v.dot(u.tail<3>()));
  Twist out = u + 0.5 * commutator(theta, u);
  out.head<3>() += linear * w + angular * v;
  out.tail<3>() += angular * w;
  return out;
}

/// The u with g = cay(u).
inline Twist step_to(const Motion& g) {
  const Vector3d axis(g.R(2, 1) - g.R(1, 2), g.R(0, 2) - g.R(2, 0), g.R(1, 0) - g.R(0, 1));
  const Vector3d w = 2.0 * axis / (1.0 + g.R.trace());
  Twist out;
  out << g.p - 0.5 * w.cross(g.p) + 0.25 * w.dot(g.p) * w, w;
  return out;
}

/// A rotation without the rounding errors of products, by one Newton step.
inline Matrix3d orthonormal(const Matrix3d& R) { return 1.5 * R - 0.5 * R * (R.transpose() * R); }

}  // namespace vms_ph::rigid
