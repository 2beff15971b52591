// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integral_action.hpp"

#include <algorithm>

namespace vms_ph {
namespace {

// Of the standard acceleration of gravity, m/s^2, as a force on the base relative to its mass; of
// the attitude and of a joint, rad or m. The displacement of the reference reaches no further.
constexpr double kLargestPull = 0.5 * 9.80665, kLargestTurn = 0.5;

Eigen::Vector3d within(const Eigen::Vector3d& vector, double reach) noexcept {
  const double far = vector.norm();
  return far <= reach ? vector : Eigen::Vector3d(vector * (reach / far));
}

}  // namespace

IntegralAction::IntegralAction(int n) : joints_(VectorV::Zero(n)), joint_rates_(VectorV::Zero(n)) {
  restart();
}

void IntegralAction::restart() noexcept {
  place_.setZero();
  turned_.setZero();
  turn_.setIdentity();
  joints_.setZero();
  rest();
}

void IntegralAction::rest() noexcept {
  place_rate_.setZero();
  turn_rate_.setZero();
  joint_rates_.setZero();
}

void IntegralAction::advance(double share, double base, double shape, const Eigen::Vector3d& away,
                             const Eigen::Matrix3d* turned, const VectorV& offset,
                             double dt) noexcept {
  if (share == 0.0) {
    restart();
    return;
  }
  if (dt == 0.0) {
    rest();
    return;
  }
  Eigen::Vector3d place = Eigen::Vector3d::Zero();
  const double rate = dt * share * base;
  if (base > 0.0) place = within(place_ - rate * away, kLargestPull / (base * base));
  if (turned != nullptr) {
    turned_ = within(turned_ - rate * se3::rotation_vector(*turned), kLargestTurn);
    const Eigen::Matrix3d before = turn_;
    turn_ = se3::rotation(turned_);
    turn_rate_ = se3::rotation_vector(before.transpose() * turn_) / dt;
  }
  place_rate_ = (place - place_) / dt;
  place_ = place;
  for (Eigen::Index i = 0; i < joints_.size(); ++i) {
    const double wanted = joints_[i] - dt * share * shape * offset[i];
    const double joint = std::min(std::max(wanted, -kLargestTurn), kLargestTurn);
    joint_rates_[i] = (joint - joints_[i]) / dt;
    joints_[i] = joint;
  }
}

}  // namespace vms_ph
