// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/motion_limits.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// A speed below this, m/s, has no direction.
constexpr double kStill = 1e-9;

// The largest share s in [0, 1] with a s^2 + b s + c <= 0, for a >= 0; else 0.
double largest(double a, double b, double c) {
  if (a + b + c <= 0.0) return 1.0;
  if (c > 0.0) return 0.0;
  const double root = std::sqrt(std::max(0.0, b * b - 4.0 * a * c));
  // c <= 0 < a + b + c: the larger root is in [0, 1).
  const double share = b <= 0.0 ? (root - b) / (2.0 * a) : -2.0 * c / (b + root);
  return std::min(std::max(share, 0.0), 1.0);
}

}  // namespace

MotionLimits::MotionLimits(const Model& model)
    : model_(model),
      slow_(VectorV::Zero(model.nv())),
      step_(slow_),
      more_(slow_),
      least_(slow_),
      direction_(slow_) {}

bool MotionLimits::is_limited(const EnergyGuardSettings& s) noexcept {
  return s.power > 0.0 || s.kinetic_energy > 0.0 || s.speed > 0.0 || s.joint_speed > 0.0;
}

bool MotionLimits::meets(double share, double& found) noexcept {
  if (!(share < found)) return false;
  found = share;
  return true;
}

double MotionLimits::share(Evaluation& d, const VectorV& v, const VectorV& wanted,
                           const VectorV& brake, const VectorV& resting,
                           const EnergyGuardSettings& s, double dt) noexcept {
  reason_.clear();
  inertia_.compute(d.M());
  slow_ = brake - d.g();
  add_product(d.C(), d.v(), slow_, -1.0);
  inertia_.solve(slow_.data());
  slow_ = v + dt * slow_;
  more_ = wanted - brake;
  step_ = more_;
  inertia_.solve(step_.data());
  step_ *= dt;
  double found = 1.0;
  if (s.power > 0.0) {
    least_ = brake - resting;
    const double by_speed = 0.5 * (more_.dot(v) + more_.dot(slow_));
    const double least = 0.5 * (least_.dot(v) + least_.dot(slow_));
    if (meets(largest(0.5 * more_.dot(step_), by_speed + 0.5 * least_.dot(step_), least - s.power),
              found)) {
      reason_.set("power at its limit of %g W", s.power);
    }
  }
  if (s.joint_speed > 0.0) {
    for (Eigen::Index i = model_.b(); i < v.size(); ++i) {
      const double start = slow_[i], change = step_[i], most = s.joint_speed;
      if (!(std::abs(start + change) > most)) continue;
      const double end = start + change > 0.0 ? most : -most;
      const double room = std::abs(start) < most && change != 0.0 ? (end - start) / change : 0.0;
      if (meets(std::min(std::max(room, 0.0), 1.0), found)) {
        reason_.set("joint rate at its limit of %g", s.joint_speed);
      }
    }
  }
  if (s.speed > 0.0 || s.kinetic_energy > 0.0) limit_tool(d, v, s, found);
  return found;
}

void MotionLimits::limit_tool(Evaluation& d, const VectorV& v, const EnergyGuardSettings& s,
                              double& found) noexcept {
  const MatrixView jacobian = d.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  const MatrixView linear = jacobian.top_rows(3);
  const auto first = product<Eigen::Vector3d>(linear, slow_);
  const auto more = product<Eigen::Vector3d>(linear, step_);
  const double a = more.squaredNorm(), b = 2.0 * first.dot(more), c = first.squaredNorm();
  if (s.speed > 0.0 && meets(largest(a, b, c - s.speed * s.speed), found)) {
    reason_.set("speed at its limit of %g m/s", s.speed);
  }
  if (!(s.kinetic_energy > 0.0)) return;
  auto u = product<Eigen::Vector3d>(linear, v);
  if (!(u.norm() > kStill)) u = first + more;
  const double length = u.norm();
  if (!(length > kStill)) return;
  u /= length;
  multiply(transposed(linear), u, direction_);
  slow_ = direction_;
  inertia_.solve(slow_.data());
  const double most = 2.0 * s.kinetic_energy * direction_.dot(slow_);
  if (meets(largest(a, b, c - most), found)) {
    reason_.set("kinetic energy at its limit of %g J", s.kinetic_energy);
  }
}

}  // namespace vms_ph
