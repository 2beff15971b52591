// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pose_potential.hpp"

#include <Eigen/Geometry>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// The hysteresis of the sign: at eta = -0.1 the angle is 191 degrees. Measurement noise at half a
// turn cannot make the sign chatter.
constexpr double kMargin = 0.1;

Eigen::Vector4d quaternion_of(const Pose& error) noexcept {
  return Eigen::Quaterniond(Eigen::Matrix3d(error.topLeftCorner<3, 3>())).coeffs();
}

}  // namespace

void PosePotential::restart(const Pose& error) noexcept {
  quaternion_ = quaternion_of(error);
  sign_ = quaternion_[3] >= 0.0 ? 1.0 : -1.0;
}

bool PosePotential::follow(const Pose& error) noexcept {
  const Eigen::Vector4d next = quaternion_of(error);
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

}  // namespace vms_ph
