// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Runs a controller over what the standard input says and prints what it gives, to be compared.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

#include "vms_ph_native/python_controller.hpp"

namespace {

using namespace vms_ph;

// Numbers as strtod reads them, infinite ones too; a line ends where its words do.
template <class Vector>
Vector read(std::istream& line, int size) {
  Vector values(size);
  std::string word;
  for (int k = 0; k < size && line >> word; ++k) values[k] = std::stod(word);
  return values;
}

Reference reference_in(std::istream& line, int n) {
  Reference reference;
  std::string word;
  while (line >> word) {
    if (word == "position") reference.position = read<Eigen::Vector3d>(line, 3);
    if (word == "velocity") reference.velocity = read<Eigen::Vector3d>(line, 3);
    if (word == "twist") reference.twist = read<Eigen::Matrix<double, 6, 1>>(line, 6);
    if (word == "wrench") reference.wrench = read<Eigen::Matrix<double, 6, 1>>(line, 6);
    if (word == "pose") {
      const auto rows = read<Eigen::Matrix<double, 16, 1>>(line, 16);
      reference.pose = Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(rows.data());
    }
    if (word == "joints") {
      reference.joints = read<Eigen::VectorXd>(line, n);
      reference.has_joints = true;
    }
  }
  return reference;
}

void print(const Command& command) {
  std::printf("%d", static_cast<int>(command.status));
  for (const auto& field : kControlEnergyFields) std::printf(" %.17g", command.energy.*field.value);
  for (const double value :
       {command.task_error, command.smallest_singular_value, command.authority}) {
    std::printf(" %.17g", value);
  }
  for (const double value : command.wrench_base) std::printf(" %.17g", value);
  for (const double value : command.torque) std::printf(" %.17g", value);
  std::printf("\n%s\n", command.reason);
}

}  // namespace

int main() {
  PythonRobot robot;
  PythonOptions options;
  options.period = 60.0;
  std::string kind, text, word;
  std::unique_ptr<PythonController> law;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    line >> word;
    if (word == "kind") line >> kind;
    if (word == "base") line >> robot.base;
    if (word == "end_effector") line >> robot.end_effector;
    if (word == "locked") line >> robot.locked_joints.emplace_back();
    if (word == "gravity") robot.gravity = read<Eigen::Vector3d>(line, 3);
    if (word == "urdf") {
      line >> word;
      std::ifstream file(word);
      robot.urdf.assign(std::istreambuf_iterator<char>(file), {});
    }
    if (word == "allocation") {
      int m = 0;
      line >> m;
      const auto columns = read<Eigen::VectorXd>(line, 6 * m);
      robot.allocation.matrix = columns.reshaped(6, m);
      robot.allocation.lower_limits = read<Eigen::VectorXd>(line, m);
      robot.allocation.upper_limits = read<Eigen::VectorXd>(line, m);
    }
    if (word == "begin") law = std::make_unique<PythonController>(kind, robot, options);
    if (word == "gain") {
      line >> word;
      if (!law->set_gain(word, read<Eigen::Matrix<double, 1, 1>>(line, 1)[0])) return 1;
    }
    if (word == "reset" || word == "update") {
      const bool begins = word == "reset";
      const RobotState state{read<Eigen::VectorXd>(line, law->nq()),
                             read<Eigen::VectorXd>(line, law->nv())};
      if (begins) {
        if (!law->reset(state)) return 1;
      } else {
        const double dt = read<Eigen::Matrix<double, 1, 1>>(line, 1)[0];
        print(law->update(state, reference_in(line, law->n()), dt));
      }
    }
  }
  std::fputs(law->log().c_str(), stderr);
  return law->failed_updates() + law->late_updates() == 0 ? 0 : 1;
}
