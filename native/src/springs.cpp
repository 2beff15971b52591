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
constexpr double kSignMargin = 0.1;

}  // namespace

bool PosePotential::set_error(const Pose& error) noexcept {
  const Eigen::Vector4d next_quaternion =
      Eigen::Quaterniond(Eigen::Matrix3d(error.topLeftCorner<3, 3>())).coeffs();
  // Of the two quaternions of a rotation, the one that is continuous in time.
  const bool is_opposite = next_quaternion.dot(quaternion_) < 0.0;
  quaternion_ = is_opposite ? Eigen::Vector4d(-next_quaternion) : next_quaternion;
  if (sign_ * quaternion_[3] >= -kSignMargin) return false;
  sign_ = -sign_;
  return true;
}

double PosePotential::energy(const Pose& error, double k_position,
                             double k_rotation) const noexcept {
  const Eigen::Vector3d e = error.topRightCorner<3, 1>(), eps = quaternion_.head<3>();
  const double eta = sign_ * quaternion_[3];
  // 1 - eta, without its cancellation near the reference.
  const double complement = eta > 0.0 ? eps.dot(eps) / (1.0 + eta) : 1.0 - eta;
  return 0.5 * k_position * e.dot(e) + 4.0 * k_rotation * complement;
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

double SpringEnergy::limit_force(double inverse_limit, double stiffness) noexcept {
  const double energy_ratio = 2.0 * stiffness * energy * inverse_limit * inverse_limit;
  if (energy_ratio <= 1.0) return 1.0;  // to the energy at the limit
  const double share = 1.0 / std::sqrt(energy_ratio);
  energy *= share * (2.0 - share);
  gradient *= share;
  return share;
}

SpringEnergy PosePotential::position_spring(const Pose& error,
                                            const Eigen::Matrix3d& stiffness) const noexcept {
  const Eigen::Matrix3d rotation = error.topLeftCorner<3, 3>();
  const Eigen::Vector3d e = error.topRightCorner<3, 1>();
  const auto spring_force = product<Eigen::Vector3d>(stiffness, e);
  return {0.5 * e.dot(spring_force), product<Eigen::Vector3d>(transposed(rotation), spring_force)};
}

SpringEnergy PosePotential::attitude_spring(const Eigen::Matrix3d& stiffness) const noexcept {
  const Eigen::Vector3d eps = quaternion_.head<3>();
  const auto stiff_eps = product<Eigen::Vector3d>(stiffness, eps);
  const double eta = quaternion_[3], divisor = 1.0 + sign_ * eta,
               quadratic_form = eps.dot(stiff_eps);
  Eigen::Vector3d moment = 4.0 / divisor * (eta * stiff_eps + stiff_eps.cross(eps));
  moment += 2.0 * sign_ * quadratic_form / (divisor * divisor) * eps;
  return {4.0 * quadratic_form / divisor, moment};
}

Eigen::Matrix3d PosePotential::hessian_bound(const Eigen::Matrix3d& stiffness) const noexcept {
  const Eigen::Matrix3d isotropic_stiffness = stiffness(0, 0) * Eigen::Matrix3d::Identity();
  if (stiffness == isotropic_stiffness) return stiffness;
  const Eigen::Vector3d eps = quaternion_.head<3>();
  const double eta = quaternion_[3], divisor = 1.0 + sign_ * eta, length = eps.norm();
  Eigen::Matrix3d rate_map;
  rate_map << eta, -eps[2], eps[1], eps[2], eta, -eps[0], -eps[1], eps[0], eta;
  const auto stiff_eps = product<Eigen::Vector3d>(stiffness, eps);
  const double coefficient = eps.dot(stiff_eps) * (1.0 / divisor + 1.0 / std::max(length, 1e-9));
  const auto stiff_rate_map = product<Eigen::Matrix3d>(stiffness, rate_map);
  Eigen::Matrix3d bound =
      (divisor + length) * product<Eigen::Matrix3d>(transposed(rate_map), stiff_rate_map);
  add_product(eps, transposed(eps), bound, coefficient);
  return 2.0 / (divisor * divisor) * bound;
}

double PosePotential::rotation_power(const Eigen::Matrix3d& stiffness,
                                     const Eigen::Vector3d& angular_velocity) const noexcept {
  const Eigen::Vector3d eps = quaternion_.head<3>();
  const auto stiff_eps = product<Eigen::Vector3d>(stiffness, eps);
  return 8.0 / (1.0 + sign_ * quaternion_[3]) * stiff_eps.dot(angular_velocity.cross(eps));
}

VectorB base_components(const Twist& twist, int b) noexcept {
  if (b == 6) return twist;
  if (b == 3) return Eigen::Vector3d(twist[0], twist[1], twist[5]);
  return VectorB();
}

void BaseSpring::restart(Evaluation& d) noexcept {
  rest_pose_ = d.model().base_pose(d.q()).toHomogeneousMatrix();
  potential_.restart();
  if (b_ == 0) return;
  const int linear_size = b_ == 6 ? 3 : 2;
  const VectorV diagonal = d.M().diagonal();
  mean_mass_ = diagonal.head(linear_size).mean();
  mean_inertia_ = diagonal.segment(linear_size, b_ - linear_size).mean();
}

void BaseSpring::compute(const Pose& pose, double frequency, double position_share,
                         double rotation_share) noexcept {
  energy = 0.0;
  force.setZero();
  stiffness.setZero();
  if (position_share == 0.0 && rotation_share == 0.0) return;
  const Pose error = se3::inverse(rest_pose_) * pose;
  potential_.set_error(error);
  const double squared_frequency = frequency * frequency;
  const double k_position = position_share * squared_frequency * mean_mass_,
               k_rotation = rotation_share * squared_frequency * mean_inertia_;
  Twist stiffnesses;
  stiffnesses << k_position, k_position, k_position, k_rotation, k_rotation, k_rotation;
  energy = potential_.energy(error, k_position, k_rotation);
  force = base_components(potential_.gradient(error, k_position, k_rotation), b_);
  stiffness = base_components(stiffnesses, b_);
}

VectorV JointLimitPotential::depth(const VectorV& positions, double margin) const noexcept {
  const VectorV high = upper_.array() - margin, low = lower_.array() + margin;
  return (positions - high).cwiseMax(0.0) - (low - positions).cwiseMax(0.0);
}

LimitSprings JointLimitPotential::springs(const VectorV& positions, const VectorV& rates,
                                          const VectorV& stiffness, double margin,
                                          double h) const noexcept {
  const VectorV d = depth(positions, margin), d_next = depth(positions + h * rates, margin);
  LimitSprings limit_springs;
  limit_springs.force = stiffness.cwiseProduct(d);
  limit_springs.energy = 0.5 * limit_springs.force.dot(d);
  limit_springs.stiffness = stiffness;
  for (Eigen::Index i = 0; i < stiffness.size(); ++i) {
    if (d[i] == 0.0 && d_next[i] == 0.0) limit_springs.stiffness[i] = 0.0;
  }
  return limit_springs;
}

VectorV JointLimitPotential::clip_positions(const VectorV& positions, const VectorV& last_positions,
                                            double margin) const noexcept {
  const VectorV high = upper_.array() - margin, low = lower_.array() + margin;
  return positions.cwiseMax(low.cwiseMin(last_positions.cwiseMax(lower_)))
      .cwiseMin(high.cwiseMax(last_positions.cwiseMin(upper_)));
}

}  // namespace vms_ph
