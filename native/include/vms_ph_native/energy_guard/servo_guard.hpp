// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Guards of energy before servos: vms_ph_controllers.guard.PositionGuard and VelocityGuard.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "vms_ph_native/energy_account.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

/// A servo, a spring and damper, and the limits of its joint.
struct JointServo {
  std::string joint;
  double stiffness;  ///< N m/rad or N/m; of a velocity servo none
  double damping;    ///< N m s/rad or N s/m; 0 where that of a position servo is not known
  double max_effort, max_velocity;  ///< limits, N m and rad/s, or N and m/s; infinite for none
};

/// (n,) of the joints, rad or m, or their rates.
using JointValues = std::vector<double>;

struct GuardedCommand {
  JointValues command;
  Status status = Status::ok;
  const char* reason = "";  ///< what was changed and why; valid until the next update
  double level = 0.0;       ///< energy in the tank, J
};

/// Bounds the energy that commands give to a robot through its servos. After construction nothing
/// throws, prints, blocks or allocates.
class ServoGuard {
 public:
  virtual ~ServoGuard() = default;

  EnergyGuardSettings settings;  ///< only those of the tank have an effect

  /// Begin at positions (n,) with a tank at its initial level; false where they are not finite.
  /// `command` (n,) is what the servos follow now; one that moves nothing where it is not finite.
  bool engage(const JointValues& positions, const JointValues& command) noexcept;

  /// The command to send in place of a desired one (n,); valid until the next call.
  ///
  /// @param problem  why the positions (n,) are rejected; empty if they are valid.
  const GuardedCommand& update(const JointValues& positions, const JointValues& command, double dt,
                               const char* problem = "") noexcept;

  /// Count what acts (n,) in place of the last command, where limits behind the guard changed it.
  void replace_last_command(const JointValues& acting_command, double dt) noexcept;

  /// Grant more or less energy, J, as far as the tank has room or energy.
  void refill(double energy) noexcept { tank_.refill(energy); }
  void drain(double energy) noexcept { tank_.drain(energy); }

  int delay() const noexcept { return static_cast<int>(delay_); }

  /// What was given since the engagement; energy that the servos hold counts as given, J.
  Certificate certificate() const noexcept;

 protected:
  using Bounds = std::array<double, 2>;  // for the least and the largest servo constants

  ServoGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay);

  bool is_usable(const JointValues& values) const noexcept;

  // As the methods of these names in Python; a sample is lost where its positions are rejected.
  virtual void restart() noexcept = 0;
  virtual const JointValues& idle_command(const JointValues& positions) const noexcept = 0;
  virtual const JointValues& safe_command() const noexcept = 0;
  virtual void retract_command(JointValues& command, double dt) const noexcept = 0;
  virtual void count_energy(const JointValues& new_positions) noexcept = 0;
  virtual double energy_bound(const JointValues& command, double dt) const noexcept = 0;
  virtual void record_granted(const JointValues& command, double dt) noexcept = 0;
  virtual void record_lost_sample() noexcept = 0;

  std::vector<JointServo> servos_;
  const Bounds error_factors_;  // least and largest, of the stated constants
  const std::size_t delay_;
  const JointValues zeros_;
  JointValues positions_;              // measured last
  std::vector<JointValues> commands_;  // that acts since the last measurement, then under way
  double elapsed_time_ = 0.0;          // since the last measurement, s
  std::size_t lost_samples_ = 0;       // samples since the last measurement

 private:
  void find_fault(const JointValues& new_positions, const char* problem) noexcept;
  double scale_to_tank(const JointValues& desired_command, double dt) noexcept;
  void withdraw_up_to(double given_energy) noexcept;
  const GuardedCommand& record_sent(const JointValues& command, Status status) noexcept;

  EnergyTank tank_{0.0, 0.0};
  Certificate certificate_;
  JointValues scaling_start_command_, trial_command_;  // of share zero; of the one tried
  double withdrawn_energy_ = 0.0;                      // of the bound of the energy given, J
  GuardedCommand output_;
  Reason reason_, first_loss_;
};

class PositionGuard final : public ServoGuard {
 public:
  /// @param uncertainty  bound of the relative errors of stiffness and damping, 0 to below 1.
  /// @param delay        samples from a measurement until the command that follows from it acts.
  /// @throws std::invalid_argument  constants of no servo, or a delay without velocity limits.
  PositionGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay);

 private:
  static Bounds add_bounds(Bounds a, Bounds b) noexcept { return {a[0] + b[0], a[1] + b[1]}; }
  Bounds energy_change(std::size_t k, double last_command, double command,
                       double travel_time) const noexcept;
  void advance_pending_energy() noexcept;

  void restart() noexcept override;
  const JointValues& idle_command(const JointValues& positions) const noexcept override {
    return positions;
  }
  const JointValues& safe_command() const noexcept override { return commands_.back(); }
  void retract_command(JointValues& command, double dt) const noexcept override;
  void count_energy(const JointValues& new_positions) noexcept override;
  double energy_bound(const JointValues& command, double dt) const noexcept override;
  void record_granted(const JointValues& command, double dt) noexcept override;
  void record_lost_sample() noexcept override { advance_pending_energy(); }

  std::vector<Bounds> added_energy_;                 // energy by changes that took place, J
  std::vector<std::vector<Bounds>> pending_energy_;  // by those under way
  double damped_energy_ = 0.0;                       // taken out by the dampers, J
};

class VelocityGuard final : public ServoGuard {
 public:
  /// @param uncertainty  bound of the relative error of the damping, 0 to below 1.
  /// @param delay        samples from a measurement until the command that follows from it acts.
  /// @throws std::invalid_argument  a servo without damping.
  VelocityGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay);

 private:
  void restart() noexcept override { unit_energy_ = lost_squares_ = zeros_; }
  const JointValues& idle_command(const JointValues&) const noexcept override { return zeros_; }
  const JointValues& safe_command() const noexcept override { return zeros_; }
  void retract_command(JointValues& command, double) const noexcept override { command = zeros_; }
  void count_energy(const JointValues& new_positions) noexcept override;
  double energy_bound(const JointValues& command, double dt) const noexcept override;
  void record_granted(const JointValues&, double) noexcept override {}
  void record_lost_sample() noexcept override;

  JointValues unit_energy_;   // given by a damping of one, J
  JointValues lost_squares_;  // of commands that acted in lost samples
};

}  // namespace vms_ph
