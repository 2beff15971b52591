// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What a plugin does that hosts a controller; see plugin_loader.c.
#include <string>

#include "arm.hpp"
#include "check.hpp"
#include "vms_ph_native/python_controller.hpp"

extern "C" void control() {
  vms_ph::PythonRobot robot;
  robot.urdf = kArm;
  vms_ph::PythonOptions options;
  options.period = 20.0;
  vms_ph::PythonController law("vms_ph_controllers.CartesianImpedance", robot, options);
  const vms_ph::RobotState state{Eigen::Vector2d(0.3, 0.4), Eigen::Vector2d::Zero()};
  CHECK(law.reset(state));
  for (int k = 0; k < 10; ++k) {
    CHECK(law.update(state, vms_ph::Reference(), 0.001).status != vms_ph::Status::holding);
  }
  try {
    vms_ph::PythonController("no.Controller", robot, options);
    CHECK(!"refused");
  } catch (const vms_ph::PythonError& error) {
    CHECK_HAS(error.what(), "there is no controller 'no.Controller'");
  }
}
