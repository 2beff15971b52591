// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The efforts of a guard that act later, act now, or have acted since the last measured state.
#pragma once

#include <array>

#include "vms_ph_native/energy_guard/debt_ceiling.hpp"
#include "vms_ph_native/sample_work.hpp"

namespace vms_ph {

/// A queue of efforts: one sent in a sample acts from `delay` samples later on, for a sample.
/// Efforts here are those whose work counts: without a part of the weight that no actuator holds.
class EffortsUnderWay {
 public:
  EffortsUnderWay(const Model& model, int delay);

  /// Restart; an effort (nv,), with its part beyond the resting one, acts until the next one does.
  void forget(const VectorV& effort, const VectorV& active) noexcept;

  /// Take an effort (nv,) into the queue; the first one in it begins to act.
  void send(const VectorV& effort, const VectorV& active) noexcept;

  /// The number of efforts that act before the next one that is sent, and the k-th of them.
  int waiting() const noexcept { return delay_; }
  const VectorV& waiting(int k) const noexcept { return at(k + 1); }

  /// Its part beyond the resting effort for which it was sent.
  const VectorV& waiting_active(int k) const noexcept { return active_[index(k + 1)]; }

  /// Note the state at which the first effort of the queue begins to act.
  void see(Evaluation& d) noexcept;

  /// Note that the first effort of the queue acts after others, without a state between them.
  void act_unseen() noexcept;

  /// The energy given since the last state, J.
  ///
  /// If several efforts have acted since then, it is unknown how far the robot moved under each:
  /// the largest work along the displacement is taken, and nothing is credited.
  double work(Evaluation& d, double dt) noexcept;

 private:
  std::size_t index(int k) const noexcept {
    return static_cast<std::size_t>((first_ + k) % (delay_ + 1));
  }
  const VectorV& at(int k) const noexcept { return queue_[index(k)]; }

  const Model& model_;
  const int delay_;
  int first_ = 0;
  std::array<VectorV, kMostDelay + 1> queue_, active_;
  SampleWork held_;
  bool has_start_ = false, is_seen_ = true;
  VectorQ start_;
  double potential_ = 0.0;
  VectorV low_, high_, way_;
  const VectorV still_;
};

}  // namespace vms_ph
