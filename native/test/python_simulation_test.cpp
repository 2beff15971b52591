// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The hosted simulator: a pendulum of two links, its energy, and what cannot be simulated.
#include "vms_ph_native/python_simulation.hpp"

#include <cmath>

#include "arm.hpp"
#include "check.hpp"

namespace {

using namespace vms_ph;

const Eigen::VectorXd kNone = Eigen::VectorXd::Zero(0);

PythonRobot arm() {
  PythonRobot robot;
  robot.urdf = kArm;
  return robot;
}

PythonSimulationOptions turned_up() {
  PythonSimulationOptions options;
  options.start = Eigen::Vector2d(1.0, 0.0);
  options.timeout = 60.0;
  return options;
}

double total(const SimulatedMotion& motion) { return motion.kinetic + motion.potential; }

void free_it_swings_and_keeps_its_energy() {
  PythonSimulation simulation(arm(), turned_up());
  CHECK(simulation.b() == 0 && simulation.n() == 2 && simulation.joint_names().size() == 2);
  const double before = total(simulation.motion());
  const Eigen::VectorXd torque = Eigen::Vector2d::Zero();
  // Time is taken in whole steps; five times 0.4 ms are two of them.
  for (int k = 0; k < 2500; ++k) CHECK(simulation.step(kNone, torque, 0.4e-3));
  CHECK(std::abs(simulation.motion().time - 1.0) < 1e-9);
  CHECK(simulation.motion().q[0] < 0.9 && simulation.motion().kinetic > 1.0);
  CHECK(std::abs(total(simulation.motion()) - before) < 1e-6);
  CHECK(simulation.reset());
  CHECK(simulation.motion().q[0] == 1.0 && simulation.motion().time == 0.0);
  CHECK(total(simulation.motion()) == before);
}

void efforts_act_from_the_step_they_come_with() {
  PythonSimulation simulation(arm(), turned_up());
  const double before = total(simulation.motion());
  // Its own weight, as by hand: it stays where it is.
  const double lower = 9.81 * 0.5 * std::sin(1.0);
  const Eigen::VectorXd weight = Eigen::Vector2d(9.81 * 2.0 * std::sin(1.0) + lower, lower);
  for (int k = 0; k < 100; ++k) CHECK(simulation.step(kNone, weight, 1e-3));
  CHECK(std::abs(simulation.motion().q[0] - 1.0) < 1e-9);
  const Eigen::VectorXd more = weight + Eigen::Vector2d(5.0, 0.0);
  for (int k = 0; k < 100; ++k) CHECK(simulation.step(kNone, more, 1e-3));
  const SimulatedMotion& motion = simulation.motion();
  CHECK(motion.torque_energy > 0.1 && motion.wrench_base_energy == 0.0 && motion.dissipated == 0.0);
  CHECK(std::abs(total(motion) - before - motion.torque_energy) < 1e-9);
}

void a_floating_base_takes_a_wrench() {
  PythonRobot robot = arm();
  robot.base = "floating";
  robot.gravity.setZero();
  PythonSimulationOptions options;
  options.timeout = 60.0;
  PythonSimulation simulation(robot, options);
  CHECK(simulation.b() == 6 && simulation.nq() == 9 && simulation.nv() == 8);
  Eigen::VectorXd wrench = Eigen::VectorXd::Zero(6), torque = Eigen::VectorXd::Zero(2);
  wrench[2] = 8.0;  // its 8 kg hang straight below: it accelerates by 1 m/s^2
  for (int k = 0; k < 1000; ++k) CHECK(simulation.step(wrench, torque, 1e-3));
  CHECK(std::abs(simulation.motion().v[2] - 1.0) < 1e-9);
  CHECK(std::abs(simulation.motion().wrench_base_energy - 4.0) < 1e-6);
}

void what_cannot_be_simulated_is_told() {
  PythonSimulation simulation(arm(), turned_up());
  const Eigen::VectorXd bad = Eigen::Vector2d(NAN, 0.0), huge = Eigen::Vector2d(1e300, 0.0);
  CHECK(!simulation.step(kNone, bad, 1e-3));
  CHECK_HAS(simulation.reason(), "not finite");
  CHECK(!simulation.step(kNone, kNone, 1e-3));
  CHECK(!simulation.step(kNone, huge, 1.0));
  CHECK_HAS(simulation.reason(), "see the log");
  CHECK_HAS(simulation.log(), "the motion cannot be integrated");
  CHECK(simulation.motion().q[0] == 1.0);
  CHECK(simulation.reset() && simulation.step(kNone, Eigen::Vector2d::Zero(), 1e-3));
  PythonSimulationOptions options = turned_up();
  options.scheme = "no_scheme";
  try {
    PythonSimulation(arm(), options);
    CHECK(!"refused");
  } catch (const PythonError& error) {
    CHECK_HAS(error.what(), "no_scheme");
  }
}

}  // namespace

int main() {
  free_it_swings_and_keeps_its_energy();
  efforts_act_from_the_step_they_come_with();
  a_floating_base_takes_a_wrench();
  what_cannot_be_simulated_is_told();
  return 0;
}
