// The energy that an effort transfers while it is held over a sample.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The effort held since the last update, and the energy that it has transferred.
/// The work of a held effort is exactly f^T (q_next - q). If the safe output has acted for a part
/// of the sample, it is unknown how far the robot moved under each of the two efforts.
class HeldSample {
 public:
  explicit HeldSample(const Model& model);

  /// Restart; no effort is held.
  void forget() noexcept { holds_ = missed_ = false; }

  /// Hold efforts (nv,) from a state on, where `store` joules are stored.
  void hold(const Evaluation& d, const VectorV& force, double store) noexcept;

  /// Note that the safe output (nv,) has replaced the held effort.
  void missed_updates(const VectorV& safe) noexcept;

  /// The decrease of the stored energy less the work of the held effort, J.
  /// After missed updates the larger work of the two efforts is used, and the result is not
  /// positive.
  double recovered_energy(const Evaluation& d, double store) noexcept;

 private:
  const Model& model_;
  bool holds_ = false, missed_ = false;
  VectorQ q_;
  VectorV force_, safe_, way_;
  double store_ = 0.0;
};

}  // namespace vms_ph
