// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energy that an effort transfers while it is held over a sample.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The effort held since the last update, and the energy that it has transferred.
/// The work of a held effort is exactly f^T (q_next - q). A wrench that is held in the axes of a
/// base that turns does the work w^T int v_b dt instead; the integral is the displacement less
/// dt^2 / 12 [v_b, v_b_next] (Magnus expansion). The rest is of fifth order; a bound of it is added
/// to the work.
/// If the safe output has acted for a part of the sample, it is unknown how far the robot moved
/// under each of the two efforts.
class SampleWork {
 public:
  explicit SampleWork(const Model& model);

  /// Restart; no effort is held.
  void forget() noexcept { holds_ = missed_ = false; }

  /// Hold efforts (nv,) from a state on, where `store` joules are stored.
  /// `way` (nv,) is the displacement that the efforts are predicted to cause in the sample.
  void hold(const Evaluation& d, const VectorV& force, const VectorV& way, double store) noexcept;

  /// Note that the safe output (nv,) has replaced the held effort.
  void missed_updates(const VectorV& safe) noexcept;

  /// The decrease of the stored energy less the work of the held effort, J.
  /// After missed updates the largest work that the two efforts can have done is used: that of one
  /// of them alone, or of the held effort over the predicted displacement and of the other one over
  /// the rest. The result is then not positive.
  /// @param dt  time since the last update, s.
  double recovered_energy(const Evaluation& d, double store, double dt) noexcept;

 private:
  double turning(const Evaluation& d, double dt) const noexcept;

  const Model& model_;
  bool holds_ = false, missed_ = false;
  VectorQ q_;
  VectorV v_, force_, safe_, predicted_, way_;
  double store_ = 0.0;
};

}  // namespace vms_ph
