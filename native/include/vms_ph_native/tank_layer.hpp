// An energy tank behind any law: what it may put into the robot, whatever is asked of it.
#pragma once

#include <optional>

#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/held_sample.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Pays every motion that a law makes from a tank, and fills it with what the law takes out.
///
/// The net work of the held efforts, f^T (q_next - q) less the robot's gain of potential energy, is
/// exact, sampling and clipping included. With the tank empty the law can only brake.
class TankLayer {
 public:
  explicit TankLayer(const Model& model);

  /// Begin with a tank filled anew.
  void restart() noexcept;

  /// What the tank holds, J; zero where there is none.
  double level() const noexcept { return tank_ ? tank_->level() : 0.0; }

  /// Settle the sample that has ended.
  ///
  /// @param d         the present state.
  /// @param capacity  of the tank, J; 0: no tank.
  /// @param initial   what it holds after a reset, J.
  void begin(Evaluation& d, double capacity, double initial) noexcept;

  /// The share, in [0, 1], of the active efforts (nv,) that can be paid for during a sample.
  double grant(const VectorV& active, const Eigen::VectorXd& v, double dt) noexcept;

  /// Why the last share was less than one, in words; empty when it was not.
  const Reason& reason() const noexcept { return reason_; }

  /// Remember the efforts (nv,) that are held from now on.
  void end(Evaluation& d, const VectorV& force) noexcept;

  /// Know that the safe output (nv,) acts instead, while nobody sees the robot.
  void lose(const VectorV& safe) noexcept { held_.lose(safe); }

 private:
  std::optional<EnergyTank> tank_;
  HeldSample held_;
  Reason reason_;
};

}  // namespace vms_ph
