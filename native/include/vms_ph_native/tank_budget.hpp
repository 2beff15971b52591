// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The tank budget: which changes of a potential are granted out of the available tank energy.
#pragma once

#include <cmath>
#include <optional>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/sampled_tank.hpp"
#include "vms_ph_native/shaped_potential.hpp"

namespace vms_ph {

/// Holds the potential in force and changes it as far as the tank allows; see
/// vms_ph_controllers.safety.energy_tank.
class TankBudget {
 public:
  explicit TankBudget(const Model& model);

  const ShapedPotential& potential() const noexcept { return potential_; }  ///< V
  double authority() const noexcept { return authority_; }  ///< in [0, 1]; one without a tank
  const std::optional<EnergyTank>& tank() const noexcept { return tank_.tank(); }

  /// Whether the last change was not fully covered by the tank.
  bool is_short() const noexcept { return is_short_; }

  /// Restart with a potential; a tank begins at its initial level.
  void reset(const ShapedPotential& potential) noexcept;

  /// Continue with a potential at its minimum; a tank keeps its level.
  void resume(const ShapedPotential& potential) noexcept;

  /// The potential in force at a configuration (nq,), J.
  double energy(const ConstVector& q) const noexcept { return authority_ * potential_.energy(q); }

  /// Add the energy recovered over the sample that has ended, with the exact work of the held
  /// torque.
  /// @param dt  time since the last update, s.
  void begin_sample(Evaluation& d, double limit_energy, double capacity, double initial,
                    double dt) noexcept;

  /// Change the potential as far as the tank covers it; return the energy added at q, J.
  /// @param q       present configuration, (nq,).
  /// @param desired the potential after a share of the change: share -> const
  ///                ShapedPotential&, valid until the next call.
  template <class Desired>
  double change(const ConstVector& q, Desired&& desired) noexcept {
    const double before = energy(q);
    is_short_ = false;
    if (!tank()) return replace(q, desired(1.0), before);
    // First the minimum is moved at the present authority; then the authority is adapted.
    double share = 1.0;
    const ShapedPotential* next = nullptr;
    for (int k = 0; k <= kHalvings; ++k) {
      share = k < kHalvings ? std::ldexp(1.0, -k) : 0.0;
      next = &desired(share);
      if (is_covered(*next, q, before)) break;
    }
    return charge(q, *next, before, share);
  }

  /// Reduce a torque (n,) to the share whose work tank and potential cover; brake where none is.
  /// The spring forces take their work from the potential; what tank and potential hold together is
  /// therefore the budget of a sample.
  void grant(Evaluation& d, VectorV& torque, const VectorV& static_effort, double limit_energy,
             const TorqueLimits& limits, double dt) noexcept;

  /// Why the last share was less than one; empty otherwise.
  const Reason& reason() const noexcept { return tank_.reason(); }

  /// Hold the torque from now on.
  void end_sample(Evaluation& d, const VectorV& torque, double limit_energy) noexcept;

  /// Report missed updates: the safe output (n,) acts instead of the held torque.
  void missed_updates(const VectorV& safe) noexcept { tank_.missed_updates(safe); }

 private:
  // Number of times a change that the tank does not cover is halved before it is refused.
  static constexpr int kHalvings = 4;

  double store(Evaluation& d, double limit_energy) const noexcept;
  double replace(const ConstVector& q, const ShapedPotential& next, double before) noexcept;
  bool is_covered(const ShapedPotential& next, const ConstVector& q, double before) noexcept;
  double charge(const ConstVector& q, const ShapedPotential& next, double before,
                double share) noexcept;

  ShapedPotential potential_, shifted_;
  double authority_ = 1.0;
  bool is_short_ = false;
  SampledTank tank_;
  VectorV brake_;
};

}  // namespace vms_ph
