// What an effort that was held over a sample has left of a store of energy.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Remembers what acts from one state to the next, and settles it there.
///
/// The work of an effort that is held is f^T (q_next - q), exactly. Where the safe output came in
/// between, unseen, nobody knows how far each of the two efforts has acted.
class HeldSample {
 public:
  explicit HeldSample(const Model& model);

  /// Begin anew; there is nothing to settle.
  void forget() noexcept { holds_ = lost_ = false; }

  /// Remember the efforts (nv,) from a state on, and what is stored there, J.
  void hold(const Evaluation& d, const VectorV& force, double store) noexcept;

  /// Know that the safe output (nv,) has taken the place of what was held.
  void lose(const VectorV& instead) noexcept;

  /// What of the store is neither there at the new state nor spent as work, J.
  ///
  /// Over what was not seen nothing is earned, and the dearer of both efforts is paid for.
  double left_over(const Evaluation& d, double store) noexcept;

 private:
  const Model& model_;
  bool holds_ = false, lost_ = false;
  VectorQ q_;
  VectorV force_, instead_, way_;
  double store_ = 0.0;
};

}  // namespace vms_ph
