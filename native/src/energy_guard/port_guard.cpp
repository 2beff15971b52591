// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/port_guard.hpp"

namespace vms_ph {
namespace {

// Something besides the guarded efforts drives the robot where its kinetic energy rises by more
// than this beyond the energy given, J, in more than one of so many samples. A push ends; a weight
// that is not there, or another delay than the declared one, does not.
constexpr double kEnergyRise = 1e-9;
constexpr unsigned long long kSamplesPerRise = 4;

// What noise of velocities may add to the kinetic energy: this, J, and this share of it.
constexpr double kNoiseEnergy = 1e-3, kNoiseShare = 0.1;

int checked_delay(int delay) {
  if (delay < 0 || delay > kMaxDelay) {
    throw ModelError("the delay must be a number of samples from 0 to " +
                     std::to_string(kMaxDelay) + "; given: " + std::to_string(delay));
  }
  return delay;
}

double checked_period(double period) {
  if (!(0.0 < period && period <= kLongestSample)) {
    throw ModelError("the period must be above 0 s and at most 1 s; given: " +
                     std::to_string(period));
  }
  return period;
}

const std::optional<Allocation>& checked_allocation(const Model& model,
                                                    const EnergyGuardOptions& options) {
  const bool has_weight = model.b() == 6 && !model.base_gravity().isZero(0.0);
  if (options.allocation && has_weight && !options.effort_carries_weight) {
    throw ModelError(
        "the actuators of a floating base that compensate its weight have other limits left; let "
        "the efforts carry the weight, or give no allocation");
  }
  return options.allocation;
}

}  // namespace

const GainTable<EnergyGuardSettings>& EnergyGuardSettings::table() {
  using S = EnergyGuardSettings;
  static const GainTable<S> settings{
      {"tank_capacity", "capacity of the energy tank, J; more is discarded", &S::tank_capacity, 0.0,
       1e6},
      {"tank_initial", "level of the tank at engagement, J", &S::tank_initial, 0.0, 1e6},
      {"refill_power", "power into the tank, for work against friction, W", &S::refill_power, 0.0,
       1e6},
      {"power", "largest power through the guarded ports, W; 0: no limit", &S::max_power, 0.0, 1e6},
      {"kinetic_energy", "end-effector kinetic energy, J; 0: no limit", &S::max_kinetic_energy, 0.0,
       1e6},
      {"speed", "largest speed of the end effector, m/s; 0: no limit", &S::max_speed, 0.0, 1e3},
      {"joint_speed", "largest rate of a joint, rad/s or m/s; 0: no limit", &S::max_joint_speed,
       0.0, 1e3},
      {"torque", "largest torque of a joint, as a share of its limit", &S::torque_share},
      {"torque_rate", gain_text::torque_rate, &S::max_torque_rate, 0.0, 1e6},
      {"engagement_time", "time in which a jump at engagement fades, s", &S::engagement_time, 0.0,
       10.0},
      {"freeze", "grant nothing out of the tank: only efforts that brake act", &S::freeze},
  };
  return settings;
}

PortGuard::PortGuard(const Model& model, const EnergyGuardSettings& initial_settings,
                     const EnergyGuardOptions& options)
    : settings(initial_settings),
      gravity_model_(model),
      gravity_free_model_(options.effort_carries_weight
                              ? nullptr
                              : std::make_unique<Model>(model.with_gravity({0.0, 0.0, 0.0}))),
      model_(gravity_free_model_ ? *gravity_free_model_ : model),
      b_(model.b()),
      n_(model.n()),
      delay_(checked_delay(options.delay)),
      period_(checked_period(options.period)),
      unknown_q_(Eigen::VectorXd::Constant(model.nq(), kNaN)),
      unknown_v_(Eigen::VectorXd::Constant(model.nv(), kNaN)),
      state_plausibility_(model, options.bounds),
      torque_limits_(model),
      motion_limits_(model_),
      delayed_grant_(model_,
                     BaseWrenchLimiter(model, checked_allocation(model, options),
                                       options.base_actuated, options.weights),
                     delay_),
      safe_output_(model_, options.allocation, options.base_actuated),
      effort_queue_(model_, delay_),
      d_(model_),
      rest_state_(model),
      tank_(initial_settings.tank_capacity, initial_settings.tank_initial),
      debt_ceiling_(delay_),
      zero_velocity_(VectorV::Zero(model.nv())) {
  static_effort_ = compensation_error_ = effort_ = brake_ = next_velocity_ = zero_velocity_;
  output_.effort = acting_effort_ = jump_ = zero_velocity_;
}

void PortGuard::restart() noexcept {
  tank_ = EnergyTank(settings.tank_capacity, settings.tank_initial);
  debt_ceiling_ = DebtCeiling(delay_);
  certificate_ = Certificate();
  first_loss_.clear();
  torque_limits_.restart();
  has_acting_effort_ = has_jump_ = has_last_potential_ = has_surplus_ = false;
  jump_share_ = initial_surplus_ = surplus_ = largest_kinetic_energy_ = 0.0;
  rise_count_ = 0;
}

bool PortGuard::engage(const ConstVector& q, const ConstVector& v,
                       const ConstVector& acting_effort) noexcept {
  if (v.size() != model_.nv() || !v.allFinite() || !model_.is_configuration(q)) return false;
  state_plausibility_.restart(q, v);
  restart();
  d_.set(q, v);
  delayed_grant_.compensation_error(d_, compensation_error_);
  has_acting_effort_ = is_effort(acting_effort);
  if (has_acting_effort_) {
    acting_effort_ = acting_effort;
    delayed_grant_.saturate(acting_effort_);
  } else {
    delayed_grant_.static_effort(d_, acting_effort_);
  }
  effort_ = acting_effort_ - compensation_error_;
  delayed_grant_.static_effort(d_, static_effort_);
  effort_queue_.restart(effort_, acting_effort_ - static_effort_);
  debt_ceiling_.restart(d_.kinetic_energy());
  effort_queue_.begin_effort(d_, debt_ceiling_.motion_energy_bound());
  return true;
}

bool PortGuard::is_effort(const ConstVector& effort) const noexcept {
  return effort.size() == zero_velocity_.size() && effort.allFinite();
}

const GuardedEffort& PortGuard::update(const ConstVector& q, const ConstVector& v,
                                       const ConstVector& effort, double dt) noexcept {
  ++certificate_.samples;
  const Judgement& judgement = state_plausibility_.judge(q, v, dt);
  reason_.clear();
  if (judgement.must_hold()) {
    reason_.set("reflex: implausible state: %s; holding and damping", judgement.reason);
  }
  if (!judgement.is_position_measured) {
    if (first_loss_.empty()) first_loss_.set("implausible state: %s", judgement.reason);
    return update_without_state(judgement.q, judgement.v, dt, nullptr);
  }
  const double sample_time = std::max(dt, period_);
  next_velocity_ = v;
  if (judgement.must_hold() && judgement.reason != reasons::implausible_before) {
    // Positions tell the energy of the last sample, and the motion of the joints.
    effort_queue_.mean_velocity(q, sample_time, next_velocity_);
    next_velocity_.head(b_) = v.head(b_);
  }
  d_.set(q, next_velocity_);
  update_tank(dt);
  certificate_.duration += dt;
  delayed_grant_.static_effort(d_, static_effort_);
  const bool is_reflex = judgement.must_hold() || !is_effort(effort);
  bool is_fading = false, is_wrench_limited = false;
  if (is_reflex) {
    if (!judgement.must_hold()) {
      reason_.set("reflex: the effort is not finite or not that of this robot");
    }
    set_safe_effort(d_.q(), d_.v(), sample_time);
  } else {
    effort_ = effort;
    is_fading = add_fading_jump(dt);
    is_wrench_limited = delayed_grant_.saturate(effort_);
  }
  if (is_wrench_limited) reason_.add_sentence(reasons::base_wrench_limited);
  limit_effort(static_effort_, sample_time, dt);
  const double level = settings.freeze ? std::min(tank_.level, 0.0) : tank_.level;
  if (is_fading) reason_.add_sentence("fading in");
  delayed_grant_.grant(d_, effort_, effort_queue_, level, debt_ceiling_, sample_time);
  if (delayed_grant_.reason()[0] != '\0') {
    torque_limits_.set_last_torque(effort_.tail(n_));
    reason_.add_sentence(delayed_grant_.reason());
  }
  count_sample(is_reflex, !reason_.empty(), delayed_grant_.is_braking());
  send(delayed_grant_.active_effort(), is_reflex);
  effort_queue_.begin_effort(d_, debt_ceiling_.motion_energy_bound());
  return output_;
}

/// Send the effort in effort_, whose part beyond the static effort is `active_effort` (nv,).
void PortGuard::send(const VectorV& active_effort, bool is_reflex) noexcept {
  delayed_grant_.compensation_error(d_, compensation_error_);
  effort_queue_.send(effort_ - compensation_error_, active_effort);
  if (is_reflex) {
    acting_effort_ = effort_;
    has_acting_effort_ = true;
    has_jump_ = false;
  }
  output_.effort = effort_;
  output_.status = is_reflex ? Status::holding : !reason_.empty() ? Status::saturated : Status::ok;
  output_.reason = reason_.text();
  output_.level = tank_.level;
}

const GuardedEffort& PortGuard::hold(const char* cause, double dt) noexcept {
  ++certificate_.samples;
  const Judgement& judgement = state_plausibility_.judge(unknown_q_, unknown_v_, dt);
  if (first_loss_.empty()) first_loss_.set("%s", cause);
  return update_without_state(judgement.q, judgement.v, dt, cause);
}

Certificate PortGuard::certificate() const noexcept {
  Certificate result = certificate_;
  result.first_loss = first_loss_.text();
  result.copy_sums(tank_);
  const double largest_work = effort_queue_.largest_work();
  if (largest_work > 0.0) result.note_unsettled(largest_work - (tank_.budget - tank_.given_energy));
  const double excess_supply = result.supplied - std::max(0.0, result.margin);
  if (kSamplesPerRise * rise_count_ > result.samples &&
      excess_supply > kNoiseEnergy + kNoiseShare * largest_kinetic_energy_) {
    result.note_unsettled(excess_supply);
  }
  return result;
}

/// Count the energy given since the last state.
void PortGuard::update_tank(double dt) noexcept {
  tank_.capacity = settings.tank_capacity;
  const bool is_lost = !effort_queue_.has_every_state();
  const double kinetic_energy = d_.kinetic_energy();
  double work = effort_queue_.work(d_, dt);
  if (is_lost) {
    // The motion is of these efforts rather than of a push.
    work = std::max(work, kinetic_energy - debt_ceiling_.motion_energy_bound());
    const double largest_work = effort_queue_.largest_work();
    if (largest_work > 0.0)
      certificate_.note_unsettled(largest_work - (tank_.budget - tank_.given_energy));
  }
  tank_.withdraw(work);
  const double refilled_energy = tank_.refill(settings.freeze ? 0.0 : settings.refill_power * dt);
  const double unobserved_work =
      debt_ceiling_.update(tank_.level, work, kinetic_energy, refilled_energy);
  update_surplus(kinetic_energy);
  certificate_.largest_unseen = std::max(certificate_.largest_unseen, unobserved_work);
  certificate_.lent = debt_ceiling_.largest_loan();
  double potential_energy = 0.0;
  if (gravity_free_model_) {
    rest_state_.set(d_.q(), zero_velocity_);
    potential_energy = rest_state_.potential_energy();
  } else {
    potential_energy = d_.potential_energy();
  }
  if (has_last_potential_) certificate_.weight_work += potential_energy - last_potential_;
  last_potential_ = potential_energy;
  has_last_potential_ = true;
}

/// Note the kinetic energy, J, and its surplus over the energy given.
void PortGuard::update_surplus(double kinetic_energy) noexcept {
  const double surplus = kinetic_energy - tank_.given_energy;
  if (!has_surplus_) {
    initial_surplus_ = surplus;
  } else if (delayed_grant_.holds_weight(d_)) {  // what is not held falls
    certificate_.supplied = std::max(certificate_.supplied, surplus - initial_surplus_);
    if (surplus - surplus_ > kEnergyRise && surplus > initial_surplus_) ++rise_count_;
  }
  surplus_ = surplus;
  has_surplus_ = true;
  largest_kinetic_energy_ = std::max(largest_kinetic_energy_, kinetic_energy);
}

/// Add the jump's remaining share at engagement to effort_; return whether there is one.
bool PortGuard::add_fading_jump(double dt) noexcept {
  if (has_acting_effort_) {
    jump_ = acting_effort_ - effort_;
    has_jump_ = (jump_.array() != 0.0).any();
    has_acting_effort_ = false;
    jump_share_ = 1.0;
  }
  if (!has_jump_) return false;
  effort_ += jump_share_ * jump_;
  const double fade_time = settings.engagement_time;
  jump_share_ = fade_time > 0.0 ? jump_share_ - dt / fade_time : 0.0;
  if (jump_share_ <= 0.0) has_jump_ = false;
  return true;
}

/// Reduce the effort in effort_ to the limits of joints and motion.
void PortGuard::limit_effort(const VectorV& static_effort, double sample_time, double dt) noexcept {
  if (settings.torque_share < 1.0) {
    const auto max_torque = (settings.torque_share * gravity_model_.max_effort()).array();
    if ((effort_.tail(n_).cwiseAbs().array() > max_torque).any()) {
      effort_.tail(n_) = effort_.tail(n_).array().min(max_torque).max(-max_torque).matrix();
      reason_.add_text(
          reason_.empty() ? "torque at %.0f%% of its limit" : "; torque at %.0f%% of its limit",
          100.0 * settings.torque_share);
    }
  }
  const VectorV& torque = torque_limits_.apply(effort_.tail(n_), static_effort.tail(n_),
                                               d_.v().tail(n_), settings.max_torque_rate, 0.0, dt);
  effort_.tail(n_) = torque;
  reason_.add_sentence(torque_limits_.reason().text());
  if (!MotionLimits::is_limited(settings)) return;
  delayed_grant_.strongest_brake(d_, sample_time, brake_);
  delayed_grant_.next_velocity(d_, effort_queue_, sample_time, next_velocity_);
  const double share = motion_limits_.share(d_, next_velocity_, effort_, brake_, static_effort,
                                            settings, sample_time);
  if (!(share < 1.0)) return;
  effort_ = brake_ + share * (effort_ - brake_);
  torque_limits_.set_last_torque(effort_.tail(n_));
  reason_.add_sentence(motion_limits_.reason().text());
}

/// Write the safe output to effort_.
void PortGuard::set_safe_effort(const ConstVector& q, const ConstVector& v, double dt) noexcept {
  safe_output_.compute(q, v, (delay_ + 1) * dt);
  effort_.head(b_) = safe_output_.wrench_base();
  effort_.tail(n_) = safe_output_.torque();
}

/// The safe output while no state can be believed; without a `cause`, reason_ has it already.
/// A brake on a velocity of the past may drive the robot: it acts as far as the tank covers it
/// whatever the motion is, and so ends.
const GuardedEffort& PortGuard::update_without_state(const ConstVector& q, const ConstVector& v,
                                                     double dt, const char* cause) noexcept {
  if (cause != nullptr) reason_.set("reflex: %s; holding and damping", cause);
  const bool is_valid_step = 0.0 < dt && dt <= kLongestSample;
  const double sample_time = is_valid_step ? std::max(dt, period_) : period_;
  effort_queue_.skip_state(is_valid_step || dt == 0.0 ? dt : kLongestSample);
  set_safe_effort(q, v, sample_time);
  d_.set(q, zero_velocity_);
  delayed_grant_.static_effort(d_, static_effort_);
  brake_ = effort_ - static_effort_;
  const double level = settings.freeze ? std::min(tank_.level, 0.0) : tank_.level;
  brake_ *= effort_queue_.covered_share(brake_, level, sample_time);
  effort_ = static_effort_ + brake_;
  send(brake_, true);
  effort_queue_.advance_without_state();
  torque_limits_.set_last_torque(effort_.tail(n_));
  ++certificate_.lost;
  if (is_valid_step) certificate_.duration += dt;
  count_sample(true, true, false);
  return output_;
}

void PortGuard::count_sample(bool is_reflex, bool is_changed, bool is_braking) noexcept {
  if (is_reflex) {
    ++certificate_.reflexes;
  } else if (is_braking) {
    ++certificate_.braked;
  } else if (is_changed) {
    ++certificate_.scaled;
  }
}

}  // namespace vms_ph
