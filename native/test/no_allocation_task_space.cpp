// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// No update takes memory from the heap, whatever it is asked to do.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "allocations.hpp"
#include "core_test.hpp"
#include "file_text.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace no_allocation_task_space {

const int kUpdates = updates(10000);
constexpr int kPostures = 50, kSamplesPerPosture = 50;

struct Setting {
  std::string name;
  double value;
};

// What is switched on and off on the way, in turn.
const std::vector<Setting> kSettings = {
    {"cancel_coupling", 1.0}, {"tank_capacity", 0.5},    {"torque_rate", 500.0},
    {"power", 2.0},           {"task_stiffness", 300.0}, {"damping_null", 500.0},
    {"null_stiffness", 20.0}, {"tank_capacity", 0.0},    {"task_stiffness", 0.0},
    {"delay", 0.0},           {"tank_capacity", 0.01},   {"power", 0.0},
    {"stiffness", 1000.0},    {"torque_rate", 0.0},      {"cancel_coupling", 0.0},
    {"stiffness", 30.0},
};

// Slow motions around postures of all kinds, one after the other; a few states are none.
std::vector<vms_ph::RobotState> states(const vms_ph::Model& model, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  const auto random_posture = [&](double size) {
    Eigen::VectorXd vector(model.nv());
    for (auto& x : vector) x = size * unit(random);
    return vector;
  };
  std::vector<vms_ph::RobotState> motion_states(kPostures * kSamplesPerPosture);
  for (int posture = 0; posture < kPostures; ++posture) {
    // Every tenth is stretched out, where the task is singular.
    const Eigen::VectorXd mean_posture = random_posture(posture % 10 == 3 ? 1e-6 : 1.0);
    for (int k = 0; k < kSamplesPerPosture; ++k) {
      auto& state = motion_states[static_cast<std::size_t>(posture * kSamplesPerPosture + k)];
      state.q.resize(model.nq());
      const Eigen::VectorXd displacement = mean_posture + random_posture(1e-3);
      model.integrate(model.neutral_configuration(), displacement, state.q);
      state.v = random_posture(posture % 10 == 5 ? 5.0 : 0.1);
      if (k == kSamplesPerPosture / 2) state.v[0] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return motion_states;
}

long allocation_count(const std::string& folder, const std::string& urdf,
                      const std::string& frame) {
  const auto model =
      vms_ph::Model::from_urdf(file_text(folder + "/" + urdf), vms_ph::Base::fixed, frame);
  vms_ph::TaskSpaceIDAPBC law(model);
  std::mt19937 random(1);
  const auto motion_states = states(model, random);
  vms_ph::Reference moving_reference, resting_reference, empty_reference, infinite_reference;
  moving_reference.velocity = Eigen::Vector3d(0.1, -0.2, 0.05);
  resting_reference.position = Eigen::Vector3d(0.4, 0.1, 0.6);
  infinite_reference.position = Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  const vms_ph::Reference* references[] = {&moving_reference, &moving_reference, &resting_reference,
                                           &empty_reference, &infinite_reference};
  int statuses[4] = {0, 0, 0, 0};
  double sum = 0.0;

  const long initial_count = allocations();
  for (int k = 0; k < kUpdates; ++k) {
    const auto& state = motion_states[static_cast<std::size_t>(k / 4) % motion_states.size()];
    if (k % (4 * kSamplesPerPosture) == 0 && !law.reset(state)) return -1;
    if (k % 37 == 0) {
      const auto& setting = kSettings[static_cast<std::size_t>(k / 37) % kSettings.size()];
      if (!law.set_gain(setting.name, setting.value)) return -1;
    }
    const auto& command = law.update(state, *references[(k / 10) % 5], 1e-3);
    ++statuses[static_cast<int>(command.status)];
    sum += command.torque.sum();
  }
  const long final_count = allocations();

  std::printf("%s: %ld in %d updates; ok %d, saturated %d, holding %d, degraded %d\n", urdf.c_str(),
              final_count - initial_count, kUpdates, statuses[0], statuses[1], statuses[2],
              statuses[3]);
  for (const int count : statuses) {
    if (count == 0) return -1;
  }
  return std::isfinite(sum) ? final_count - initial_count : -1;
}

// That the counting itself works, in this program and in the core's library.
bool counting_works(const vms_ph::Model& model) {
  const long initial_count = allocations();
  const Eigen::VectorXd heap_vector = Eigen::VectorXd::Zero(64);
  const long middle_count = allocations();
  const vms_ph::Model model_copy = model.with_gravity(Eigen::Vector3d::Zero());
  return heap_vector.size() == 64 && middle_count > initial_count && allocations() > middle_count;
}

TEST(no_allocation_task_space) {
  const auto model =
      vms_ph::Model::from_urdf(file_text(folder + "/panda.urdf"), vms_ph::Base::fixed);
  CHECK(counting_works(model));
  const bool no_allocations = allocation_count(folder, "panda.urdf", "panda_link8") == 0 &&
                              allocation_count(folder, "crane.urdf", "tip") == 0;
  CHECK(no_allocations);
}

}  // namespace no_allocation_task_space
