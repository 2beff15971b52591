// An energy tank: what a controller may spend beyond what its potential holds.
#pragma once

#include <algorithm>

namespace vms_ph {

/// Keeps account of the energy a sampled controller takes out of a robot and puts into it.
///
/// A torque that is held over a sample does exactly the work tau^T (q_next - q), whatever the
/// velocity was believed to be. What the damping took out, less what sampling and clipping have
/// made up, flows in; the tank pays for whatever changes the potential itself. As long as the level
/// is not negative, no more energy has come out of the controller than was put into it at the
/// start.
class EnergyTank {
 public:
  /// @param capacity  what does not fit in is lost, J.
  /// @param level     content at the start, J.
  EnergyTank(double capacity, double level) noexcept
      : capacity_(capacity), level_(std::min(level, capacity)) {}

  void set_capacity(double capacity) noexcept { capacity_ = capacity; }
  double level() const noexcept { return level_; }

  /// All that sampling and clipping have made up so far, J.
  double unaccounted_energy() const noexcept { return unaccounted_energy_; }

  /// What may be spent now, J.
  double budget() const noexcept { return std::max(0.0, level_); }

  /// Take in what a sample left over, J; a negative amount was made up by sampling.
  void receive(double energy) noexcept {
    if (energy < 0.0) unaccounted_energy_ -= energy;
    level_ = std::min(capacity_, level_ + energy);
  }

  /// Give for a change of the potential; a negative amount flows back, J.
  void pay(double energy) noexcept { level_ = std::min(capacity_, level_ - energy); }

 private:
  double capacity_, level_, unaccounted_energy_ = 0.0;
};

}  // namespace vms_ph
