// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/joint_reference.hpp"

#include <algorithm>

namespace vms_ph {

JointReference::JointReference(int n)
    : positions_(VectorV::Zero(n)),
      rates_(positions_),
      accelerations_(positions_),
      target_(positions_),
      wish_(positions_) {}

void JointReference::restart(const ConstVector& positions) noexcept {
  positions_ = positions;
  target_ = positions_;
  rates_.setZero();
  accelerations_.setZero();
  is_resting_ = true;
}

void JointReference::go_to(const ConstVector& target) noexcept {
  target_ = target;
  is_resting_ = false;
}

void JointReference::advance(const VectorV& speed, double bandwidth, double dt) noexcept {
  if (is_resting_) return;
  const double quickness = std::min(bandwidth, 1.0 / dt);
  positions_ += dt * rates_;
  rates_ += dt * accelerations_;
  wish_ = (0.5 * quickness * (target_ - positions_)).cwiseMax(-speed).cwiseMin(speed);
  accelerations_ = quickness * (wish_ - rates_);
  const auto largest = [](const VectorV& x) {
    return x.size() == 0 ? 0.0 : x.cwiseAbs().maxCoeff();
  };
  if (largest(rates_) + largest(wish_) < 1e-9) restart(target_);
}

}  // namespace vms_ph
