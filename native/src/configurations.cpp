// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The functions of a model on configurations.
#include <cmath>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

using Eigen::Vector3d;

// A quaternion or (cos, sin) pair further than this from length one is a mistake, not rounding.
constexpr double kNormTolerance = 1e-6;

// Pinocchio's functions of configurations take seconds to compile, for every kind of joint there
// is. Here are the base, joints of one coordinate and those with (cos, sin), which are kept at
// length one to second order.

/// Turn (cos, sin) by an angle.
void turn(const double* from, double angle, double* to) noexcept {
  const double c = std::cos(angle), s = std::sin(angle);
  const double x = c * from[0] - s * from[1], y = s * from[0] + c * from[1];
  const double scale = 0.5 * (3.0 - x * x - y * y);
  to[0] = scale * x;
  to[1] = scale * y;
}

/// The angle from one (cos, sin) to another.
double angle_between(const double* from, const double* to) noexcept {
  return std::atan2(from[0] * to[1] - from[1] * to[0], from[0] * to[0] + from[1] * to[1]);
}

void integrate_plane(const double* q, const double* dv, double* out) noexcept {
  const Stumpff c(dv[2] * dv[2]);
  const double x = c.c1 * dv[0] - dv[2] * c.c2 * dv[1], y = dv[2] * c.c2 * dv[0] + c.c1 * dv[1];
  const double cosine = q[2], sine = q[3];
  out[0] = q[0] + cosine * x - sine * y;
  out[1] = q[1] + sine * x + cosine * y;
  turn(q + 2, dv[2], out + 2);
}

Eigen::Quaterniond quaternion_of(const double* q) noexcept { return {q[6], q[3], q[4], q[5]}; }

/// The twist from the planar pose a to b in unit time; Pinocchio's own loses half the digits for
/// rotations just above 1e-4 rad.
void difference_plane(const double* a, const double* b, double* out) noexcept {
  const double dx = b[0] - a[0], dy = b[1] - a[1];
  const double x = a[2] * dx + a[3] * dy, y = a[2] * dy - a[3] * dx;
  const double half = 0.5 * angle_between(a + 2, b + 2);
  // V^-1 = h cot h - h J with h half the angle and J the quarter turn.
  const double along = half == 0.0 ? 1.0 : half / std::tan(half);
  out[0] = along * x + half * y;
  out[1] = along * y - half * x;
  out[2] = 2.0 * half;
}

void integrate_space(const double* q, const double* dv, double* out) noexcept {
  const Vector3d v(dv[0], dv[1], dv[2]), w(dv[3], dv[4], dv[5]), position(q[0], q[1], q[2]);
  const double square = w.dot(w);
  const Stumpff full_step(square), half(0.25 * square);
  const Vector3d across = w.cross(v);
  const Vector3d way = v + full_step.c2 * across + full_step.c3 * w.cross(across);
  const Eigen::Quaterniond pose = quaternion_of(q);
  const Vector3d end = position + pose.toRotationMatrix() * way;
  const Vector3d vector = 0.5 * half.c1 * w;
  const double cosine = 1.0 - 0.25 * square * half.c2;
  const double sign = cosine < 0.0 ? -1.0 : 1.0;  // of the two quaternions the one nearby
  const Eigen::Quaterniond step(sign * cosine, sign * vector.x(), sign * vector.y(),
                                sign * vector.z());
  const Eigen::Quaterniond rotated = pose * step;
  const double scale = 0.5 * (3.0 - rotated.squaredNorm());
  for (int i = 0; i < 3; ++i) out[i] = end[i];
  for (int i = 0; i < 4; ++i) out[3 + i] = scale * rotated.coeffs()[i];
}

