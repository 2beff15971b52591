// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A guard of energy between any controller and a robot, and what a sample may give: the base wrench
// that acts, efforts under way, and the grant of the tank.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/gain_table.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/output_stage.hpp"
#include "vms_ph_native/plausibility.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Finds the wrench that the actuators of a base give for a desired one, within their limits; see
/// vms_ph_controllers.guard.delayed_grant. After construction nothing allocates or throws.
class BaseWrenchLimiter {
 public:
  /// Serve a base. Without an allocation it can apply any wrench; one that is not actuated none.
  ///
  /// @param weights      (b,) of the components of a wrench, those of small weight are given up
  ///                     first; when (0,), forces before moments.
  /// @throws ModelError  an allocation or weights for another kind of base, or more actuators than
  ///                     kMaxVelocities.
  BaseWrenchLimiter(const Model& model, std::optional<Allocation> allocation, bool base_actuated,
                    const Eigen::VectorXd& weights);

  /// Whether every wrench is given, and so that of a fixed base.
  bool is_ideal() const noexcept { return is_ideal_; }

  /// Replace a desired wrench (b,) by the nearest that is given; return whether it is another one.
  bool saturate(VectorB& wrench) noexcept;

  /// Replace a brake (b,) by the nearest wrench, in the norm of M_b^-1, that takes energy out.
  void limit_brake(VectorB& wrench, const Eigen::Ref<const Eigen::MatrixXd>& M_b) noexcept;

 private:
  bool is_ideal_;
  std::optional<Allocation> allocation_;
  std::optional<PrioritisedActuation> actuation_;
  std::optional<BoundedLeastSquares> brake_solver_;
  Cholesky M_b_factor_;
  Eigen::MatrixXd brake_map_;  // (b,m) map of the inputs in the norm of a brake
  Eigen::VectorXd inputs_;
};

/// Largest delay of an energy guard from measurement to effort, samples.
constexpr int kMaxDelay = 5;

/// Work over the delay + 1 samples until a state shows the effect of an effort.
class UnobservedWork {
 public:
  explicit UnobservedWork(int delay) noexcept : size_(static_cast<std::size_t>(delay + 1)) {}

  /// Count the work of a sample, J; return the largest of the last samples up to its end, J.
  double add(double work) noexcept {
    prior_work_[next_index_] = total_work_;
    next_index_ = (next_index_ + 1) % size_;
    total_work_ += work;
    double smallest_work = total_work_;
    for (std::size_t i = 0; i < size_; ++i) smallest_work = std::min(smallest_work, prior_work_[i]);
    return total_work_ - smallest_work;
  }

 private:
  std::array<double, kMaxDelay + 1> prior_work_{};  // given before each sample, J
  std::size_t size_, next_index_ = 0;
  double total_work_ = 0.0;
};

/// Keeps efforts that repay a debt from raising it; see vms_ph_controllers.guard.effort_queue.
class DebtCeiling {
 public:
  explicit DebtCeiling(int delay) noexcept : unobserved_work_(delay) {}

  /// Begin with a kinetic energy, J.
  void restart(double kinetic_energy) noexcept { motion_energy_bound_ = kinetic_energy; }

  /// Update the ceiling after a sample.
  ///
  /// @param level    of the tank, J.
  /// @param work     given by the efforts over the sample, J.
  /// @param kinetic_energy   of the robot, J.
  /// @param friction_energy  taken as lost to friction in the sample, J.
  /// @return the work that no state has shown yet, J.
  double update(double level, double work, double kinetic_energy, double friction_energy) noexcept {
    motion_energy_bound_ = std::max(kinetic_energy, motion_energy_bound_ + work - friction_energy);
    const double unobserved_work = unobserved_work_.add(work), debt = -level;
    if (debt <= SampleGrant::kRounding) {
      ceiling_ = 0.0;
      margin_ = kInfinity;
      return unobserved_work;
    }
    const double loan = std::max(kMinLoan, kLoanShare * kinetic_energy);
    largest_loan_ = std::max(largest_loan_, loan);
    // A share of the energy of the motion when the debt began, as it could be risked then.
    const double risk_limit = kRiskShare * std::max(0.0, motion_energy_bound_ - debt);
    ceiling_ = std::max(ceiling_, std::min(unobserved_work, risk_limit) + loan);
    if (debt > ceiling_) ceiling_ = debt + std::min(loan, debt - ceiling_);
    margin_ = ceiling_ - debt;
    return unobserved_work;
  }

