// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// An energy tank for any law: it bounds the energy that the law puts into the robot.
#pragma once

#include <optional>

#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sample_grant.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Withdraws the energy of a law's efforts from a tank and stores the energy that the law recovers.
///
/// The net work of the held efforts, f^T (q_next - q) less the increase of the robot's potential
/// energy, is exact, sampling and clipping included. Before a sample its work is predicted, and the
/// share of the effort is granted that the tank covers; with an empty tank the law can only brake.
/// A tank, and the effort of a law that is held over a sample; it is described in
/// vms_ph_controllers/safety/energy_tank.py.
class SampledTank {
 public:
  explicit SampledTank(const Model& model);

  /// Restart with a tank at its initial level.
  void restart() noexcept;

  /// Keep the level, and account for nothing that happened since the last update.
  void forget_sample() noexcept;

  /// Energy in the tank, J; zero without a tank.
  double level() const noexcept { return tank_ ? tank_->level : 0.0; }

  const std::optional<EnergyTank>& tank() const noexcept { return tank_; }

  /// Withdraw the energy of a change of the stored potential, J.
  void withdraw(double energy) noexcept {
    if (tank_) tank_->withdraw(energy);
  }

  /// Add the energy recovered over the sample that ends now.
  ///
  /// @param d         the present state.
  /// @param stored    energy that the law has stored there, less that of gravity, J.
  /// @param capacity  of the tank, J; 0 for no tank.
  /// @param initial   level after a reset, J.
  /// @param dt        time since the last update, s.
  void begin_sample(Evaluation& d, double stored, double capacity, double initial,
                    double dt) noexcept;

  /// Reduce an effort (nv,) to the share that the tank and `stored` joules besides cover; return
  /// whether it is covered then. See SampleGrant.
  bool grant(Evaluation& d, VectorV& force, const VectorV& static_effort, double stored,
             double dt) noexcept;

  /// Replace an effort that is not covered by a brake; see SampleGrant.
  void brake(VectorV& force, const VectorV& static_effort, const VectorV& strongest) noexcept {
    grant_.brake(force, static_effort, strongest);
  }

  /// Why the last share was less than one; empty otherwise.
  const Reason& reason() const noexcept { return tank_ ? grant_.reason() : none_; }

  /// Hold the efforts (nv,) from now on, with `stored` as in begin_sample().
  void end_sample(Evaluation& d, const VectorV& force, double stored) noexcept;

  /// Note that the compensation of gravity (nv,) acts instead of the held efforts.
  void missed_updates(const VectorV& weight) noexcept { work_.missed_updates(weight); }

 private:
  std::optional<EnergyTank> tank_;
  SampleWork work_;
  SampleGrant grant_;
  const Reason none_{0};
};

}  // namespace vms_ph
