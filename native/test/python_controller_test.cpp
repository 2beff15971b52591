// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The host of Python controllers: what comes back, and what is done when nothing good does.
#include "vms_ph_native/python_controller.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include <dirent.h>

#include "arm.hpp"
#include "check.hpp"

namespace {

using namespace vms_ph;
using Clock = std::chrono::steady_clock;

PythonRobot arm() {
  PythonRobot robot;
  robot.urdf = kArm;
  return robot;
}

// A period that no loaded machine misses by accident.
PythonOptions patient_options() {
  PythonOptions options;
  options.folders = {VMS_PH_TEST_CONTROLLERS};
  options.period = 20.0;
  return options;
}

RobotState state_at(double shoulder, double elbow) {
  return {Eigen::Vector2d(shoulder, elbow), Eigen::Vector2d::Zero()};
}

// By hand: both links are a metre long, their masses half way.
Eigen::Vector2d gravity_torque(const RobotState& state) {
  const double elbow_torque = 9.81 * 0.5 * std::sin(state.q[0] + state.q[1]);
  return {9.81 * 2.0 * std::sin(state.q[0]) + elbow_torque, elbow_torque};
}

bool holds(const Command& command, const RobotState& state) {
  return command.status == Status::holding &&
         (command.torque - gravity_torque(state)).cwiseAbs().maxCoeff() < 1e-12 &&
         command.wrench_base.size() == 0;
}

double elapsed_time(Clock::time_point start_time) {
  return std::chrono::duration<double>(Clock::now() - start_time).count();
}

void a_users_class_controls() {
  PythonController spring("users_own.Spring", arm(), patient_options());
  CHECK(spring.b() == 0 && spring.n() == 2 && spring.nq() == 2 && spring.nv() == 2);
  CHECK((spring.joint_names() == std::vector<std::string>{"shoulder", "elbow"}));
  CHECK(spring.reset(state_at(0.1, 0.2)));
  const Command& command = spring.update(state_at(0.3, 0.1), Reference(), 0.001);
  CHECK((command.torque - Eigen::Vector2d(-2.0, 1.0)).norm() < 1e-12);
  CHECK(std::abs(command.energy.closed_loop_energy - 5.0 * 0.05) < 1e-12);
  CHECK(command.energy.unaccounted_energy == 0.0 && command.task_error == 0.001);
  CHECK(std::isinf(command.smallest_singular_value) && command.authority == 1.0);
  CHECK(command.status == Status::ok && std::string(command.reason) == "springs, ä");
  Reference reference;
  reference.joints = Eigen::Vector2d(0.3, 0.0);
  reference.has_joints = true;
  CHECK((spring.update(state_at(0.3, 0.1), reference, 0.001).torque - Eigen::Vector2d(0.0, -1.0))
            .norm() < 1e-12);
  // What is not there means: as you were told before.
  CHECK((spring.update(state_at(0.4, 0.1), Reference(), 0.001).torque - Eigen::Vector2d(-1.0, -1.0))
            .norm() < 1e-12);
  CHECK(spring.late_updates() == 0 && spring.failed_updates() == 0 && spring.log().empty());
}

void gains_change_between_updates() {
  PythonController spring("users_own.Spring", arm(), patient_options());
  const auto gains = spring.gains();
  CHECK(gains.size() == 4 && gains[0].name == "stiffness" && gains[0].value == 10.0);
  CHECK(gains[0].low == 0.0 && gains[0].high == 100.0 && gains[0].initial == 10.0);
  CHECK_HAS(gains[0].description, "N m/rad");
  CHECK(gains[2].is_switch && gains[2].low == 0.0 && gains[2].high == 1.0);
  CHECK(spring.reset(state_at(0.0, 0.0)));
  CHECK(spring.set_gain("stiffness", 20.0) && spring.gains()[0].value == 20.0);
  CHECK((spring.update(state_at(1.0, 0.0), Reference(), 0.001).torque[0] == -20.0));
  CHECK(spring.set_gain("on", 0.0));
  CHECK((spring.update(state_at(1.0, 0.0), Reference(), 0.001).torque[0] == 0.0));
  CHECK(!spring.set_gain("stiffness", 101.0) && !spring.set_gain("stiffness", std::nan("")));
  CHECK(!spring.set_gain("no_such_gain", 1.0));
  // A law may refuse a combination; it goes on with what it had, and says so.
  CHECK(spring.set_gain("stiffness", 0.5));
  CHECK(spring.update(state_at(1.0, 0.0), Reference(), 0.001).status == Status::holding);
  CHECK_HAS(spring.log(), "ValueError: more damping than stiffness");
  CHECK(spring.gains()[0].value == 20.0);
  CHECK(spring.set_gain("on", 1.0));
  CHECK((spring.update(state_at(1.0, 0.0), Reference(), 0.001).torque[0] == -20.0));
}

void a_gain_set_while_another_is_refused_is_not_lost() {
  PythonOptions options = patient_options();
  options.period = 0.5;  // a loaded machine may take long to wake Python, which thinks for 1 s
  PythonController law("users_own.RefusesSlowly", arm(), options);
  CHECK(law.reset(state_at(0.0, 0.0)));
  CHECK(law.set_gain("stiffness", 0.5));
  CHECK(law.update(state_at(1.0, 0.0), Reference(), 0.001).status == Status::holding);
  CHECK(law.set_gain("stiffness", 30.0));  // while Python still thinks about the other
  law.set_period(20.0);
  CHECK(law.update(state_at(1.0, 0.0), Reference(), 0.001).torque[0] == -30.0);
  CHECK(law.gains()[0].value == 30.0);
  CHECK_HAS(law.log(), "more damping than stiffness");
}

void an_exception_holds_gravity(const char* class_path, const char* words) {
  PythonController law(class_path, arm(), patient_options());
  CHECK(law.reset(state_at(0.3, 0.0)));
  CHECK(holds(law.update(state_at(2.0, 0.0), Reference(), 0.001), state_at(0.3, 0.0)));
  CHECK(law.update(state_at(0.5, 0.2), Reference(), 0.001).status == Status::ok);
  for (int k = 0; k < 20; ++k) {
    const Command& safe_command = law.update(state_at(2.0, 0.0), Reference(), 0.001);
    CHECK(holds(safe_command, state_at(0.5, 0.2)));
    CHECK_HAS(safe_command.reason, "see the log");
    CHECK(safe_command.energy.closed_loop_energy == 0.0);
  }
  CHECK(law.failed_updates() == 21 && law.late_updates() == 0);
  CHECK_HAS(law.log(), words);
  CHECK_HAS(law.log(), "(21 times)");
  CHECK(law.update(state_at(0.5, 0.2), Reference(), 0.001).status == Status::ok);
}

void an_invalid_state_is_held() {
  PythonController law("users_own.Spring", arm(), patient_options());
  CHECK(
      law.update(state_at(NAN, 0.0), Reference(), 0.001).torque.isZero());  // nothing is known yet
  CHECK(!law.reset(state_at(NAN, 0.0)));
  CHECK_HAS(law.log(), "must be finite; entries [0] are [nan]");
  CHECK(!law.reset({Eigen::VectorXd::Zero(3), Eigen::VectorXd::Zero(2)}));
  CHECK(law.reset(state_at(0.3, 0.1)));
  CHECK(holds(law.update(state_at(0.3, INFINITY), Reference(), 0.001), state_at(0.3, 0.1)));
  CHECK(holds(law.update({Eigen::VectorXd(), Eigen::VectorXd()}, Reference(), 0.001),
              state_at(0.3, 0.1)));
  const Command& good_command = law.update(state_at(0.4, 0.1), Reference(), 0.001);
  CHECK(good_command.status == Status::ok);
  CHECK(std::abs(good_command.task_error - 0.003) <
        1e-15);  // it learns of all the time that has passed
}

void a_late_answer_is_discarded_and_gravity_held() {
  PythonOptions options = patient_options();
  options.period = 0.02;
  PythonController law("users_own.Spring", arm(), options);
  CHECK(law.reset(state_at(0.3, 0.0)));
  CHECK(law.set_gain("nap", 0.4));
  Reference reference;
  reference.joints = Eigen::Vector2d(0.0, 0.0);
  reference.has_joints = true;
  const auto begin_time = Clock::now();
  const Command& late_command = law.update(state_at(1.0, 0.0), Reference(), 0.01);
  CHECK(holds(late_command, state_at(0.3, 0.0)));
  CHECK_HAS(late_command.reason, "did not answer within half a period");
  const Command& busy_command = law.update(state_at(2.0, 0.0), reference, 0.01);
  CHECK(holds(busy_command, state_at(0.3, 0.0)));
  CHECK_HAS(busy_command.reason, "still busy with an old state");
  CHECK(elapsed_time(begin_time) < 0.2);
  CHECK(law.late_updates() == 2);
  CHECK(law.set_gain("nap", 0.0));
  law.set_period(20.0);
  // It waits for the old answer, throws it away, and gives that for this state, with the reference
  // that came meanwhile and the time since the last state that Python was given.
  const Command& good_command = law.update(state_at(0.5, 0.0), Reference(), 0.01);
  CHECK(good_command.status == Status::ok && good_command.torque[0] == -5.0);
  CHECK(std::abs(good_command.task_error - 0.03) < 1e-15);
}

void missed_updates_are_reported_to_the_law() {
  PythonController law("users_own.CountsLosses", arm(), patient_options());
  CHECK(law.reset(state_at(0.0, 0.0)));
  const auto losses = [&law](double period) {
    law.set_period(period);
    return law.update(state_at(0.1, 0.0), Reference(), 0.01).task_error;
  };
  CHECK(losses(20.0) == 0.0);
  CHECK(law.update(state_at(std::nan(""), 0.0), Reference(), 0.01).status == Status::holding);
  CHECK(law.update(state_at(std::nan(""), 0.0), Reference(), 0.01).status == Status::holding);
  CHECK(losses(20.0) == 1.0);  // once for all that was held
  CHECK(losses(20.0) == 1.0);
  law.set_gain("nap", 0.05);
  losses(0.002);  // too late
  law.set_gain("nap", 0.0);
  CHECK(losses(20.0) == 2.0);
  law.note_missed_updates();
  CHECK(losses(20.0) == 3.0);
}

void no_answer_is_ever_that_to_another_state() {
  PythonOptions options = patient_options();
  options.period = 2e-3;
  PythonController law("users_own.Spring", arm(), options);
  CHECK(law.reset(state_at(0.0, 0.0)));
  int answers = 0;
  for (int k = 0; k < 200; ++k) {
    law.set_gain("nap", (k % 7) * 0.3e-3);
    const Command& command = law.update(state_at(0.001 * k, 0.0), Reference(), 0.002);
    if (command.status != Status::ok) continue;
    ++answers;
    CHECK(std::abs(command.torque[0] + 0.01 * k) < 1e-12);
  }
  CHECK(answers > 0 && law.late_updates() > 0);
  CHECK(static_cast<std::uint64_t>(answers) + law.late_updates() == 200);
}

void the_caller_never_waits_for_the_gil() {
  PythonOptions options = patient_options();
  options.period = 0.02;
  PythonController keeper("users_own.KeepsTheLock", arm(), options);
  PythonController other("users_own.Spring", arm(), options);
  CHECK(keeper.reset(state_at(0.3, 0.0)) && other.reset(state_at(0.3, 0.0)));
  keeper.set_gain("nap", 0.5);
  const auto begin_time = Clock::now();
  CHECK(holds(keeper.update(state_at(0.4, 0.0), Reference(), 0.01), state_at(0.3, 0.0)));
  CHECK(holds(other.update(state_at(0.4, 0.0), Reference(), 0.01), state_at(0.3, 0.0)));
  CHECK(other.set_gain("stiffness", 20.0) && other.gains()[0].value == 20.0);
  CHECK(elapsed_time(begin_time) < 0.3);
  other.set_period(20.0);
  CHECK(other.update(state_at(0.4, 0.0), Reference(), 0.01).torque[0] == -20.0 * (0.4 - 0.3));
}

void a_hanging_controller_does_not_block_its_owner() {
  PythonOptions options = patient_options();
  options.period = 0.002;
  options.reset_timeout = 0.2;
  const auto begin_time = Clock::now();
  {
    PythonController law("users_own.Spring", arm(), options);
    CHECK(law.reset(state_at(0.1, 0.0)));
    law.set_gain("nap", 60.0);
    CHECK(holds(law.update(state_at(0.1, 0.0), Reference(), 0.001), state_at(0.1, 0.0)));
    CHECK(!law.reset(state_at(0.2, 0.0)));
  }
  CHECK(elapsed_time(begin_time) < 40.0);
  PythonController next_law("users_own.Spring", arm(), patient_options());
  CHECK(next_law.reset(state_at(0.1, 0.0)));
}

void check_refusal(const std::string& class_path, const PythonRobot& robot,
                   const PythonOptions& options, const char* words) {
  try {
    PythonController law(class_path, robot, options);
  } catch (const PythonError& error) {
    CHECK_HAS(error.what(), words);
    return;
  }
  CHECK(!"refused");
}

void mistakes_are_reported_in_one_sentence() {
  PythonOptions options_elsewhere = patient_options();
  options_elsewhere.environment = "/no/such/folder";
  check_refusal("users_own.Spring", arm(), options_elsewhere,
                "is no virtual environment of Python");
  check_refusal("users_own.Sprong", arm(), patient_options(),
                "there is no controller 'users_own.Sprong'");
  check_refusal("nowhere.Spring", arm(), patient_options(), "package.module:Class");
  check_refusal("Spring", arm(), patient_options(), "package.module:Class");
  check_refusal("users_own.NoController", arm(), patient_options(), "must derive from Controller");
  check_refusal("users_own.Unfinished", arm(), patient_options(), "it must define update");
  check_refusal("broken_module.Spring", arm(), patient_options(),
                "a module that fails when it is imported");
  const std::string class_path = "vms_ph_controllers.TaskSpaceIDAPBC";
  PythonRobot robot = arm();
  robot.base = "floating";
  check_refusal(class_path, robot, patient_options(), "is for arms on a fixed base");
  robot.base = "flying";
  check_refusal(class_path, robot, patient_options(),
                "base must be auto, fixed, planar or floating; given: 'flying'");
  robot = arm();
  robot.end_effector = "hand";
  check_refusal(class_path, robot, patient_options(), "hand");
  robot = arm();
  robot.locked_joints = {"wrist"};
  check_refusal(class_path, robot, patient_options(), "wrist");
  robot.urdf = "arm.urdf";
  check_refusal(class_path, robot, patient_options(), "not a URDF");
  PythonOptions options_without_period = patient_options();
  options_without_period.period = 0.0;
  check_refusal("users_own.Spring", arm(), options_without_period, "must be a time above zero");
  PythonOptions hasty_options = patient_options();
  hasty_options.load_timeout = 0.05;
  check_refusal("users_own.SlowToLoad", arm(), hasty_options, "it took longer than");
  PythonController law("users_own.OneTorqueForAll", arm(), patient_options());
  CHECK(law.reset(state_at(0.3, 0.0)));
  CHECK(holds(law.update(state_at(0.3, 0.0), Reference(), 0.001), state_at(0.3, 0.0)));
  CHECK_HAS(law.log(), "torque must have shape (2,); the controller returned shape (1,)");
}

long resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

int thread_count() {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

void loading_many_times_leaves_nothing_behind() {
  const auto load = [] {
    PythonController law("vms_ph_controllers.CartesianImpedance", arm(), patient_options());
    CHECK(law.reset(state_at(0.3, 0.4)));
    for (int k = 0; k < 5; ++k) {
      CHECK(law.update(state_at(0.3, 0.4), Reference(), 0.001).status != Status::holding);
    }
  };
  for (int k = 0; k < 20; ++k) load();
  const long initial_kilobytes = resident_kilobytes();
  const int initial_thread_count = thread_count();
  for (int k = 0; k < 80; ++k) load();
  CHECK(thread_count() == initial_thread_count);
  // A model alone is above 20 kB, a thread's stack in use as much: 80 left behind were 3 MB.
  std::printf("grown by %ld kB over 80 loads\n", resident_kilobytes() - initial_kilobytes);
  CHECK(resident_kilobytes() - initial_kilobytes < 800);
}

void two_controllers_work_side_by_side() {
  const auto control = [](double stiffness) {
    PythonController law("users_own.Spring", arm(), patient_options());
    CHECK(law.set_gain("stiffness", stiffness) && law.reset(state_at(0.0, 0.0)));
    for (int k = 0; k < 500; ++k) {
      const Command& command = law.update(state_at(0.001 * k, 0.0), Reference(), 0.001);
      CHECK(command.status == Status::ok);
      CHECK(std::abs(command.torque[0] + stiffness * 0.001 * k) < 1e-9);
    }
  };
  std::thread first_thread(control, 3.0), second_thread(control, 7.0);
  first_thread.join();
  second_thread.join();
}

const std::map<std::string, std::function<void()>> kCases{
    {"a_users_class_controls", a_users_class_controls},
    {"gains_change_between_updates", gains_change_between_updates},
    {"a_gain_set_while_another_is_refused_is_not_lost",
     a_gain_set_while_another_is_refused_is_not_lost},
    {"an_exception_holds_gravity",
     [] { an_exception_holds_gravity("users_own.RaisesBeyondOne", "in update\n    state.v[17]"); }},
    {"numbers_that_are_not_finite_hold_gravity",
     [] {
       an_exception_holds_gravity("users_own.NoNumberBeyondOne",
                                  "returned a number that is not finite");
     }},
    {"an_invalid_state_is_held", an_invalid_state_is_held},
    {"a_late_answer_is_discarded_and_gravity_held", a_late_answer_is_discarded_and_gravity_held},
    {"missed_updates_are_reported_to_the_law", missed_updates_are_reported_to_the_law},
    {"no_answer_is_ever_that_to_another_state", no_answer_is_ever_that_to_another_state},
    {"the_caller_never_waits_for_the_gil", the_caller_never_waits_for_the_gil},
    {"a_hanging_controller_does_not_block_its_owner",
     a_hanging_controller_does_not_block_its_owner},
    {"mistakes_are_reported_in_one_sentence", mistakes_are_reported_in_one_sentence},
    {"loading_many_times_leaves_nothing_behind", loading_many_times_leaves_nothing_behind},
    {"two_controllers_work_side_by_side", two_controllers_work_side_by_side},
};

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc > 1);
  for (int k = 1; k < argc; ++k) {
    std::printf("%s\n", argv[k]);
    std::fflush(stdout);
    CHECK(kCases.count(argv[k]) == 1);
    kCases.at(argv[k])();
  }
  return 0;
}
