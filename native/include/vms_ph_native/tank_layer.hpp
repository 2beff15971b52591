// An energy tank behind any law: an upper bound of the energy that it puts into the robot.
#pragma once

#include <optional>

#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/held_sample.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Draws the energy of every motion from a tank, and fills it with the energy that the law
/// extracts.
///
/// The net work of the held efforts, f^T (q_next - q) less the robot's gain of potential energy, is
/// exact, sampling and clipping included. With the tank empty the law can only brake.
class TankLayer {
 public:
  explicit TankLayer(const Model& model);

  /// Start with a tank at its initial level.
  void restart() noexcept;

  /// Level of the tank, J; zero where there is none.
  double level() const noexcept { return tank_ ? tank_->level() : 0.0; }

  /// Add the energy recovered over the sample that has ended.
  ///
  /// @param d         the present state.
  /// @param capacity  of the tank, J; 0: no tank.
  /// @param initial   level after a reset, J.
  void begin_sample(Evaluation& d, double capacity, double initial) noexcept;

  /// The share, in [0, 1], of the active efforts (nv,) that the tank covers during a sample.
  double grant(const VectorV& active, const Eigen::VectorXd& v, double dt) noexcept;

  /// Why the last share was less than one, in words; empty when it was not.
  const Reason& reason() const noexcept { return reason_; }

  /// Remember the efforts (nv,) that are held from now on.
  void end_sample(Evaluation& d, const VectorV& force) noexcept;

  /// Note that the safe output (nv,) acts instead, in updates that were missed.
  void missed_updates(const VectorV& safe) noexcept { held_.missed_updates(safe); }

 private:
  std::optional<EnergyTank> tank_;
  HeldSample held_;
  Reason reason_;
};

}  // namespace vms_ph