  /// Sum by which efforts, those under way included, may raise |v|_M, the root of twice the kinetic
  /// energy, at a level, J.
  double v_norm_rise(double level) const noexcept {
    const double risk = level < -SampleGrant::kRounding
                            ? kRiskShare * std::max(0.0, margin_)
                            : std::max(0.0, level) + kRiskShare * motion_energy_bound_;
    return std::sqrt(2.0 * (motion_energy_bound_ + risk)) - std::sqrt(2.0 * motion_energy_bound_);
  }

  /// Largest energy of the motion after the last state as long as no more is given, J: kinetic
  /// energy and what contacts may hold.
  double motion_energy_bound() const noexcept { return motion_energy_bound_; }

  /// Largest loan so far, J.
  double largest_loan() const noexcept { return largest_loan_; }

 private:
  // Loan beyond the unobserved work, while a debt is repaid: share of the kinetic energy, and its
  // minimum, J.
  static constexpr double kLoanShare = 0.05, kMinLoan = 1e-3;
  // Share of the margin below the ceiling that one effort may use, and of the kinetic energy that
  // efforts may give beyond a level.
  static constexpr double kRiskShare = 0.8;

  UnobservedWork unobserved_work_;
  double ceiling_ = 0.0, motion_energy_bound_ = 0.0, largest_loan_ = kMinLoan;
  double margin_ = kInfinity;  // of a debt below the ceiling, J
};

/// A queue of efforts: one sent in a sample acts from `delay` samples later on, for a sample.
/// Efforts here are those whose work counts: without a part of the weight that no actuator holds.
/// What they may give while no state is seen: vms_ph_controllers.guard.effort_queue.
class EffortQueue {
 public:
  EffortQueue(const Model& model, int delay);

  /// Restart; an effort (nv,), with its part beyond the static one, acts until the next one does.
  void restart(const VectorV& effort, const VectorV& active_effort) noexcept;

  /// Take an effort (nv,) into the queue; the first one in it begins to act.
  void send(const VectorV& effort, const VectorV& active_effort) noexcept;

  /// The number of efforts that act before the next one that is sent, the k-th of them, and its
  /// part beyond the static effort for which it was sent.
  int pending_count() const noexcept { return delay_; }
  const VectorV& pending_effort(int k) const noexcept { return effort_at(k + 1); }
  const VectorV& pending_active_effort(int k) const noexcept {
    return active_efforts_[index(k + 1)];
  }

  /// Note the state at which the first effort of the queue begins to act.
  ///
  /// @param motion_energy_bound  largest energy of the motion after it, see DebtCeiling, J.
  void begin_effort(Evaluation& d, double motion_energy_bound) noexcept;

  /// Write the velocity (nv,) over a time, s, since the last state; zero after lost ones.
  void mean_velocity(const ConstVector& q, double dt, VectorV& result) noexcept;

  /// Note that the first effort acts on for a time, s, after which no state is seen.
  void skip_state(double dt) noexcept;

  /// Note that the first effort of the queue begins to act at a state that is not seen.
  void advance_without_state() noexcept;

  /// Whether no state was lost since the last one.
  bool has_every_state() const noexcept { return has_every_state_; }

  /// Largest work since the last state if others were lost, whatever the motion was meanwhile, J.
  double largest_work() const noexcept;

  /// The share of an effort beyond the static one (nv,) that a level, J, covers, unseen.
  double covered_share(const VectorV& active_effort, double level, double dt) noexcept;

  /// The energy given since the last state, J; at most, and no credit, after lost ones.
  double work(Evaluation& d, double dt) noexcept;

 private:
  std::size_t index(int k) const noexcept {
    return static_cast<std::size_t>((first_index_ + k) % (delay_ + 1));
  }
  const VectorV& effort_at(int k) const noexcept { return efforts_[index(k)]; }
  void advance_time(double dt) noexcept;
  double effort_norm(const VectorV& effort) noexcept;

  const Model& model_;
  const int delay_;
  int first_index_ = 0;
  std::array<VectorV, kMaxDelay + 1> efforts_, active_efforts_;
  SampleWork sample_work_;
  bool has_start_state_ = false, has_every_state_ = true;
  VectorQ start_configuration_;
  double start_potential_energy_ = 0.0;
  // Bounds at the last state and now: of |v|_M, of its integral, and of the error of the work, J.
  double start_v_norm_ = 0.0, v_norm_ = 0.0, path_length_ = 0.0, work_error_ = 0.0;
  Evaluation last_state_;  // the one after which states were lost
  bool has_weight_ = false;
  Cholesky M_factor_;
  VectorV acting_effort_, acting_active_effort_, displacement_, scratch_;
  const VectorV zero_velocity_;
};

