// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/springs.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// The hysteresis of the sign: at eta = -0.1 the angle is 191 degrees. Measurement noise at half a
// turn cannot make the sign chatter.
constexpr double kMargin = 0.1;

}  // namespace

bool PosePotential::follow(const Pose& error) noexcept {
  const Eigen::Vector4d next =
      Eigen::Quaterniond(Eigen::Matrix3d(error.topLeftCorner<3, 3>())).coeffs();
  // Of the two quaternions of a rotation, the one that is continuous in time.
  const bool opposite = next.dot(quaternion_) < 0.0;
  quaternion_ = opposite ? Eigen::Vector4d(-next) : next;
  if (sign_ * quaternion_[3] >= -kMargin) return false;
  sign_ = -sign_;
  return true;
}

double PosePotential::value(const Pose& error, double k_position,
                            double k_rotation) const noexcept {
  const Eigen::Vector3d e = error.topRightCorner<3, 1>(), turn = quaternion_.head<3>();
  const double eta = sign_ * quaternion_[3];
  // 1 - eta, without its cancellation near the reference.
  const double rest = eta > 0.0 ? turn.dot(turn) / (1.0 + eta) : 1.0 - eta;
  return 0.5 * k_position * e.dot(e) + 4.0 * k_rotation * rest;
}

Twist PosePotential::gradient(const Pose& error, double k_position,
                              double k_rotation) const noexcept {
  const Eigen::Matrix3d rotation = error.topLeftCorner<3, 3>();
  const Eigen::Vector3d e = error.topRightCorner<3, 1>();
  Twist wrench;
  wrench.head<3>() = k_position * product<Eigen::Vector3d>(transposed(rotation), e);
  wrench.tail<3>() = (2.0 * k_rotation * sign_) * quaternion_.head<3>();
  return wrench;
}

double Pull::bound(double most, double stiffness) noexcept {
  if (most <= 0.0 || 2.0 * stiffness * energy <= most * most) return 1.0;
  const double bend = 0.5 * most * most / stiffness;
  const double share = std::sqrt(bend / energy);
  energy = 2.0 * share * energy - bend;
  gradient *= share;
  return share;
}

Pull PosePotential::position(const Pose& error, const Eigen::Matrix3d& stiffness) const noexcept {
  const Eigen::Matrix3d rotation = error.topLeftCorner<3, 3>();
  const Eigen::Vector3d e = error.topRightCorner<3, 1>();
  const auto pull = product<Eigen::Vector3d>(stiffness, e);
  return {0.5 * e.dot(pull), product<Eigen::Vector3d>(transposed(rotation), pull)};
}

Pull PosePotential::attitude(const Eigen::Matrix3d& stiffness) const noexcept {
  const Eigen::Vector3d turn = quaternion_.head<3>();
  const auto spread = product<Eigen::Vector3d>(stiffness, turn);
  const double eta = quaternion_[3], rest = 1.0 + sign_ * eta, stored = turn.dot(spread);
  Eigen::Vector3d moment = 4.0 / rest * (eta * spread + spread.cross(turn));
  moment += 2.0 * sign_ * stored / (rest * rest) * turn;
  return {4.0 * stored / rest, moment};
}

Eigen::Matrix3d PosePotential::hessian_bound(const Eigen::Matrix3d& stiffness) const noexcept {
  const Eigen::Matrix3d equal = stiffness(0, 0) * Eigen::Matrix3d::Identity();
  if (stiffness == equal) return stiffness;
  const Eigen::Vector3d turn = quaternion_.head<3>();
  const double eta = quaternion_[3], rest = 1.0 + sign_ * eta, length = turn.norm();
  Eigen::Matrix3d rates;
  rates << eta, -turn[2], turn[1], turn[2], eta, -turn[0], -turn[1], turn[0], eta;
  const auto spread = product<Eigen::Vector3d>(stiffness, turn);
  const double along = turn.dot(spread) * (1.0 / rest + 1.0 / std::max(length, 1e-9));
  const auto stiff = product<Eigen::Matrix3d>(stiffness, rates);
  Eigen::Matrix3d bound = (rest + length) * product<Eigen::Matrix3d>(transposed(rates), stiff);
  add_product(turn, transposed(turn), bound, along);
  return 2.0 / (rest * rest) * bound;
}

double PosePotential::turning(const Eigen::Matrix3d& stiffness,
                              const Eigen::Vector3d& rate) const noexcept {
  const Eigen::Vector3d turn = quaternion_.head<3>();
  const auto spread = product<Eigen::Vector3d>(stiffness, turn);
  return 8.0 / (1.0 + sign_ * quaternion_[3]) * spread.dot(rate.cross(turn));
}

VectorB base_components(const Twist& twist, int b) noexcept {
  if (b == 6) return twist;
  if (b == 3) return Eigen::Vector3d(twist[0], twist[1], twist[5]);
  return VectorB();
}

void BaseSpring::restart(Evaluation& d) noexcept {
  home_ = d.model().base_pose(d.q()).toHomogeneousMatrix();
  potential_.restart();
  if (b_ == 0) return;
  const int linear = b_ == 6 ? 3 : 2;
  const VectorV diagonal = d.M().diagonal();
  mass_ = diagonal.head(linear).mean();
  inertia_ = diagonal.segment(linear, b_ - linear).mean();
}

void BaseSpring::compute(const Pose& pose, double frequency, double share,
                         double turning) noexcept {
  energy = 0.0;
  force.setZero();
  stiffness.setZero();
  if (share == 0.0 && turning == 0.0) return;
  const Pose error = se3::inverse(home_) * pose;
  potential_.follow(error);
  const double squared = frequency * frequency;
  const double k_position = share * squared * mass_, k_rotation = turning * squared * inertia_;
  Twist both;
  both << k_position, k_position, k_position, k_rotation, k_rotation, k_rotation;
  energy = potential_.value(error, k_position, k_rotation);
  force = base_components(potential_.gradient(error, k_position, k_rotation), b_);
  stiffness = base_components(both, b_);
}

VectorV JointLimitPotential::depth(const VectorV& positions, double margin) const noexcept {
  VectorV depth(positions.size());
  for (Eigen::Index i = 0; i < depth.size(); ++i) {
    const double above = std::max(positions[i] - (upper_[i] - margin), 0.0);
    const double below = std::max((lower_[i] + margin) - positions[i], 0.0);
    depth[i] = above - below;
  }
  return depth;
}

LimitSprings JointLimitPotential::springs(const VectorV& positions, const VectorV& rates,
                                          const VectorV& wall, double margin,
                                          double h) const noexcept {
  const VectorV now = depth(positions, margin), next_depth = depth(positions + h * rates, margin);
  LimitSprings limit_springs;
  limit_springs.force = wall.cwiseProduct(now);
  limit_springs.energy = 0.5 * limit_springs.force.dot(now);
  limit_springs.stiffness = wall;
  for (Eigen::Index i = 0; i < wall.size(); ++i) {
    if (now[i] == 0.0 && next_depth[i] == 0.0) limit_springs.stiffness[i] = 0.0;
  }
  return limit_springs;
}

VectorV JointLimitPotential::clipped(const VectorV& positions, const VectorV& before,
                                     double margin) const noexcept {
  VectorV clamped(positions.size());
  for (Eigen::Index i = 0; i < clamped.size(); ++i) {
    const double low = std::min(lower_[i] + margin, std::max(before[i], lower_[i]));
    const double high = std::max(upper_[i] - margin, std::min(before[i], upper_[i]));
    clamped[i] = std::min(std::max(positions[i], low), high);
  }
  return clamped;
}

}  // namespace vms_ph
