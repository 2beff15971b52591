// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A potential that rises near the limits of the joints.
#pragma once

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The springs at the limits of the joints, in a state.
struct LimitSprings {
  double energy = 0.0;       ///< J
  VectorV force, stiffness;  ///< gradient and stiffness, (n,)
};

/// 1/2 k d^2 with d the depth of a joint within the margin before its limit.
class JointLimitPotential {
 public:
  explicit JointLimitPotential(const Model& model) : lower_(model.lower()), upper_(model.upper()) {}

  /// Depths d (n,) of the joints within the margin; negative at the lower limits.
  VectorV depth(const VectorV& positions, double margin) const noexcept;

  /// The springs of joints at `positions` (n,) that move at `rates` (n,), with stiffnesses `wall`
  /// (n,). The stiffness of those that begin to act within the time h, s, counts as well.
  LimitSprings springs(const VectorV& positions, const VectorV& rates, const VectorV& wall,
                       double margin, double h) const noexcept;

  /// Joint positions (n,) clipped to the margins.
  /// Joints that were beyond a margin `before` may stay there, but move no further.
  VectorV clipped(const VectorV& positions, const VectorV& before, double margin) const noexcept;

 private:
  VectorV lower_, upper_;
};

}  // namespace vms_ph