/// Predicts the efforts under way, then grants a share of the next one; as in delayed_grant.py.
class DelayedGrant {
 public:
  /// @param delay  of the guard, samples.
  DelayedGrant(const Model& model, BaseWrenchLimiter wrench_limiter, int delay);

  /// Replace an effort (nv,) that is sent by the one that acts, with the torques of joints that are
  /// sent; return whether it is another one.
  bool saturate(VectorV& effort) noexcept;

  /// Write the effort (nv,) that compensates gravity as far as the actuators can.
  void static_effort(Evaluation& d, VectorV& result) noexcept;

  /// Write the static effort less gravity (nv,), which no actuator gives; its work does not count.
  void compensation_error(Evaluation& d, VectorV& result) noexcept;

  /// Whether the actuators hold the whole weight.
  bool holds_weight(Evaluation& d) noexcept;

  /// Write the strongest brake (nv,) within the limits of the actuators: those of all samples that
  /// are not seen take out a third of the momentum together.
  void strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept;

  /// Write the velocity (nv,) at which the next effort begins to act, about.
  void next_velocity(Evaluation& d, const EffortQueue& effort_queue, double dt,
                     VectorV& result) noexcept;

  /// Reduce an effort (nv,) to the share that the tank covers; unchanged where it covers it.
  ///
  /// @param level    energy available, J; negative for a debt.
  /// @param debt_ceiling  bounds what may be risked while there is a debt.
  /// @param dt       duration of a sample, s.
  void grant(Evaluation& d, VectorV& effort, const EffortQueue& effort_queue, double level,
             const DebtCeiling& debt_ceiling, double dt) noexcept;

  /// The part (nv,) of the last grant beyond the static effort.
  const VectorV& active_effort() const noexcept { return active_effort_; }

  /// What the last grant changed; empty for an effort that was covered.
  const char* reason() const noexcept { return reason_; }

  /// Whether the robot is braked because no share of the effort is covered.
  bool is_braking() const noexcept { return is_braking_; }

 private:
  bool is_surely_covered(Evaluation& d, const VectorV& effort, const EffortQueue& effort_queue,
                         double level, double kinetic_energy, double dt) noexcept;
  double neutral_share(const VectorV& effort) noexcept;
  double v_norm_rise(const VectorV& active_effort, double dt) noexcept;
  void replace_wrench(Evaluation& d, const VectorB& wrench, VectorV& effort) noexcept;

  const Model& model_;
  BaseWrenchLimiter wrench_limiter_;
  const int sample_count_;      // from a state to the end of an effort that it led to
  Evaluation predicted_state_;  // at the end of an effort under way
  SamplePredictor predictor_;
  Prediction prediction_;  // of an effort under way or tried
  SampleGrant grant_;
  TorqueLimits torque_limits_;
  Cholesky M_factor_;
  VectorV static_effort_, compensation_error_, net_effort_, active_effort_, scratch_, held_weight_,
      brake_;
  const char* reason_ = "";
  bool is_braking_ = false;
};

/// Finds the largest share of an effort with which a sample meets the limits; see
/// vms_ph_controllers.guard.motion_limits.
class MotionLimits {
 public:
  explicit MotionLimits(const Model& model);

  /// Whether any limit of the motion is set.
  static bool is_limited(const EnergyGuardSettings& settings) noexcept {
    return settings.max_power > 0.0 || settings.max_kinetic_energy > 0.0 ||
           settings.max_speed > 0.0 || settings.max_joint_speed > 0.0;
  }

  /// The share of the desired effort, in [0, 1].
  ///
  /// @param v         (nv,) velocity at which the effort begins to act.
  /// @param desired_effort  (nv,).
  /// @param brake_effort     (nv,) effort that takes its place.
  /// @param static_effort   (nv,) effort that compensates gravity, no power of the controller.
  /// @param dt        duration of the sample, s.
  double share(Evaluation& d, const VectorV& v, const VectorV& desired_effort,
               const VectorV& brake_effort, const VectorV& static_effort,
               const EnergyGuardSettings& settings, double dt) noexcept;

  /// Which limit the last share meets; empty for a share of one.
  const Reason& reason() const noexcept { return reason_; }

