// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Energy tanks: the energy that a controller may still give, over samples and for a potential; and
// efforts held over a sample: their past and predicted work, and the share that a budget covers.
#pragma once

#include <cmath>
#include <optional>

#include "vms_ph_native/energy_account.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/shaped_potential.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The effort held since the last update, and the energy that it has transferred; see
/// vms_ph_controllers.safety.sample_grant.
class SampleWork {
 public:
  explicit SampleWork(const Model& model);

  /// Restart; no effort is held.
  void restart() noexcept { has_effort_ = has_missed_updates_ = false; }

  /// Hold efforts (nv,) from a state on, where whoever computes them has stored an energy, J: that
  /// of its springs less that of gravity. `displacement` (nv,) is predicted over the sample.
  void hold(const Evaluation& d, const VectorV& force, const VectorV& displacement,
            double stored_energy) noexcept;

  /// Note that the safe output (nv,) has replaced the held effort.
  void note_missed_updates(const VectorV& safe_effort) noexcept {
    safe_effort_ = safe_effort;
    has_missed_updates_ = true;
  }

  /// The decrease of the stored energy less the work of the held effort, J.
  /// After missed updates the largest work that the two efforts can have done is used: that of one
  /// of them alone, or of the held effort over the predicted displacement and of the other one over
  /// the rest. The result is then not positive.
  /// @param dt  time since the last update, s.
  double recovered_energy(const Evaluation& d, double stored_energy, double dt) noexcept;

 private:
  double base_rotation_work_bound(const Evaluation& d, double dt) const noexcept;

  const Model& model_;
  bool has_effort_ = false, has_missed_updates_ = false;
  VectorQ start_q_;  // of the sample
  VectorV start_v_, held_effort_, safe_effort_, predicted_displacement_, displacement_;
  double start_stored_energy_ = 0.0;
};

/// The predicted outcome of a sample.
struct Prediction {
  /// Upper bound of the energy that the budget lacks for the sample, J; at most 0 if it covers it.
  double deficit = 0.0;
  VectorV acceleration;  ///< (nv,) at the beginning of the sample
  VectorV displacement;  ///< (nv,) displacement over the sample
};

/// Predicts the net work of held efforts, beyond that against gravity, over the sample; see
/// vms_ph_controllers.safety.sample_grant.
class SamplePredictor {
 public:
  explicit SamplePredictor(const Model& model);

  /// Begin at a state, which must stay unchanged until the last prediction.
  ///
  /// @param compensation_error  (nv,) static effort less gravity; its work is not counted.
  /// @param budget  energy that the sample may give, J; negative if it must take some out.
  /// @param dt      duration of the sample, s.
  void begin(Evaluation& d, const VectorV& compensation_error, double budget, double dt) noexcept;

  /// Write what efforts (nv,) held over the sample do.
  void predict(const VectorV& force, Prediction& prediction) noexcept;

  /// Upper bound of the energy given by the last prediction, J; infinite if the motion is too fast.
  double max_energy() const noexcept { return max_energy_; }

  /// Configuration (nq,) and velocity (nv,) at the end of the last prediction, if it is finite.
  const Eigen::VectorXd& end_q() const noexcept { return q1_; }
  const VectorV& end_v() const noexcept { return v1_; }

 private:
  // Write the acceleration (nv,) at stage_q_ and a velocity; return the power of the effort, W.
  double accelerate(Dynamics& dynamics, const VectorV& v, const VectorV& force,
                    VectorV& acceleration) noexcept;
  // Power of an effort at stage_q_ and a velocity, W.
  double power(const VectorV& v, const VectorV& force) noexcept;
  // Set stage_q_ to the configuration reached from q1_ by a displacement.
  void move(const VectorV& displacement) noexcept { model_.integrate(q1_, displacement, stage_q_); }

  const Model& model_;
  // The first two stages of a sample stand where those of the previous prediction did, whatever
  // the effort: each keeps its inertia.
  Dynamics first_stage_, second_stage_, later_stage_;
  Evaluation* d_ = nullptr;
  // Stages of a Runge-Kutta step: q1_, v1_ are at its start; after the last step, at its end.
  Eigen::VectorXd q1_, stage_q_, stage_v_, net_force_, stage_weight_, stage_acceleration_;
  VectorV v1_, v2_, v3_, v4_, a1_, a2_, a3_, a4_, step_displacement_, compensation_error_;
  double budget_ = 0.0, dt_ = 0.0, max_energy_ = 0.0;
};

