// The energy recovered over a sample during which an effort was held.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Remembers the effort held from one state to the next and the energy stored at the first.
///
/// The work of an effort that is held is f^T (q_next - q), exactly. Where the safe output acted in
/// updates that were missed, the share of each of the two efforts is unknown.
class HeldSample {
 public:
  explicit HeldSample(const Model& model);

  /// Forget the sample.
  void forget() noexcept { holds_ = missed_ = false; }

  /// Remember the efforts (nv,) held from a state on, and the energy stored there, J.
  void hold(const Evaluation& d, const VectorV& force, double store) noexcept;

  /// Note that the safe output (nv,) has replaced the effort held.
  void missed_updates(const VectorV& safe) noexcept;

  /// Stored energy before, less stored energy now, less the work done in between, J.
  ///
  /// After missed updates the larger work of both efforts counts, and the result is not positive.
  double recovered_energy(const Evaluation& d, double store) noexcept;

 private:
  const Model& model_;
  bool holds_ = false, missed_ = false;
  VectorQ q_;
  VectorV force_, safe_, way_;
  double store_ = 0.0;
};

}  // namespace vms_ph
