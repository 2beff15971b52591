// A potential that rises near the limits of the joints.
#pragma once

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// 1/2 k d^2 with d the depth of a joint within the margin before its limit.
class JointLimitPotential {
 public:
  explicit JointLimitPotential(const Model& model) : lower_(model.lower()), upper_(model.upper()) {}

  /// Depths d (n,) of the joints within the margin; negative at the lower limits.
  VectorV depth(const VectorV& positions, double margin) const noexcept;

  /// Joint positions (n,) clipped to the margins.
  /// Joints that were beyond a margin `before` may stay there, but move no further.
  VectorV clipped(const VectorV& positions, const VectorV& before, double margin) const noexcept;

 private:
  VectorV lower_, upper_;
};

}  // namespace vms_ph
