// What a controller may spend on changes of its potential.
#pragma once

#include <cmath>
#include <optional>

#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/held_sample.hpp"
#include "vms_ph_native/shaped_potential.hpp"

namespace vms_ph {

/// Holds the potential in force, and changes it as far as the tank allows.
///
/// The potential in force is authority * V: where the tank cannot pay for all of V, or is in debt,
/// the authority falls below one, and it rises again as the tank fills.
class TankBudget {
 public:
  explicit TankBudget(const Model& model);

  const ShapedPotential& potential() const noexcept { return potential_; }  ///< V
  double authority() const noexcept { return authority_; }  ///< in [0, 1]; one without a tank
  const std::optional<EnergyTank>& tank() const noexcept { return tank_; }

  /// Whether something waits for energy.
  bool is_short() const noexcept { return is_short_; }

  /// Whether the tank has ever been overdrawn by sampling since the reset.
  bool was_in_debt() const noexcept { return was_in_debt_; }

  /// Begin with a potential, and with a full tank where there is to be one.
  void reset(const ShapedPotential& potential) noexcept;

  /// The potential in force at a configuration (nq,), J.
  double energy(const ConstVector& q) const noexcept { return authority_ * potential_.energy(q); }

  /// Take stock of the sample that has ended: exact work of the held torque.
  void begin(Evaluation& d, double limit_energy, double capacity, double initial) noexcept;

  /// Go to a new potential as far as can be paid; return what that put in at q, J.
  ///
  /// @param q       where the robot is, (nq,).
  /// @param wanted  the potential after a share of the change: share -> const ShapedPotential&,
  /// valid
  ///                until the next call.
  template <class Wanted>
  double change(const ConstVector& q, Wanted&& wanted) noexcept {
    const double before = energy(q);
    is_short_ = false;
    if (!tank_) return take(q, wanted(1.0), before);
    // First where the minimum is, at the authority there is; then the authority itself.
    double share = 1.0;
    const ShapedPotential* next = nullptr;
    for (int k = 0; k <= halvings; ++k) {
      share = k < halvings ? std::ldexp(1.0, -k) : 0.0;
      next = &wanted(share);
      if (fits(*next, q, before)) break;
    }
    return pay_for(q, *next, before, share);
  }

  /// Remember the torque that is held from now on.
  void end(Evaluation& d, const VectorV& torque, double limit_energy) noexcept;

  /// Know that the safe output (n,) acts instead, while nobody sees the robot.
  void lose(const VectorV& safe) noexcept { held_.lose(safe); }

 private:
  // Halvings of a step that is too dear before it is not taken.
  static constexpr int halvings = 4;

  double store(Evaluation& d, double limit_energy) const noexcept;
  double take(const ConstVector& q, const ShapedPotential& next, double before) noexcept;
  bool fits(const ShapedPotential& next, const ConstVector& q, double before) noexcept;
  double pay_for(const ConstVector& q, const ShapedPotential& next, double before,
                 double share) noexcept;

  ShapedPotential potential_, moved_;
  double authority_ = 1.0;
  bool is_short_ = false, was_in_debt_ = false;
  std::optional<EnergyTank> tank_;
  HeldSample held_;
};

}  // namespace vms_ph
