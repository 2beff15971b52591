// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/servo_guard.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace vms_ph {
namespace {

constexpr int kShareHalvings = 24;  // by which the share of a command is found

// A jump is a fault beyond this multiple of the velocity limit, plus a distance, rad or m.
constexpr double kVelocityFactor = 5.0, kStepTolerance = 0.05;

// Effort in place of none, and the least divisor.
constexpr double kLargestEffort = 1e9, kLeastDivisor = 1e-200;

/// Energy of a spring whose force has a limit.
double spring_energy(double stiffness, double force_limit, double stretch) noexcept {
  const double length = std::abs(stretch), knee = force_limit / stiffness;  // the limit acts there
  return length <= knee ? 0.5 * stiffness * (length * length) : force_limit * (length - 0.5 * knee);
}

}  // namespace

ServoGuard::ServoGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay)
    : servos_(std::move(servos)),
      error_factors_{1.0 - uncertainty, 1.0 + uncertainty},
      delay_(delay),
      zeros_(servos_.size(), 0.0) {
  for (JointServo& servo : servos_) {
    servo.max_effort =
        servo.max_effort > 0.0 ? std::min(servo.max_effort, kLargestEffort) : kLargestEffort;
  }
  scaling_start_command_ = trial_command_ = positions_ = output_.command = zeros_;
  commands_.assign(delay_ + 1, zeros_);
}

bool ServoGuard::engage(const JointValues& positions, const JointValues& command) noexcept {
  if (!is_usable(positions)) return false;
  tank_ = EnergyTank(settings.tank_capacity, settings.tank_initial);
  certificate_ = Certificate();
  first_loss_.clear();
  positions_ = positions;
  for (auto& slot : commands_) slot = is_usable(command) ? command : idle_command(positions);
  elapsed_time_ = withdrawn_energy_ = 0.0;
  lost_samples_ = 0;
  restart();
  withdraw_up_to(energy_bound(commands_[0], 0.0));
  return true;
}

const GuardedCommand& ServoGuard::update(const JointValues& positions, const JointValues& command,
                                         double dt, const char* problem) noexcept {
  dt = dt >= 0.0 && std::isfinite(dt) ? dt : 0.0;
  ++certificate_.samples;
  certificate_.duration += dt;
  elapsed_time_ += dt;
  tank_.capacity = settings.tank_capacity;
  if (settings.refill_power > 0.0 && !settings.freeze) tank_.refill(settings.refill_power * dt);
  reason_.clear();
  find_fault(positions, problem);
  if (!reason_.empty()) {
    ++certificate_.lost;
    ++lost_samples_;
    if (first_loss_.empty()) first_loss_.set("%s", reason_.text());
    record_lost_sample();
    return record_sent(safe_command(), Status::holding);
  }
  count_energy(positions);
  positions_ = positions;
  elapsed_time_ = 0.0;
  lost_samples_ = 0;
  const bool has_command = is_usable(command);
  const double share = scale_to_tank(has_command ? command : safe_command(), dt);
  record_granted(trial_command_, dt);
  if (!has_command) {
    ++certificate_.reflexes;
    reason_.set("the command is not finite or not of this robot");
  } else if (share < 1.0) {
    ++(share > 0.0 ? certificate_.scaled : certificate_.braked);
    reason_.set("the energy tank covers %.0f%% of the change of the command", 100.0 * share);
  }
  return record_sent(trial_command_, !has_command  ? Status::holding
                                     : share < 1.0 ? Status::saturated
                                                   : Status::ok);
}

void ServoGuard::replace_last_command(const JointValues& acting_command, double dt) noexcept {
  if (!is_usable(acting_command) || acting_command == commands_.back()) return;
  record_granted(acting_command, dt);
  commands_.back() = acting_command;
}

Certificate ServoGuard::certificate() const noexcept {
  Certificate result = certificate_;
  result.copy_sums(tank_);
  result.first_loss = first_loss_.text();
  return result;
}

