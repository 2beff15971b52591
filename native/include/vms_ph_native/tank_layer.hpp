// An energy tank for any law: it bounds the energy that the law puts into the robot.
#pragma once

#include <optional>

#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/held_sample.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Withdraws the energy of a law's efforts from a tank and stores what the law recovers.
///
/// The net work of the held efforts, f^T (q_next - q) less the increase of the robot's potential
/// energy, is exact, sampling and clipping included. With an empty tank the law can only brake.
class TankLayer {
 public:
  explicit TankLayer(const Model& model);

  /// Restart with a tank at its initial level.
  void restart() noexcept;

  /// Energy in the tank, J; zero without a tank.
  double level() const noexcept { return tank_ ? tank_->level() : 0.0; }

  /// Add the energy recovered over the sample that ends now.
  ///
  /// @param d         the present state.
  /// @param capacity  of the tank, J; 0 for no tank.
  /// @param initial   level after a reset, J.
  void begin_sample(Evaluation& d, double capacity, double initial) noexcept;

  /// The share, in [0, 1], of the active efforts (nv,) that the tank covers for one sample.
  double grant(const VectorV& active, const Eigen::VectorXd& v, double dt) noexcept;

  /// Why the last share was less than one, in words; empty otherwise.
  const Reason& reason() const noexcept { return reason_; }

  /// Hold the efforts (nv,) from now on.
  void end_sample(Evaluation& d, const VectorV& force) noexcept;

  /// Note that the safe output (nv,) acts instead of the held efforts.
  void missed_updates(const VectorV& safe) noexcept { held_.missed_updates(safe); }

 private:
  std::optional<EnergyTank> tank_;
  HeldSample held_;
  Reason reason_;
};

}  // namespace vms_ph
