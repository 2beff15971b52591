// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A guard of energy before servos that take positions: vms_ph_controllers.guard.PositionGuard.
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
  double stiffness;         ///< N m/rad or N/m
  double damping;           ///< N m s/rad or N s/m; 0 where it is not known
  double effort, velocity;  ///< limits, N m and rad/s, or N and m/s; infinite for none
};

/// (n,) of the joints, rad or m.
using JointValues = std::vector<double>;

struct GuardedCommand {
  JointValues command;
  Status status = Status::ok;
  const char* reason = "";  ///< what was changed and why; valid until the next update
  double level = 0.0;       ///< energy in the tank, J
};

/// Bounds the energy that position commands give to a robot through its servos. After construction
/// nothing throws, prints, blocks or allocates.
class PositionGuard {
 public:
  /// @param uncertainty  bound of the relative errors of stiffness and damping, 0 to below 1.
  /// @param delay        samples from a measurement until the command that follows from it acts.
  /// @throws std::invalid_argument  a servo that is none, or a delay without velocity limits.
  PositionGuard(std::vector<JointServo> servos, double uncertainty, std::size_t delay);

  EnergyGuardSettings settings;  ///< those of the tank act

  /// Begin at positions (n,) with a tank at its initial level; false where they are not finite.
  /// `command` (n,) is what the servos follow now; the positions where it is not finite.
  bool engage(const JointValues& positions, const JointValues& command) noexcept;

  /// The command to send in place of a wanted one (n,); valid until the next call.
  ///
  /// @param problem  why the positions (n,) are not to be believed; empty if they are.
  const GuardedCommand& update(const JointValues& positions, const JointValues& desired, double dt,
                               const char* problem = "") noexcept;

  /// Grant more or less energy, J, as far as the tank has room or energy.
  void refill(double energy) noexcept { tank_.refill(energy); }
  void drain(double energy) noexcept { tank_.drain(energy); }

  int delay() const noexcept { return static_cast<int>(delay_); }

  /// What was given since the engagement; energy that the servos hold counts as given, J.
  Certificate certificate() const noexcept;

 private:
  using Bounds = std::array<double, 2>;  // for the least and the largest stiffness, J

  static Bounds sum(Bounds a, Bounds b) noexcept { return {a[0] + b[0], a[1] + b[1]}; }
  bool is_usable(const JointValues& values) const noexcept;
  void find_fault(const JointValues& measured, const char* problem) noexcept;
  Bounds energy_change(std::size_t k, double last, double command, double time) const noexcept;
  void settle_energy(const JointValues& measured) noexcept;
  double energy_bound(const JointValues& command, double dt) const noexcept;
  double grant(const JointValues& desired, double dt) noexcept;
  double commit(double energy, double share) noexcept;
  const GuardedCommand& record_sent(const JointValues& command, Status status) noexcept;

  std::vector<JointServo> servos_;
  const Bounds shares_;  // of the stated stiffness
  const std::size_t delay_;
  EnergyTank tank_{0.0, 0.0};
  Certificate counts_;
  JointValues positions_, start_, trial_;
  std::vector<JointValues> commands_;  // that acts since the last measurement, then under way
  std::vector<Bounds> added_;          // by changes that took place
  std::vector<std::vector<Bounds>> pending_;  // by those under way
  double elapsed_ = 0.0, lost_ = 0.0, committed_energy_ = 0.0, damped_energy_ = 0.0;
  GuardedCommand output_;
  Reason reason_, first_loss_;
};

}  // namespace vms_ph
