// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Limits of power, speeds and kinetic energy: a share between an effort and a brake.
#pragma once

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/energy_guard/settings.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

/// Finds the largest share of an effort with which a sample meets the limits; see
/// vms_ph_controllers.guard.motion_limits.
class MotionLimits {
 public:
  explicit MotionLimits(const Model& model);

  /// Whether any limit of the motion is set.
  static bool is_limited(const EnergyGuardSettings& settings) noexcept;

  /// The share of the wanted effort, in [0, 1].
  ///
  /// @param v         (nv,) velocity at which the effort begins to act.
  /// @param wanted    (nv,) effort.
  /// @param brake     (nv,) effort that takes its place.
  /// @param resting   (nv,) effort that compensates gravity, no power of the controller.
  /// @param dt        duration of the sample, s.
  double share(Evaluation& d, const VectorV& v, const VectorV& wanted, const VectorV& brake,
               const VectorV& resting, const EnergyGuardSettings& settings, double dt) noexcept;

  /// Which limit the last share meets, in words; empty for a share of one.
  const Reason& reason() const noexcept { return reason_; }

 private:
  void limit_tool(Evaluation& d, const VectorV& v, const EnergyGuardSettings& s,
                  double& found) noexcept;
  bool meets(double share, double& found) noexcept;

  const Model& model_;
  VectorV slow_, step_, more_, least_, direction_;
  Cholesky inertia_;
  Reason reason_;
};

}  // namespace vms_ph