void difference_space(const double* from, const double* to, double* out) noexcept {
  const Eigen::Quaterniond start = quaternion_of(from), end = quaternion_of(to);
  const Eigen::Quaterniond relative = start.conjugate() * end;
  const Vector3d way(to[0] - from[0], to[1] - from[1], to[2] - from[2]);
  const Vector3d local = start.toRotationMatrix().transpose() * way;
  const double sign = relative.w() < 0.0 ? -1.0 : 1.0, w = sign * relative.w();
  const Vector3d vector = sign * relative.vec();
  const double sine = vector.norm();
  // Half the angle is atan2(sine, w); the ratio has a limit where both sine and angle vanish.
  const double ratio = sine < 1e-10 ? 2.0 / w : 2.0 * std::atan2(sine, w) / sine;
  const Vector3d rotation = ratio * vector;
  const Vector3d across = rotation.cross(local);
  const double e = Stumpff(rotation.dot(rotation)).inverse();
  const Vector3d twist = local - 0.5 * across + e * rotation.cross(across);
  for (int i = 0; i < 3; ++i) {
    out[i] = twist[i];
    out[3 + i] = rotation[i];
  }
}

}  // namespace

bool Model::is_configuration(const ConstVector& q) const noexcept {
  if (q.size() != nq() || !q.allFinite()) return false;
  for (const Rotation& entry : rotations_) {
    const double length = q.segment(entry.first, entry.size).norm();
    if (!(std::abs(length - 1.0) <= kNormTolerance)) return false;
  }
  return true;
}

void Model::integrate(const ConstVector& q, const ConstVector& dv,
                      Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (base_ == Base::floating) {
    integrate_space(q.data(), dv.data(), result.data());
  } else if (base_ == Base::planar) {
    integrate_plane(q.data(), dv.data(), result.data());
  }
  for (int i = 0; i < n_; ++i) {
    const int at = position_index(i), by = b_ + i;
    if (is_pair(i)) {
      turn(q.data() + at, dv[by], result.data() + at);
    } else {
      result[at] = q[at] + dv[by];
    }
  }
}

void Model::difference(const ConstVector& q0, const ConstVector& q1,
                       Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (base_ == Base::floating) {
    difference_space(q0.data(), q1.data(), result.data());
  } else if (base_ == Base::planar) {
    difference_plane(q0.data(), q1.data(), result.data());
  }
  for (int i = 0; i < n_; ++i) {
    const int at = position_index(i), by = b_ + i;
    result[by] = is_pair(i) ? angle_between(q0.data() + at, q1.data() + at) : q1[at] - q0[at];
  }
}

void Model::joint_positions(const ConstVector& q,
                            Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (nq() - base_size() == n_) {
    result = q.tail(n_);
    return;
  }
  VectorV deviation(nv());
  difference(neutral_, q, deviation);
  result = deviation.tail(n_);
}

void Model::fill_configuration(const ConstVector& q,
                               Eigen::Ref<Eigen::VectorXd> full) const noexcept {
  full.head(base_size()) = q.head(base_size());
  for (std::size_t i = base_ == Base::fixed ? 1 : 2; i < leads_.size(); ++i) {
    const Lead& lead = leads_[i];
    const int at = position_index(lead.joint);
    const int to = model_->idx_qs[i];
    if (is_pair(lead.joint)) {
      full[to] = q[at];
      full[to + 1] = q[at + 1];
    } else {
      full[to] = lead.multiplier * q[at] + lead.offset;
    }
  }
}

void Model::fill_velocity(const ConstVector& v, Eigen::Ref<Eigen::VectorXd> full) const noexcept {
  full.head(b_) = v.head(b_);
  for (std::size_t i = base_ == Base::fixed ? 1 : 2; i < leads_.size(); ++i) {
    full[model_->idx_vs[i]] = leads_[i].multiplier * v[b_ + leads_[i].joint];
  }
}

pinocchio::SE3 Model::base_pose(const ConstVector& q) const noexcept {
  if (base_ == Base::fixed) return pinocchio::SE3::Identity();
  pinocchio::SE3 rotated = pinocchio::SE3::Identity();
  rotated.translation().head(base_positions()) = q.head(base_positions());
  if (base_ == Base::floating) {
    rotated.rotation() = Eigen::Quaterniond(q[6], q[3], q[4], q[5]).toRotationMatrix();
  } else {
    rotated.rotation().topLeftCorner<2, 2>() << q[2], -q[3], q[3], q[2];
  }
  return model_->jointPlacements[1] * rotated;
}

bool RobotState::is_usable(const Model& model) const noexcept {
  return q.size() == model.nq() && v.size() == model.nv() && std::isfinite(q.sum() + v.sum()) &&
         age >= 0.0 && std::isfinite(age);
}

}  // namespace vms_ph
