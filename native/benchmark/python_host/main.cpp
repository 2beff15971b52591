// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Times the updates of a hosted Python controller at a posture and around it, and prints a line of
// durations, then how many answers came too late for a period of a millisecond.
//
//   vms_ph_host_benchmark FILE.urdf BASE END_EFFECTOR UPDATES PRIORITY MODULE.CLASS Q...
//
// With a SCHED_FIFO priority above zero, for the calling thread and that of Python; it ends with 3
// where there may be none.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <pthread.h>

#include "../contender.hpp"
#include "vms_ph_native/python_controller.hpp"

namespace {

using Clock = std::chrono::steady_clock;

// Not twice the same for a while; only the joints move, which are the last of a configuration.
std::vector<vms_ph::RobotState> random_states(const Eigen::VectorXd& home, int n, int nv) {
  std::vector<vms_ph::RobotState> states;
  for (int k = 0; k < 256; ++k) {
    states.push_back({home, 0.3 * Eigen::VectorXd::Random(nv)});
    states.back().q.tail(n) += 0.1 * Eigen::VectorXd::Random(n);
  }
  return states;
}

int run(int count, char** args) {
  vms_ph::PythonRobot robot;
  std::ifstream file(args[1]);
  robot.urdf.assign(std::istreambuf_iterator<char>(file), {});
  robot.base = args[2];
  robot.end_effector = args[3];
  const int updates = std::max(10, std::atoi(args[4]));
  sched_param priority{};
  priority.sched_priority = std::atoi(args[5]);
  const std::string class_path = args[6];
  // Python's thread is made by this one, and gets its priority.
  if (priority.sched_priority > 0 &&
      pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) {
    std::fprintf(stderr, "a real-time priority is not allowed here\n");
    return 3;
  }
  vms_ph::PythonController law(class_path, robot);
  if (count - 7 != law.nq()) {
    std::fprintf(stderr, "the robot has %d numbers in a configuration; given: %d\n", law.nq(),
                 count - 7);
    return 2;
  }
  Eigen::VectorXd home(law.nq());
  for (int i = 0; i < law.nq(); ++i) home[i] = std::atof(args[7 + i]);
  const auto states = random_states(home, law.n(), law.nv());
  if (!law.reset(states[0])) {
    std::fprintf(stderr, "the posture is none of this robot: %s\n", law.log().c_str());
    return 1;
  }
  vms_ph::Reference references[2];
  references[0].velocity = Eigen::Vector3d(0.0, 0.05, 0.0);
  references[1].velocity = Eigen::Vector3d(0.0, -0.05, 0.0);
  std::vector<double> durations(static_cast<std::size_t>(updates));
  std::uint64_t late_at_start = 0;
  for (int k = -updates / 10; k < updates; ++k) {  // the first for caches
    if (k == 0) late_at_start = law.late_updates();
    const auto& state = states[static_cast<std::size_t>(k & 255)];
    const auto start = Clock::now();
    law.update(state, references[(std::max(k, 0) / 1000) % 2], 1e-3);
    const std::chrono::duration<double, std::nano> duration = Clock::now() - start;
    if (k >= 0) durations[static_cast<std::size_t>(k)] = duration.count();
  }
  if (law.failed_updates() > 0) {
    std::fprintf(stderr, "%s\n", law.log().c_str());
    return 1;
  }
  vms_ph::print_durations(class_path.substr(class_path.rfind('.') + 1), durations);
  std::printf("\t%llu\n", static_cast<unsigned long long>(law.late_updates() - late_at_start));
  return 0;
}

}  // namespace

int main(int count, char** args) {
  if (count < 8) {
    std::fprintf(stderr,
                 "usage: %s FILE.urdf BASE END_EFFECTOR UPDATES PRIORITY MODULE.CLASS Q...\n",
                 args[0]);
    return 2;
  }
  try {
    return run(count, args);
  } catch (const vms_ph::PythonError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
