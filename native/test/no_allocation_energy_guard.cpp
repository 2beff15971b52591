// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// An energy guard takes no memory from the heap and sends finite efforts, whatever it is given;
// with budget left it passes them on bit for bit. Prints the time that it adds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "allocations.hpp"
#include "arm.hpp"
#include "core_test.hpp"
#include "vms_ph_native/energy_guard/port_guard.hpp"

namespace no_allocation_energy_guard {

using namespace vms_ph;

void survives_everything(Base base, int delay, bool carries_weight) {
  const Model model = Model::from_urdf(kArm, base);
  EnergyGuardSettings settings;
  settings.tank_initial = 0.01;
  settings.max_power = 20.0;
  settings.max_speed = settings.max_joint_speed = 1.0;
  settings.max_kinetic_energy = 0.5;
  EnergyGuardOptions options;
  options.delay = delay;
  options.effort_carries_weight = carries_weight;
  PortGuard guard(model, settings, options);
  Eigen::VectorXd q = model.neutral_configuration(), v = Eigen::VectorXd::Zero(model.nv());
  Eigen::VectorXd effort = v, no_effort;
  const double values[] = {
      std::nan(""), std::numeric_limits<double>::infinity(), 1e155, 50.0, 3.0, -20.0, 0.0, 1.0};
  int statuses[4] = {0, 0, 0, 0};
  CHECK(guard.engage(q, v, no_effort));
  const long initial_count = allocations();
  for (int k = 0; k < 8000; ++k) {
    double dt = 1e-3;
    v.setConstant(0.02 * (k % 50 - 25));
    effort.setConstant(values[3 + k % 5]);
    if (k % 97 == 0) effort[k % model.nv()] = values[k % 3];
    if (k % 201 == 0) v[k % model.nv()] = values[k % 3];
    if (k % 503 == 0) dt = values[k % 8];
    if (k % 611 == 0) guard.refill(0.1);
    if (k % 1400 == 0) guard.drain(0.1);
    guard.settings.freeze = k % 2000 > 1900;
    const GuardedEffort& guarded_effort =
        k % 700 == 699 ? guard.hold("the state is old", 1e-3) : guard.update(q, v, effort, dt);
    ++statuses[static_cast<int>(guarded_effort.status)];
    CHECK(guarded_effort.effort.allFinite());
    const Certificate certificate = guard.certificate();
    CHECK(certificate.samples > 0);
  }
  CHECK(allocations() == initial_count);
  CHECK(statuses[1] > 100 && statuses[2] > 10);
}

void passes_bit_for_bit(int delay) {
  const Model model = Model::from_urdf(kArm, Base::fixed);
  EnergyGuardSettings settings;
  settings.tank_capacity = settings.tank_initial = 1e3;
  EnergyGuardOptions options;
  options.delay = delay;
  PortGuard guard(model, settings, options);
  Eigen::VectorXd q = model.neutral_configuration(), v = Eigen::VectorXd::Zero(model.nv());
  Eigen::VectorXd effort = v, no_effort;
  CHECK(guard.engage(q, v, no_effort));
  std::vector<double> times(static_cast<std::size_t>(updates(2000)));
  for (std::size_t k = 0; k < times.size(); ++k) {
    const double t = 1e-3 * static_cast<double>(k);
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      q[i] = 0.1 * std::sin(t + static_cast<double>(i));
      v[i] = 0.1 * std::cos(t + static_cast<double>(i));
      effort[i] = std::sin(1e3 * t + static_cast<double>(i));
    }
    const auto begin = std::chrono::steady_clock::now();
    const GuardedEffort& guarded_effort = guard.update(q, v, effort, 1e-3);
    times[k] =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    CHECK(guarded_effort.status == Status::ok);
    CHECK((guarded_effort.effort.array() == effort.array()).all());
  }
  std::sort(times.begin(), times.end());
  std::printf("delay %d: median %.2f us, 99th percentile %.2f us\n", delay, times[times.size() / 2],
              times[times.size() * 99 / 100]);
}

