// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Efforts that are held over a sample: what they did, what they will do, and how much of them a
// budget covers.
#pragma once

#include <optional>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The effort held since the last update, and the energy that it has transferred; see
/// vms_ph_controllers.safety.sample_grant.
class SampleWork {
 public:
  explicit SampleWork(const Model& model);

  /// Restart; no effort is held.
  void forget() noexcept { has_effort_ = has_missed_updates_ = false; }

  /// Hold efforts (nv,) from a state on, where `store` joules are stored.
  /// `displacement` (nv,) is the displacement that the efforts are predicted to cause in the
  /// sample.
  void hold(const Evaluation& d, const VectorV& force, const VectorV& displacement,
            double store) noexcept;

  /// Note that the safe output (nv,) has replaced the held effort.
  void missed_updates(const VectorV& safe) noexcept;

  /// The decrease of the stored energy less the work of the held effort, J.
  /// After missed updates the largest work that the two efforts can have done is used: that of one
  /// of them alone, or of the held effort over the predicted displacement and of the other one over
  /// the rest. The result is then not positive.
  /// @param dt  time since the last update, s.
  double recovered_energy(const Evaluation& d, double store, double dt) noexcept;

 private:
  double turning(const Evaluation& d, double dt) const noexcept;

  const Model& model_;
  bool has_effort_ = false, has_missed_updates_ = false;
  VectorQ q_;
  VectorV v_, force_, safe_, predicted_, displacement_;
  double store_ = 0.0;
};

/// The outcome of a sample.
struct Prediction {
  /// Upper bound of the energy that the budget lacks for the sample, J; not positive where the
  /// budget covers it.
  double lack = 0.0;
  VectorV acceleration;  ///< (nv,) at the beginning of the sample
  VectorV displacement;  ///< (nv,) displacement over the sample
};

/// Predicts the net work of held efforts, beyond that against gravity, over the sample; see
/// vms_ph_controllers.safety.sample_grant.
class SamplePrediction {
 public:
  explicit SamplePrediction(const Model& model);

  /// Begin at a state, which must stay unchanged until the last prediction.
  ///
  /// @param unactuated_gravity  (nv,) part of gravity that no actuator compensates; its work is not
  /// counted.
  /// @param budget  energy that the sample may give, J; negative if it must take some out.
  /// @param dt      duration of the sample, s.
  void begin(Evaluation& d, const VectorV& unactuated_gravity, double budget, double dt) noexcept;

  /// Write what efforts (nv,) held over the sample do.
  void predict(const VectorV& force, Prediction& result) noexcept;

  /// Upper bound of the energy that the last prediction gives, J; infinite for a motion that is too
  /// fast to be predicted.
  double energy() const noexcept { return energy_; }

  /// Configuration (nq,) and velocity (nv,) at the end of the last prediction, if it is finite.
  const Eigen::VectorXd& end_q() const noexcept { return start_; }
  const VectorV& end_v() const noexcept { return v1_; }

 private:
  // Write the acceleration (nv,) at q_ and a velocity; return the power of the effort, W.
  double rate(Dynamics& at, const VectorV& v, const VectorV& force, VectorV& result) noexcept;
  // Power of an effort at q_ and a velocity, W.
  double power(const VectorV& v, const VectorV& force) noexcept;
  // Set q_ to the configuration reached from start_ by a displacement.
  void move(const VectorV& displacement) noexcept;

  const Model& model_;
  std::optional<Evaluation> in_fluid_;  ///< in a fluid, in place of those below
  Cholesky inertia_;
  // The first two stages of a sample stand where those of the previous prediction did, whatever
  // the effort: each keeps its inertia.
  Dynamics first_, second_, at_;
  Evaluation* d_ = nullptr;
  Eigen::VectorXd start_, q_, velocity_, tangent_, force_, weight_, acceleration_;
  VectorV unactuated_gravity_, a1_, a2_, a3_, a4_, v1_, v2_, v3_, v4_, displacement_;
  double budget_ = 0.0, dt_ = 0.0, energy_ = 0.0;
};

/// Grants shares of efforts by their work W(s) = W(0) + s a + s^2 b / 2 over a sample; see
/// vms_ph_controllers.safety.sample_grant.
class SampleGrant {
 public:
  /// A debt below this, J, is a rounding error.
  static constexpr double kRounding = 1e-12;

  explicit SampleGrant(const Model& model);

  /// Reduce an effort (nv,) to the largest share that the budget covers; return whether the budget
  /// covers it then. If not, the robot must brake.
  ///
  /// What braking takes out is not spent in the same sample: an effort that brakes is reduced to
  /// s = -a / b, which takes out the most, before it would reverse the motion.
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
  /// @param strongest  (nv,) the strongest brake, see strongest_brake().
  void brake(VectorV& force, const VectorV& static_effort, const VectorV& strongest) noexcept;

  /// The share of the last effort that was granted, in [0, 1].
  double share() const noexcept { return share_; }

  /// Why it was less than one; empty otherwise.
  const Reason& reason() const noexcept { return reason_; }

  /// Displacement that is predicted for the last grant, (nv,).
  const VectorV& displacement() const noexcept { return chosen_.displacement; }

 private:
  SamplePrediction prediction_;
  Prediction rest_, candidate_, chosen_;
  double rest_energy_ = 0.0, budget_ = 0.0;
  VectorV excess_, force_;
  double share_ = 1.0;
  Reason reason_;
};

/// Write the strongest brake that the tank uses, (nv,): a third of the momentum per sample.
void strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept;

}  // namespace vms_ph
