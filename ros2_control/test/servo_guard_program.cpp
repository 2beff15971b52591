// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A guard of servos whose calls are lines of the standard input, each answered by a line.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "../../native/test/allocations.hpp"
#include "vms_ph_native/energy_guard/servo_guard.hpp"

namespace {

using vms_ph::JointServo;
using vms_ph::JointValues;
using vms_ph::PositionGuard;
using vms_ph::ServoGuard;
using vms_ph::VelocityGuard;

char line[16384];

double number(char*& text) { return std::strtod(text, &text); }

JointValues numbers(char*& text, std::size_t n) {
  JointValues values(n);
  for (double& value : values) value = number(text);
  return values;
}

// "velocity n delay uncertainty", then stiffness, damping, effort and velocity of the joints.
std::unique_ptr<ServoGuard> guard_of(char* text, std::size_t& n) {
  const bool takes_velocities = number(text) != 0.0;
  n = static_cast<std::size_t>(number(text));
  const auto delay = static_cast<std::size_t>(number(text));
  const double uncertainty = number(text);
  const JointValues stiffness = numbers(text, n), damping = numbers(text, n),
                    effort = numbers(text, n), velocity = numbers(text, n);
  std::vector<JointServo> servos;
  for (std::size_t k = 0; k < n; ++k) {
    servos.push_back({"j" + std::to_string(k), stiffness[k], damping[k], effort[k], velocity[k]});
  }
  if (takes_velocities) return std::make_unique<VelocityGuard>(servos, uncertainty, delay);
  return std::make_unique<PositionGuard>(servos, uncertainty, delay);
}

void print(const vms_ph::Certificate& c) {
  std::printf("%s", c.verdict());
#define VMS_PH_FIELD(name) std::printf(" %.17g", static_cast<double>(c.name));
  VMS_PH_CERTIFICATE_COUNTS(VMS_PH_FIELD)
  VMS_PH_CERTIFICATE_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  std::printf(" %s", c.first_loss);
}

}  // namespace

int main() {
  std::unique_ptr<ServoGuard> guard;
  std::size_t n = 0;
  while (std::fgets(line, sizeof line, stdin)) {
    char* text = line + 1;
    if (line[0] == 'g') {
      try {
        guard = guard_of(text, n);
      } catch (const std::exception& error) {
        std::printf("%s", error.what());
      }
    } else if (line[0] == 's') {  // settings: capacity, initial level, refill power, freeze
      auto& settings = guard->settings;
      settings.tank_capacity = number(text);
      settings.tank_initial = number(text);
      settings.refill_power = number(text);
      settings.freeze = number(text) != 0.0;
    } else if (line[0] == 'e') {  // engage: positions, command
      const JointValues positions = numbers(text, n), command = numbers(text, n);
      std::printf("%d", guard->engage(positions, command));
    } else if (line[0] == 'b') {  // budget: its change
      const double energy = number(text);
      energy > 0.0 ? guard->refill(energy) : guard->drain(-energy);
    } else if (line[0] == 'l') {  // limited behind the guard: time, acting command
      const double dt = number(text);
      guard->replace_last_command(numbers(text, n), dt);
    } else if (line[0] == 'u') {  // update: time, positions, command
      const double dt = number(text);
      const JointValues positions = numbers(text, n), command = numbers(text, n);
      const long before = allocations();
      const auto start = std::chrono::steady_clock::now();
      const auto& output = guard->update(positions, command, dt);
      const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
      std::printf("%.9f %ld %d %.17g", duration.count(), allocations() - before,
                  static_cast<int>(output.status), output.level);
      for (const double value : output.command) std::printf(" %.17g", value);
      std::printf(" %s", output.reason);
    } else {
      print(guard->certificate());
    }
    std::puts("");
    std::fflush(stdout);
  }
}
