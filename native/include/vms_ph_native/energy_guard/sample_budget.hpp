// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The grant of an effort that begins to act after others that are under way.
#pragma once

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/energy_guard/base_wrench.hpp"
#include "vms_ph_native/energy_guard/efforts_under_way.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/sample_grant.hpp"

namespace vms_ph {

/// Predicts the efforts under way, then grants a share of the next one.
///
/// Energy that efforts under way are predicted to take out of the robot is not spent before it was
/// measured; while the tank has a debt it counts, so that the debt is not repaid twice.
class SampleBudget {
 public:
  SampleBudget(const Model& model, BaseWrench wrench);

  /// Replace an effort (nv,) that is sent by the one that acts, with the torques of joints that are
  /// sent; return whether it is another one.
  bool deliver(VectorV& effort) noexcept;

  /// Write the effort (nv,) that compensates gravity as far as the actuators can.
  void resting(Evaluation& d, VectorV& result) noexcept;

  /// Write the part of gravity (nv,) that no actuator holds; its work does not count.
  void unheld(Evaluation& d, VectorV& result) noexcept;

  /// Write the strongest brake (nv,) within the limits of the actuators.
  void strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept;

  /// Write the velocity (nv,) at which the next effort begins to act, about.
  void velocity_ahead(Evaluation& d, const EffortsUnderWay& under_way, double dt,
                      VectorV& result) noexcept;

  /// Reduce an effort (nv,) to the share that the tank covers; unchanged where it covers it.
  ///
  /// @param level    energy available, J; negative for a debt.
  /// @param ceiling  bounds what may be risked while there is a debt.
  /// @param dt       duration of a sample, s.
  void grant(Evaluation& d, VectorV& force, const EffortsUnderWay& under_way, double level,
             const DebtCeiling& ceiling, double dt) noexcept;

  /// The part (nv,) of the last grant beyond the resting effort.
  const VectorV& active() const noexcept { return granted_; }

  /// What the last grant changed, in words; empty for an effort that was covered.
  const char* reason() const noexcept { return reason_; }

  /// Whether the robot is braked because no share of the effort is covered.
  bool is_brake() const noexcept { return is_brake_; }

 private:
  bool is_clear(Evaluation& d, const VectorV& force, const EffortsUnderWay& under_way, double level,
                double dt) noexcept;
  void brake(Evaluation& d, VectorV& force, double budget, double dt) noexcept;
  double neutral(const VectorV& force) noexcept;
  double rise(const VectorV& active, double dt) noexcept;
  void replace_wrench(Evaluation& d, const VectorB& wrench, VectorV& effort) noexcept;

  const Model& model_;
  BaseWrench wrench_;
  Evaluation ahead_;
  SamplePrediction prediction_;
  Prediction found_;
  SampleGrant grant_;
  TorqueLimits limits_;
  Cholesky inertia_;
  VectorV resting_, unheld_, active_, granted_, step_, rest_, brake_;
  const char* reason_ = "";
  bool is_brake_ = false;
};

}  // namespace vms_ph
