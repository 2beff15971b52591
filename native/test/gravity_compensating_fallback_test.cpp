// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What holds the robot while its Python controller does not answer: right where the robot is by
// then.
#include "vms_ph_native/gravity_compensating_fallback.hpp"

#include <cmath>

#include "arm.hpp"
#include "check.hpp"

namespace {

using namespace vms_ph;

PythonRobot arm() {
  PythonRobot robot;
  robot.urdf = kArm;
  return robot;
}

RobotState state(double shoulder, double elbow, double shoulder_rate = 0.0) {
  return {Eigen::Vector2d(shoulder, elbow), Eigen::Vector2d(shoulder_rate, 0.0)};
}

// By hand: both links are a metre long, their masses half way.
Eigen::Vector2d weight(const RobotState& state) {
  const double elbow_torque = 9.81 * 0.5 * std::sin(state.q[0] + state.q[1]);
  return {9.81 * 2.0 * std::sin(state.q[0]) + elbow_torque, elbow_torque};
}

// By hand, with the elbow straight: about the shoulder, and its part at the elbow.
const Eigen::Vector2d kInertia(0.02 + 2.0 * 0.25 + 0.01 + 1.0 * 2.25, 0.01 + 1.0 * 0.75);

double distance(const Eigen::VectorXd& torque, const Eigen::Vector2d& expected_torque) {
  return (torque - expected_torque).cwiseAbs().maxCoeff();
}

}  // namespace

int main() {
  PythonOptions options;
  options.folders = {VMS_PH_TEST_CONTROLLERS};
  options.period = 20.0;
  const Model model = Model::from_urdf(kArm, Base::fixed);
  auto spring = std::make_unique<PythonController>("users_own.Spring", arm(), options);
  PythonController& law = *spring;
  GravityCompensatingFallback fallback(model, std::move(spring));
  CHECK(fallback.gains().size() == 4 && fallback.set_gain("damping", 0.0));
  CHECK(!fallback.set_gain("sideways", 1.0));

  // Python's own answers pass untouched.
  CHECK(fallback.reset(state(0.1, 0.0)));
  const Command& command = fallback.update(state(0.4, 0.0), Reference(), 0.01);
  CHECK(command.status == Status::ok && std::abs(command.torque[0] + 10.0 * 0.3) < 1e-12);
  const double nan = std::nan("");
  const Command& held_at_nan = fallback.update(state(nan, 0.0), Reference(), 0.01);
  CHECK(held_at_nan.status == Status::holding &&
        distance(held_at_nan.torque, weight(state(0.4, 0.0))) < 1e-12);

  // It hangs: weight is that of the present posture, not of the one it last saw; motion is braked.
  fallback.set_gain("nap", 60.0);
  law.set_period(0.002);
  for (const double shoulder : {0.4, 1.2, 3.0, -2.0}) {
    const Command& held_command = fallback.update(state(shoulder, 0.3), Reference(), 0.001);
    CHECK(held_command.status == Status::holding && std::string(held_command.reason).size() > 0);
    CHECK(distance(held_command.torque, weight(state(shoulder, 0.3))) < 1e-12);
  }
  const RobotState swinging_state = state(0.5, 0.0, 0.2);
  // The damping of 10/s as it is stable when held for a millisecond, with a sample of delay.
  const Eigen::Vector2d brake = -10.0 / 1.03 * 0.2 * kInertia;
  CHECK(distance(fallback.update(swinging_state, Reference(), 0.001).torque,
                 weight(swinging_state) + brake) < 1e-12);

  // Within what the joints can give, and with what is no state as the law itself does.
  const auto& fast_command = fallback.update(state(0.5, 0.0, 9.0), Reference(), 0.001);
  CHECK(fast_command.torque[0] == -100.0);
  CHECK(fallback.update(state(nan, 0.0), Reference(), 0.001).torque.allFinite());

  // A model with other joints than the law has is refused.
  const Model shorter_model = Model::from_urdf(kArm, Base::fixed, "", {"elbow"});
  try {
    GravityCompensatingFallback fallback_of_other(
        shorter_model, std::make_unique<PythonController>("users_own.Spring", arm(), options));
  } catch (const ModelError& error) {
    CHECK_HAS(error.what(), "Python finds other joints");
    return 0;
  }
  CHECK(!"refused");
}