 private:
  void limit_tool(Evaluation& d, const VectorV& v, const EnergyGuardSettings& settings,
                  double& share_bound) noexcept;
  bool tighten(double share, double& share_bound) noexcept;

  const Model& model_;
  VectorV braked_velocity_, velocity_step_, effort_change_, active_brake_, unit_force_effort_;
  Cholesky M_factor_;
  Reason reason_;
};

/// What a guard sends to a robot.
struct GuardedEffort {
  VectorV effort;  ///< (nv,) base wrench, then joint torques
  /// ok where the desired effort passes unchanged, saturated where it is scaled or damped, holding
  /// during a reflex.
  Status status = Status::ok;
  const char* reason = "";  ///< what was changed and why; valid until the next update
  double level = 0.0;       ///< energy in the tank, J; negative for a debt
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
  Eigen::VectorXd weights;  ///< (b,) of a wrench beyond these, as of BaseWrenchLimiter; may be (0,)
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
  /// @param acting_effort  (nv,) effort that acts now, from which that of the guard departs without
  ///                       a jump; of another size if it is not known.
  bool engage(const ConstVector& q, const ConstVector& v,
              const ConstVector& acting_effort) noexcept;

  /// The effort to send in place of a desired one (nv,); valid until the next call.
  const GuardedEffort& update(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
                              double dt) noexcept;

  /// The safe output, for a host without a new state; `cause` is part of its reason.
  const GuardedEffort& hold(const char* cause, double dt) noexcept;

  /// Add energy to the tank, J; return how much there was room for.
  double refill(double energy) noexcept {
    tank_.capacity = settings.tank_capacity;  // which may have changed since the last update
    return std::isfinite(energy) ? tank_.refill(std::max(0.0, energy)) : 0.0;
  }

  /// Take energy out of the tank, J; return how much was in it.
  double drain(double energy) noexcept {
    return std::isnan(energy) ? 0.0 : tank_.drain(std::max(0.0, energy));
  }

  const EnergyTank& tank() const noexcept { return tank_; }
  int delay() const noexcept { return delay_; }
  bool carries_weight() const noexcept { return gravity_free_model_ == nullptr; }

  /// What the guard has seen since the engagement.
  Certificate certificate() const noexcept;

 private:
  void restart() noexcept;
  void update_tank(double dt) noexcept;
  void update_surplus(double kinetic_energy) noexcept;
  void limit_effort(const VectorV& static_effort, double sample_time, double dt) noexcept;
  const GuardedEffort& update_without_state(const ConstVector& q, const ConstVector& v, double dt,
                                            const char* cause) noexcept;
  bool add_fading_jump(double dt) noexcept;
  void set_safe_effort(const ConstVector& q, const ConstVector& v, double dt) noexcept;
  bool is_effort(const ConstVector& effort) const noexcept;
  void send(const VectorV& active_effort, bool is_reflex) noexcept;
  void count_sample(bool is_reflex, bool is_changed, bool is_braking) noexcept;

  const Model& gravity_model_;
  std::unique_ptr<Model> gravity_free_model_;  // where the hardware carries the weight
  const Model& model_;                         // whose gravity the efforts compensate
  const int b_, n_, delay_;
  const double period_;                          // nominal duration of a sample, s
  const Eigen::VectorXd unknown_q_, unknown_v_;  // NaN
  StatePlausibility state_plausibility_;
  TorqueLimits torque_limits_;
  MotionLimits motion_limits_;
  DelayedGrant delayed_grant_;
  SafeOutput safe_output_;
  EffortQueue effort_queue_;
  Evaluation d_, rest_state_;  // now; the same at rest, with gravity
  EnergyTank tank_;
  DebtCeiling debt_ceiling_;
  Certificate certificate_;
  VectorV static_effort_, compensation_error_, effort_, brake_, next_velocity_, acting_effort_,
      jump_;
  const VectorV zero_velocity_;
  bool has_acting_effort_ = false, has_jump_ = false, has_last_potential_ = false;
  double jump_share_ = 0.0, last_potential_ = 0.0;  // share that is left; energy, J
  // Kinetic energy less the energy given, at the first and the last state, J; samples in which it
  // has risen, and the largest kinetic energy, J.
  double initial_surplus_ = 0.0, surplus_ = 0.0, largest_kinetic_energy_ = 0.0;
  unsigned long long rise_count_ = 0;
  bool has_surplus_ = false;
  GuardedEffort output_;
  Reason reason_{1024}, first_loss_;
};

}  // namespace vms_ph
