// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The tank of an energy guard, and the sums of what went in and out.
#pragma once

#include <algorithm>

namespace vms_ph {

/// Counts the energy given through guarded ports against a budget; energies in J.
///
/// level = budget - given - discarded. The level is what may still be given; it is negative for a
/// debt.
struct TankLedger {
  double capacity, level, budget, margin;
  double given = 0.0, most_given = 0.0, discarded = 0.0;

  TankLedger(double most, double initial) noexcept
      : capacity(most), level(std::min(initial, most)), budget(level), margin(level) {}

  /// Count energy given over a sample; negative for energy that was taken out.
  void give(double energy) noexcept {
    given += energy;
    level -= energy;
    if (level > capacity) {
      discarded += level - capacity;
      level = capacity;
    }
    most_given = std::max(most_given, given);
    margin = std::min(margin, budget - given);
  }

  /// Add energy, as far as there is room; return how much was added.
  double refill(double energy) noexcept {
    const double added = std::min(energy, std::max(0.0, capacity - level));
    level += added;
    budget += added;
    return added;
  }

  /// Take energy out, as far as there is some; return how much was taken.
  double drain(double energy) noexcept {
    const double taken = std::min(energy, std::max(0.0, level));
    level -= taken;
    budget -= taken;
    margin = std::min(margin, budget - given);
    return taken;
  }
};

}  // namespace vms_ph
