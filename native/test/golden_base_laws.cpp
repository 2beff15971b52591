// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The law says what the Python one said when the golden data were written.
#include "base_law_run.hpp"
#include "energy_numbers.hpp"

using vms_ph::golden::BaseLawRun;
using vms_ph::golden::Comparison;
using vms_ph::golden::Line;
using vms_ph::golden::Step;

namespace {

void compare(const vms_ph::Command& told, const Line& line, Comparison& comparison) {
  if (line.key == "status") {
    comparison.words(line, std::to_string(static_cast<int>(told.status)));
  } else if (line.key == "reason") {
    comparison.words(line, told.reason);
  } else if (line.key == "wrench_base") {
    comparison.numbers(line, told.wrench_base);
  } else if (line.key == "torque") {
    comparison.numbers(line, told.torque);
  } else if (line.key == "energy") {
    comparison.numbers(line, vms_ph::golden::numbers(told.energy));
  } else if (line.key == "rest") {
    comparison.numbers(
        line, Eigen::Vector3d(told.task_error, told.smallest_singular_value, told.authority));
  } else {
    comparison.differs(line, "not known");
  }
}

bool follows(const std::string& folder, const std::string& file) {
  BaseLawRun run(folder, file);
  Comparison comparison(file);
  for (const Step& step : run.steps()) {
    bool taken = true;
    const vms_ph::Command* told = run.apply(step, taken);
    if (step.kind == Step::Kind::gain && !taken) comparison.differs({"gain", step.gain}, "refused");
    for (const Line& line : step.expected) {
      if (told) compare(*told, line, comparison);
      if (line.key == "taken") comparison.words(line, taken ? "1" : "0");
    }
  }
  return comparison.passed();
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  const auto files = vms_ph::golden::base_law_files(folder);
  bool passed = !files.empty();
  for (const auto& file : files) passed = follows(folder, file) && passed;
  return passed ? 0 : 1;
}