/// Tilted rotors on a circle; of seven, one is stuck.
Allocation rotors(int count) {
  std::vector<Rotor> rotors_on_circle;
  for (int i = 0; i < count; ++i) {
    const double angle = 6.283185307179586 * i / count, tilt = i % 2 == 0 ? 0.4 : -0.4;
    const Eigen::Vector3d radial(std::cos(angle), std::sin(angle), 0.0);
    const Eigen::Vector3d tangent(-std::sin(angle), std::cos(angle), 0.0);
    Rotor rotor;
    rotor.position = 0.4 * radial;
    rotor.axis = std::sin(tilt) * tangent + std::cos(tilt) * Eigen::Vector3d::UnitZ();
    rotor.drag_ratio = tilt > 0.0 ? 0.016 : -0.016;
    rotor.lower = 0.1;
    rotor.upper = i == 1 && count == 7 ? 0.1 : 40.0;  // one that is stuck
    rotors_on_circle.push_back(rotor);
  }
  return Allocation(rotors_on_circle);
}

/// Wrenches within and far beyond the limits, with a full and an empty tank, take no memory; what
/// is sent can be made by the rotors. Prints the time of an update.
void knows_its_actuators(int count, int delay) {
  const Model model = Model::from_urdf(kArm, Base::floating);
  EnergyGuardOptions options;
  options.delay = delay;
  options.allocation = rotors(count);
  BaseWrenchLimiter limits(model, options.allocation, true, {});
  PortGuard guard(model, EnergyGuardSettings(), options);
  Eigen::VectorXd q = model.neutral_configuration(), v = Eigen::VectorXd::Zero(model.nv());
  Eigen::VectorXd effort = v, no_effort;
  CHECK(guard.engage(q, v, no_effort));
  std::vector<double> times(static_cast<std::size_t>(updates(2000)));
  int limited_count = 0;
  const long initial_count = allocations();
  for (std::size_t k = 0; k < times.size(); ++k) {
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      v[i] = 0.1 * std::cos(0.01 * static_cast<double>(k) + static_cast<double>(i));
      effort[i] =
          (k % 3 == 0 ? 500.0 : 5.0) * std::sin(static_cast<double>(k * 7) + 3.0 * double(i));
    }
    effort[2] += 60.0;
    if (k % 1000 < 500) guard.drain(10.0);
    if (k % 1000 == 500) guard.refill(5.0);
    const auto begin = std::chrono::steady_clock::now();
    const GuardedEffort& guarded_effort = guard.update(q, v, effort, 1e-3);
    times[k] =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    VectorB wrench = guarded_effort.effort.head(6);
    const double size = 1.0 + wrench.cwiseAbs().maxCoeff();
    limits.saturate(wrench);
    CHECK((wrench - guarded_effort.effort.head(6)).cwiseAbs().maxCoeff() <= 1e-8 * size);
    if (std::strstr(guarded_effort.reason, "base wrench at the limits")) ++limited_count;
  }
  CHECK(allocations() == initial_count);
  CHECK(limited_count > updates(200));
  std::sort(times.begin(), times.end());
  std::printf("%d rotors, delay %d: median %.2f us, 99th percentile %.2f us\n", count, delay,
              times[times.size() / 2], times[times.size() * 99 / 100]);
}

TEST(no_allocation_energy_guard) {
  survives_everything(Base::fixed, 0, true);
  survives_everything(Base::fixed, 3, false);
  survives_everything(Base::floating, 1, true);
  survives_everything(Base::planar, 2, true);
  for (int delay = 0; delay <= kMaxDelay; ++delay) passes_bit_for_bit(delay);
  for (int count : {4, 6, 7, 12}) {
    for (int delay : {0, 1, kMaxDelay}) knows_its_actuators(count, delay);
  }
}

}  // namespace no_allocation_energy_guard