/// Grants shares of efforts by their work W(s) = W(0) + s a + s^2 b / 2 over a sample; see
/// vms_ph_controllers.safety.sample_grant.
class SampleGrant {
 public:
  /// A debt below this, J, is a rounding error.
  static constexpr double kRounding = 1e-12;

  explicit SampleGrant(const Model& model);

  /// Reduce an effort (nv,) to the largest share that the budget covers; return whether the budget
  /// covers it then. If not, the robot must brake; as in vms_ph_controllers/safety/sample_grant.py.
  ///
  /// @param force    (nv,) desired effort; unchanged where the budget covers it.
  /// @param static_effort  (nv,) effort that compensates gravity as far as the actuators can.
  /// @param budget   energy available, J; negative for a debt.
  /// @param dt       duration of the sample, s; without one, in continuous time, no work is held.
  bool grant(Evaluation& d, VectorV& force, const VectorV& static_effort, double budget,
             double dt) noexcept;

  /// Replace a granted effort by the least brake that meets the budget.
  ///
  /// @param force      (nv,) granted effort.
  /// @param brake_effort  (nv,) the strongest brake, see strongest_brake().
  void brake(VectorV& force, const VectorV& static_effort, const VectorV& brake_effort) noexcept;

  /// The share of the last effort that was granted, in [0, 1].
  double share() const noexcept { return share_; }

  /// Why it was less than one; empty otherwise.
  const Reason& reason() const noexcept { return reason_; }

  /// Displacement that is predicted for the last grant, (nv,).
  const VectorV& displacement() const noexcept { return granted_effect_.displacement; }

 private:
  SamplePredictor predictor_;
  Prediction static_effect_, trial_effect_, granted_effect_;  // of these efforts
  double static_energy_ = 0.0, budget_ = 0.0;
  VectorV active_effort_, trial_effort_;  // beyond the static one; static and a share of it
  double share_ = 1.0;
  Reason reason_;
};

/// Write the strongest brake that the tank uses, (nv,): a third of the momentum per sample.
void strongest_brake(Evaluation& d, double dt, VectorV& brake_effort) noexcept;

/// Withdraws the energy of a law's efforts from a tank and stores the energy that the law recovers.
///
/// The net work of the held efforts, f^T (q_next - q) less the increase of the robot's potential
/// energy, is exact, sampling and clipping included. Before a sample its work is predicted, and the
/// share of the effort is granted that the tank covers; with an empty tank the law can only brake.
/// See vms_ph_controllers/safety/energy_tank.py.
class SampledTank {
 public:
  explicit SampledTank(const Model& model) : work_(model), grant_(model) {}

  /// Restart with a tank at its initial level.
  void restart() noexcept {
    tank_.reset();
    discard_sample();
  }

  /// Keep the level, and account for nothing that happened since the last update.
  void discard_sample() noexcept { work_.restart(); }

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
  /// @param stored_energy  energy that the law has stored there, less that of gravity, J.
  /// @param capacity  of the tank, J; 0 for no tank.
  /// @param initial_level  after a reset, J.
  /// @param dt        time since the last update, s.
  void settle_sample(Evaluation& d, double stored_energy, double capacity, double initial_level,
                     double dt) noexcept;

  /// Reduce an effort (nv,) to the share that the tank and `stored_energy` joules besides cover;
  /// return whether it is covered then. See SampleGrant.
  bool grant(Evaluation& d, VectorV& force, const VectorV& static_effort, double stored_energy,
             double dt) noexcept {
    return !tank_ || grant_.grant(d, force, static_effort, tank_->level + stored_energy, dt);
  }

  /// Replace an effort that is not covered by a brake; see SampleGrant.
  void brake(VectorV& force, const VectorV& static_effort, const VectorV& brake_effort) noexcept {
    grant_.brake(force, static_effort, brake_effort);
  }

  /// Why the last share was less than one; empty otherwise.
  const Reason& reason() const noexcept { return tank_ ? grant_.reason() : no_reason_; }

  /// Hold the efforts (nv,) from now on, with `stored_energy` as in settle_sample().
  void hold_effort(Evaluation& d, const VectorV& force, double stored_energy) noexcept {
    if (tank_) work_.hold(d, force, grant_.displacement(), stored_energy);
  }