bool ServoGuard::is_usable(const JointValues& values) const noexcept {
  return values.size() == servos_.size() &&
         std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

void ServoGuard::find_fault(const JointValues& new_positions, const char* problem) noexcept {
  if (problem[0] != '\0') return reason_.set("%s", problem);
  if (!is_usable(new_positions)) return reason_.set("no positions of this robot were measured");
  for (std::size_t k = 0; k < servos_.size(); ++k) {
    const double jump = std::abs(new_positions[k] - positions_[k]);
    if (jump > kVelocityFactor * servos_[k].max_velocity * elapsed_time_ + kStepTolerance) {
      return reason_.set("%s jumped by %.4g, farther than its velocity limit allows",
                         servos_[k].joint.c_str(), jump);
    }
  }
}

/// Write the command that the tank covers to trial_command_, withdraw its energy, return its share.
double ServoGuard::scale_to_tank(const JointValues& desired_command, double dt) noexcept {
  const double level = tank_.level;
  const double energy_limit = withdrawn_energy_ + (settings.freeze ? std::min(level, 0.0) : level);
  trial_command_ = desired_command;
  double given_energy = energy_bound(trial_command_, dt);
  if (given_energy <= energy_limit) return withdraw_up_to(given_energy), 1.0;
  const JointValues& last_command = commands_.back();
  scaling_start_command_ = last_command;
  given_energy = energy_bound(scaling_start_command_, dt);
  const bool can_hold_last = given_energy <= energy_limit;
  if (!can_hold_last) {  // the tank has a debt
    retract_command(scaling_start_command_, dt);
    given_energy = energy_bound(scaling_start_command_, dt);
  }
  const JointValues& end_command = can_hold_last ? desired_command : last_command;
  const auto set_trial = [&](double share) {
    for (std::size_t k = 0; k < servos_.size(); ++k) {
      trial_command_[k] =
          scaling_start_command_[k] + share * (end_command[k] - scaling_start_command_[k]);
    }
  };
  // The bound is convex in the share: the largest one within the limit is found by halving.
  double lower_share = 0.0, upper_share = 1.0;
  for (int i = 0; i < kShareHalvings; ++i) {
    const double share = 0.5 * (lower_share + upper_share);
    set_trial(share);
    const double trial_energy = energy_bound(trial_command_, dt);
    (trial_energy <= energy_limit ? lower_share : upper_share) = share;
    if (trial_energy <= energy_limit) given_energy = trial_energy;
  }
  lower_share > 0.0 ? set_trial(lower_share) : void(trial_command_ = scaling_start_command_);
  return withdraw_up_to(given_energy), can_hold_last ? lower_share : 0.0;
}

/// Withdraw what a bound of the energy given exceeds the energy withdrawn for it so far, J.
void ServoGuard::withdraw_up_to(double given_energy) noexcept {
  tank_.withdraw(given_energy - withdrawn_energy_);
  withdrawn_energy_ = given_energy;
}

const GuardedCommand& ServoGuard::record_sent(const JointValues& command, Status status) noexcept {
  output_.command = command;
  output_.status = status;
  output_.reason = reason_.text();
  output_.level = tank_.level;
  commands_[0] = output_.command;
  std::rotate(commands_.begin(), commands_.begin() + 1, commands_.end());
  return output_;
}

PositionGuard::PositionGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay)
    : ServoGuard(std::move(servos), uncertainty, delay) {
  for (const JointServo& servo : servos_) {
    if (!(servo.stiffness >= 1e-12 && servo.damping >= 0.0) ||
        !std::isfinite(servo.stiffness + servo.damping + (delay > 0 ? servo.max_velocity : 0.0))) {
      throw std::invalid_argument(
          servo.joint + ": stiffness must be positive, damping >= 0; delays need velocity limits");
    }
  }
  added_energy_.resize(servos_.size());
  pending_energy_.assign(delay, added_energy_);
  engage(zeros_, zeros_);
}

void PositionGuard::restart() noexcept {
  for (auto& energies : pending_energy_) std::fill(energies.begin(), energies.end(), Bounds{});
  for (std::size_t k = 0; k < servos_.size(); ++k)
    added_energy_[k] = energy_change(k, positions_[k], commands_[0][k], 0.0);
  damped_energy_ = 0.0;
}

/// Move a command (n,) back towards the measured positions, within the velocity limits.
void PositionGuard::retract_command(JointValues& command, double dt) const noexcept {
  for (std::size_t k = 0; k < servos_.size(); ++k) {
    const double step = dt > 0.0 ? servos_[k].max_velocity * dt : 0.0;
    command[k] += std::clamp(positions_[k] - command[k], -step, step);
  }
}

/// The most energy, J, that a change of a command adds to the spring if the joint travels for a
/// time, s, until it acts; for each stiffness in the linear range, beyond it the larger for both.
PositionGuard::Bounds PositionGuard::energy_change(std::size_t k, double last_command,
                                                   double command,
                                                   double travel_time) const noexcept {
  const JointServo& servo = servos_[k];
  const double travel = travel_time > 0.0 ? servo.max_velocity * travel_time : 0.0;
  const double last_stretch = last_command - positions_[k], stretch = command - positions_[k];
  Bounds rise_bounds;
  for (std::size_t i = 0; i < rise_bounds.size(); ++i) {
    const double stiffness = error_factors_[i] * servo.stiffness;
    const auto energy_rise = [&](double shift) {
      return spring_energy(stiffness, servo.max_effort, stretch + shift) -
             spring_energy(stiffness, servo.max_effort, last_stretch + shift);
    };
    rise_bounds[i] = std::max(energy_rise(-travel), energy_rise(travel));
  }
  const double largest_stretch = std::max(std::abs(last_stretch), std::abs(stretch)) + travel;
  if (largest_stretch <= servo.max_effort / (error_factors_[1] * servo.stiffness))
    return rise_bounds;
  return {std::max(rise_bounds[0], rise_bounds[1]), std::max(rise_bounds[0], rise_bounds[1])};
}

