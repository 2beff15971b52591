// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Joint positions that move smoothly to a target.
#pragma once

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Joint positions that follow a target with bounded rates and bounded accelerations.
class JointReference {
 public:
  explicit JointReference(int n);

  /// Restart at rest at positions (n,).
  void restart(const ConstVector& positions) noexcept;

  /// Set the target positions (n,).
  void go_to(const ConstVector& target) noexcept;

  /// Advance by one time step; see PoseReference::advance.
  void advance(double speed, double quickness, double dt) noexcept {
    advance(VectorV(VectorV::Constant(positions_.size(), speed)), quickness, dt);
  }

  /// The same with a largest speed for each joint, (n,).
  void advance(const VectorV& speed, double quickness, double dt) noexcept;

  const VectorV& positions() const { return positions_; }          ///< (n,)
  const VectorV& rates() const { return rates_; }                  ///< (n,)
  const VectorV& accelerations() const { return accelerations_; }  ///< (n,)
  bool is_resting() const { return is_resting_; }  ///< whether the target is reached

 private:
  VectorV positions_, rates_, accelerations_, target_, wish_;
  bool is_resting_ = true;
};

}  // namespace vms_ph
