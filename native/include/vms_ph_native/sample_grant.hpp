// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The largest share of an effort whose work over a whole sample an energy budget covers.
#pragma once

#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sample_prediction.hpp"

namespace vms_ph {

/// Grants shares of efforts by their work W(s) = W(0) + s a + s^2 b / 2 over a sample.
///
/// a = dt f^T v and b = dt^2 f^T M^-1 f for the effort f beyond the resting one. The share that
/// they give is corrected and decided by the prediction of the whole sample (SamplePrediction).
class SampleGrant {
 public:
  explicit SampleGrant(const Model& model);

  /// Reduce an effort (nv,) to the largest share that the budget covers; return whether the budget
  /// covers it then. If not, the robot must brake.
  ///
  /// What braking takes out is not spent in the same sample: an effort that brakes is reduced to
  /// s = -a / b, which takes out the most, before it would reverse the motion.
  ///
  /// @param force    (nv,) wanted effort; unchanged where the budget covers it.
  /// @param resting  (nv,) effort that compensates gravity as far as the actuators can.
  /// @param budget   energy available, J; negative for a debt.
  /// @param dt       duration of the sample, s; without one, in continuous time, no work is held.
  bool grant(Evaluation& d, VectorV& force, const VectorV& resting, double budget,
             double dt) noexcept;

  /// Replace a granted effort by the least brake that meets the budget.
  ///
  /// @param force      (nv,) granted effort.
  /// @param strongest  (nv,) the strongest brake, see strongest_brake().
  void brake(VectorV& force, const VectorV& resting, const VectorV& strongest) noexcept;

  /// The share of the last effort that was granted, in [0, 1].
  double share() const noexcept { return share_; }

  /// Why it was less than one, in words; empty otherwise.
  const Reason& reason() const noexcept { return reason_; }

  /// Displacement that is predicted for the last grant, (nv,).
  const VectorV& way() const noexcept { return chosen_.way; }

 private:
  SamplePrediction prediction_;
  Prediction rest_, tried_, chosen_;
  VectorV beyond_, force_;
  double share_ = 1.0;
  Reason reason_;
};

/// Write the strongest brake that the tank uses, (nv,): a third of the momentum per sample.
void strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept;

}  // namespace vms_ph
