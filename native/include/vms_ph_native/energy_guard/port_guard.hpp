// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A guard of energy between any controller and a robot.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "vms_ph_native/energy_guard/sample_budget.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/output_stage.hpp"
#include "vms_ph_native/plausibility.hpp"

namespace vms_ph {

/// What a guard sends to a robot.
struct GuardedEffort {
  VectorV effort;  ///< (nv,) base wrench, then joint torques
  /// ok where the desired effort passes unchanged, saturated where it is scaled or damped, holding
  /// during a reflex.
  Status status = Status::ok;
  const char* reason = "";  ///< what was changed and why; valid until the next update
  double level = 0.0;       ///< energy in the tank, J; negative for a debt
};

/// What a guard saw since its engagement, as in vms_ph_controllers.guard.Certificate; the
/// EnergyCertificate message and the bindings follow from these lists. Energies in J.
#define VMS_PH_CERTIFICATE_COUNTS(FIELD) \
  FIELD(samples)                         \
  FIELD(lost)                            \
  FIELD(scaled)                          \
  FIELD(braked)                          \
  FIELD(reflexes)
#define VMS_PH_CERTIFICATE_NUMBERS(FIELD) \
  FIELD(duration)                         \
  FIELD(budget)                           \
  FIELD(given)                            \
  FIELD(largest_given)                    \
  FIELD(margin)                           \
  FIELD(largest_unseen)                   \
  FIELD(lent)                             \
  FIELD(unsettled)                        \
  FIELD(supplied)                         \
  FIELD(level)                            \
  FIELD(weight_work)

struct Certificate {
#define VMS_PH_FIELD(name) unsigned long long name = 0;
  VMS_PH_CERTIFICATE_COUNTS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
#define VMS_PH_FIELD(name) double name = 0.0;
  VMS_PH_CERTIFICATE_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  const char* first_loss = "";  ///< why the first of the lost samples was; valid with the guard

  /// "kept" within the budget, "excess" within the bound, "broken", or "unknown".
  const char* verdict() const noexcept {
    constexpr double kRounding = 1e-9;
    if (-margin > largest_unseen + lent + kRounding) return "broken";
    if (unsettled > kRounding) return "unknown";
    return margin >= -kRounding ? "kept" : "excess";
  }

  /// Note what may have been given beyond the budget without being booked, J.
  void add_unsettled(double energy) noexcept { unsettled = std::max(unsettled, energy); }
};

/// How an energy guard is placed between controller and robot.
struct EnergyGuardOptions {
  int delay = 0;  ///< samples from a measurement to the beginning of the effort, 0 to 5
  bool effort_carries_weight = true;  ///< false for hardware that compensates gravity itself
  bool base_actuated = true;          ///< whether a moving base has actuators
  PlausibilityBounds bounds;          ///< of states
  double period = 1e-3;  ///< nominal duration of a sample, s; shorter ones are predicted with it
  /// The actuators of a moving base, whose limits no wrench that is sent exceeds; one that has
  /// failed has limits of zero. Without them the base can apply any wrench.
  std::optional<Allocation> allocation;
  Eigen::VectorXd weights;  ///< (b,) of a wrench beyond these limits, as of BaseWrench; may be (0,)
};

/// Bounds the energy that any controller gives to a robot through its ports; see
/// vms_ph_controllers.guard.PortGuard. update() never throws, prints, blocks or allocates.
class PortGuard {
 public:
  /// Guard a robot; the model must outlive the guard.
  ///
  /// @throws ModelError  a delay that is not 0 to 5 samples, a period that is not within 0 and 1 s,
  ///                     a bound out of its range, an allocation or weights of another kind of
  ///                     base, or hardware that carries the weight with these actuators.
  PortGuard(const Model& model, const EnergyGuardSettings& settings,
            const EnergyGuardOptions& options);

  EnergyGuardSettings settings;  ///< tank and limits

  /// Begin at a state, with a tank at its initial level; false for no state of this robot.
  ///
  /// @param acting  (nv,) effort that acts now, from which the effort of the guard departs without
  ///                a jump; of another size if it is not known.
  bool engage(const ConstVector& q, const ConstVector& v, const ConstVector& acting) noexcept;

  /// The effort to send in place of a desired one (nv,); valid until the next call.
  const GuardedEffort& update(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
                              double dt) noexcept;

  /// The safe output, for a host without a new state; `why` is part of its reason.
  const GuardedEffort& hold(const char* why, double dt) noexcept;

  /// Add energy to the tank, J; return how much there was room for.
  double refill(double energy) noexcept;

  /// Take energy out of the tank, J; return how much was in it.
  double drain(double energy) noexcept;

  const EnergyTank& tank() const noexcept { return tank_; }
  int delay() const noexcept { return delay_; }
  bool carries_weight() const noexcept { return weightless_ == nullptr; }

  /// What the guard has seen since the engagement.
  Certificate certificate() const noexcept;

 private:
  void restart() noexcept;
  void update_tank(double dt) noexcept;
  void check_balance(double kinetic) noexcept;
  void limit(const VectorV& static_effort, double step, double dt) noexcept;
  const GuardedEffort& update_without_state(const ConstVector& q, const ConstVector& v, double dt,
                                            const char* why) noexcept;
  bool bumpless(double dt) noexcept;
  void safe_effort(const ConstVector& q, const ConstVector& v, double dt) noexcept;
  bool is_effort(const ConstVector& effort) const noexcept;
  void count(bool is_reflex, bool is_changed, bool is_brake) noexcept;
  void add_reason(const char* more) noexcept;

  const Model& weighted_model_;
  std::unique_ptr<Model> weightless_;  // where the hardware carries the weight
  const Model& model_;                 // whose gravity the efforts compensate
  const int b_, n_, delay_;
  const double period_;
  const Eigen::VectorXd no_configuration_, no_velocity_;
  StatePlausibility states_;
  TorqueLimits limits_;
  MotionLimits motion_;
  SampleBudget budget_;
  SafeOutput safe_;
  EffortQueue effort_queue_;
  Evaluation d_, weight_;
  EnergyTank tank_;
  DebtCeiling ceiling_;
  Certificate certificate_;
  VectorV static_effort_, unactuated_gravity_, desired_, force_, brake_, next_velocity_, acting_,
      offset_;
  const VectorV zero_velocity_;
  bool has_acting_ = false, has_offset_ = false, has_potential_ = false;
  double offset_share_ = 0.0, potential_ = 0.0;
  // Kinetic energy less the energy given, at the first and the last state, J; samples in which it
  // has risen, and the largest kinetic energy, J.
  double first_surplus_ = 0.0, surplus_ = 0.0, largest_kinetic_ = 0.0;
  unsigned long long fed_ = 0;
  bool has_surplus_ = false;
  GuardedEffort guarded_;
  Reason reason_{1024}, first_loss_;
};

}  // namespace vms_ph
