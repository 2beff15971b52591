// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// One update of the law in C++, behind the guard that checks states and efforts.
//
// Usage: spring ROBOT.urdf [JOINT TO LOCK ...]; a robot on a fixed base. Prints the torques one
// millisecond after the reset, when every joint moves at 0.2 rad/s.
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>

#include "spring.hpp"
#include "vms_ph_native/guard.hpp"

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: spring ROBOT.urdf [JOINT TO LOCK ...]\n", stderr);
    return 2;
  }
  std::stringstream xml;
  xml << std::ifstream(words[1]).rdbuf();
  try {
    const auto model =
        vms_ph::Model::from_urdf(xml.str(), vms_ph::Base::fixed, "", {words + 2, words + count});
    vms_ph::Guard law(model, std::make_unique<Spring>(model));
    vms_ph::RobotState state{model.neutral_configuration(), Eigen::VectorXd::Zero(model.nv())};
    if (!law.reset(state)) return 1;
    state.q.array() += 2e-4;
    state.v.setConstant(0.2);
    const vms_ph::Command& command = law.update(state, {}, 1e-3);
    for (const double torque : command.torque) std::printf("%.17g\n", torque);
    std::fprintf(stderr, "status %d %s\n", static_cast<int>(command.status), command.reason);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spring: %s\n", error.what());
    return 1;
  }
}