/// Count the energy that was given until positions (n,) were measured.
void PositionGuard::count_energy(const JointValues& new_positions) noexcept {
  double dissipated_power = 0.0;  // where a force limit acts, the damper may take nothing
  for (std::size_t k = 0; elapsed_time_ > 0.0 && lost_samples_ == 0 && k < servos_.size(); ++k) {
    const double damping = error_factors_[0] * servos_[k].damping;
    const double stretch = std::max(std::abs(commands_[0][k] - positions_[k]),
                                    std::abs(commands_[0][k] - new_positions[k]));
    const double effort_margin =
        std::max(servos_[k].max_effort - error_factors_[1] * servos_[k].stiffness * stretch, 0.0);
    const double rate = std::abs(new_positions[k] - positions_[k]) / elapsed_time_;
    const double capped_rate =
        std::min(rate, effort_margin / std::max(2.0 * damping, kLeastDivisor));
    dissipated_power += damping * capped_rate * (2.0 * rate - capped_rate);
  }
  damped_energy_ += elapsed_time_ * dissipated_power;
  positions_ = new_positions;
  for (std::size_t k = 0; delay_ > 0 && k < servos_.size(); ++k)
    pending_energy_[0][k] = energy_change(k, commands_[0][k], commands_[1][k], 0.0);
  advance_pending_energy();
}

/// The most energy given since the engagement if a command (n,) follows the last one, J; what the
/// servos then hold is part of it.
double PositionGuard::energy_bound(const JointValues& command, double dt) const noexcept {
  double energy = 0.0;
  for (std::size_t k = 0; k < servos_.size(); ++k) {
    Bounds sums = add_bounds(added_energy_[k],
                             energy_change(k, commands_.back()[k], command[k], delay() * dt));
    for (const auto& energies : pending_energy_) sums = add_bounds(sums, energies[k]);
    energy += std::max(sums[0], sums[1]);
  }
  return energy - damped_energy_;
}

void PositionGuard::record_granted(const JointValues& command, double dt) noexcept {
  for (std::size_t k = 0; k < servos_.size(); ++k) {
    Bounds& energy = delay_ > 0 ? pending_energy_.back()[k] : added_energy_[k];
    energy = add_bounds(energy, energy_change(k, commands_.back()[k], command[k], delay() * dt));
  }
}

/// Count the oldest command under way as acting: one sample has passed.
void PositionGuard::advance_pending_energy() noexcept {
  if (delay_ == 0) return;
  for (std::size_t k = 0; k < servos_.size(); ++k)
    added_energy_[k] = add_bounds(added_energy_[k], std::exchange(pending_energy_[0][k], Bounds{}));
  std::rotate(pending_energy_.begin(), pending_energy_.begin() + 1, pending_energy_.end());
}

VelocityGuard::VelocityGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay)
    : ServoGuard(std::move(servos), uncertainty, delay) {
  for (const JointServo& servo : servos_) {
    if (!(servo.damping >= 1e-12 && std::isfinite(servo.damping))) {
      throw std::invalid_argument(servo.joint + ": damping must be positive");
    }
  }
  unit_energy_ = lost_squares_ = zeros_;
  engage(zeros_, zeros_);
}

void VelocityGuard::count_energy(const JointValues& new_positions) noexcept {
  for (std::size_t k = 0; k < servos_.size(); ++k) {
    const double command = commands_[0][k];
    if (lost_samples_ > 0) {  // the positions at the changes of the command are not known
      const double square_sum = std::exchange(lost_squares_[k], 0.0) + command * command;
      unit_energy_[k] += 0.25 * elapsed_time_ / static_cast<double>(lost_samples_ + 1) * square_sum;
    } else if (elapsed_time_ > 0.0) {
      const double rate = (new_positions[k] - positions_[k]) / elapsed_time_;
      const double linear_range = servos_[k].max_effort / (error_factors_[1] * servos_[k].damping);
      const double capped_rate =
          std::clamp(rate, 0.5 * (command - linear_range), 0.5 * (command + linear_range));
      unit_energy_[k] += elapsed_time_ * (capped_rate * (command - capped_rate) -
                                          linear_range * std::abs(rate - capped_rate));
    }
  }
}

double VelocityGuard::energy_bound(const JointValues& command, double dt) const noexcept {
  double energy = 0.0;
  for (std::size_t k = 0; k < servos_.size(); ++k) {
    double square_sum = 0.0;
    for (std::size_t i = 1; i <= delay_; ++i) square_sum += commands_[i][k] * commands_[i][k];
    const double unit_bound = unit_energy_[k] + 0.25 * dt * (square_sum + command[k] * command[k]);
    energy += std::max(error_factors_[0] * servos_[k].damping * unit_bound,
                       error_factors_[1] * servos_[k].damping * unit_bound);
  }
  return energy;
}

void VelocityGuard::record_lost_sample() noexcept {
  for (std::size_t k = 0; k < servos_.size(); ++k)
    lost_squares_[k] += commands_[0][k] * commands_[0][k];
}

}  // namespace vms_ph
