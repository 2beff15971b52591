// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/base_spring.hpp"

namespace vms_ph {

VectorB base_components(const Twist& twist, int b) noexcept {
  if (b == 6) return twist;
  if (b == 3) return Eigen::Vector3d(twist[0], twist[1], twist[5]);
  return VectorB();
}

void BaseSpring::restart(Evaluation& d) noexcept {
  home_ = d.model().base_pose(d.q()).toHomogeneousMatrix();
  potential_.restart(Pose::Identity());
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

}  // namespace vms_ph