  /// Note that the compensation of gravity (nv,) acts instead of the held efforts.
  void note_missed_updates(const VectorV& weight) noexcept { work_.note_missed_updates(weight); }

 private:
  std::optional<EnergyTank> tank_;
  SampleWork work_;
  SampleGrant grant_;
  const Reason no_reason_{0};
};

/// Holds the potential in force and changes it as far as a tank covers it; see
/// vms_ph_controllers.safety.energy_tank.
class TankPotential {
 public:
  explicit TankPotential(const Model& model) : potential_(model), shifted_(model), tank_(model) {}

  const ShapedPotential& potential() const noexcept { return potential_; }  ///< V
  double authority() const noexcept { return authority_; }  ///< share of V in force, in [0, 1]
  const std::optional<EnergyTank>& tank() const noexcept { return tank_.tank(); }

  /// Whether the last change was not fully covered by the tank.
  bool is_uncovered() const noexcept { return is_uncovered_; }

  /// Restart with a potential; a tank begins at its initial level.
  void reset(const ShapedPotential& potential) noexcept {
    tank_.restart();
    resume(potential);
  }

  /// Continue with a potential at its minimum; a tank keeps its level.
  void resume(const ShapedPotential& potential) noexcept;

  /// The potential in force at a configuration (nq,), J.
  double energy(const ConstVector& q) const noexcept { return authority_ * potential_.energy(q); }

  /// Add the energy recovered over the sample that has ended, by the exact work of the held torque.
  /// @param limit_spring_energy  of the springs at joint limits, J; dt is since the last update, s.
  void settle_sample(Evaluation& d, double limit_spring_energy, double capacity,
                     double initial_level, double dt) noexcept;

  /// Change the potential as far as the tank covers it; return the energy added at q, J.
  /// @param q       present configuration, (nq,).
  /// @param potential_for  after a share of the change: share -> const ShapedPotential&,
  ///                           valid until the next call.
  template <class PotentialFor>
  double change(const ConstVector& q, PotentialFor&& potential_for) noexcept {
    const double last_energy = energy(q);
    is_uncovered_ = false;
    if (!tank()) return replace_potential(q, potential_for(1.0), last_energy);
    // First the minimum is moved at the present authority; then the authority is adapted.
    double share = 1.0;
    const ShapedPotential* next_potential = nullptr;
    for (int k = 0; k <= kHalvings; ++k) {
      share = k < kHalvings ? std::ldexp(1.0, -k) : 0.0;
      next_potential = &potential_for(share);
      if (is_covered(*next_potential, q, last_energy)) break;
    }
    return pay_for_potential(q, *next_potential, last_energy, share);
  }

  /// Reduce a torque (n,) to the share whose work tank and potential cover; brake where none is.
  /// The spring forces take their work from the potential; what tank and potential hold together is
  /// therefore the budget of a sample.
  void grant(Evaluation& d, VectorV& torque, const VectorV& static_effort,
             double limit_spring_energy, const TorqueLimits& limits, double dt) noexcept;

  /// Why the last share was less than one; empty otherwise.
  const Reason& reason() const noexcept { return tank_.reason(); }

  /// Hold the torque from now on.
  void hold_effort(Evaluation& d, const VectorV& torque, double limit_spring_energy) noexcept {
    if (tank()) tank_.hold_effort(d, torque, stored_energy(d, limit_spring_energy));
  }

  /// Report missed updates: the safe output (n,) acts instead of the held torque.
  void note_missed_updates(const VectorV& effort) noexcept { tank_.note_missed_updates(effort); }

 private:
  // Number of times a change that the tank does not cover is halved before it is refused.
  static constexpr int kHalvings = 4;

  double stored_energy(Evaluation& d, double limit_spring_energy) const noexcept;
  double replace_potential(const ConstVector& q, const ShapedPotential& potential,
                           double last_energy) noexcept;
  bool is_covered(const ShapedPotential& potential, const ConstVector& q,
                  double last_energy) noexcept;
  double pay_for_potential(const ConstVector& q, const ShapedPotential& potential,
                           double last_energy, double share) noexcept;

  ShapedPotential potential_, shifted_;  // V; the same at another minimum
  double authority_ = 1.0;
  bool is_uncovered_ = false;
  SampledTank tank_;
  VectorV brake_;
};

}  // namespace vms_ph
