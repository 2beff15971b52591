// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/joint_limit_potential.hpp"

#include <algorithm>

namespace vms_ph {

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
  const VectorV now = depth(positions, margin), soon = depth(positions + h * rates, margin);
  LimitSprings found;
  found.force = wall.cwiseProduct(now);
  found.energy = 0.5 * found.force.dot(now);
  found.stiffness = wall;
  for (Eigen::Index i = 0; i < wall.size(); ++i) {
    if (now[i] == 0.0 && soon[i] == 0.0) found.stiffness[i] = 0.0;
  }
  return found;
}

VectorV JointLimitPotential::clipped(const VectorV& positions, const VectorV& before,
                                     double margin) const noexcept {
  VectorV kept(positions.size());
  for (Eigen::Index i = 0; i < kept.size(); ++i) {
    const double low = std::min(lower_[i] + margin, std::max(before[i], lower_[i]));
    const double high = std::max(upper_[i] - margin, std::min(before[i], upper_[i]));
    kept[i] = std::min(std::max(positions[i], low), high);
  }
  return kept;
}

}  // namespace vms_ph
