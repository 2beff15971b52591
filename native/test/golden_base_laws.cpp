// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The law says what the Python one said when the golden data were written.
#include "base_law_run.hpp"
#include "core_test.hpp"
#include "energy_numbers.hpp"

namespace golden_base_laws {

using vms_ph::golden::BaseLawRun;
using vms_ph::golden::Comparison;
using vms_ph::golden::Line;
using vms_ph::golden::Step;

void compare(const vms_ph::Command& command, const Line& line, Comparison& comparison) {
  if (line.key == "status") {
    comparison.words(line, std::to_string(static_cast<int>(command.status)));
  } else if (line.key == "reason") {
    comparison.words(line, command.reason);
  } else if (line.key == "wrench_base") {
    comparison.numbers(line, command.wrench_base);
  } else if (line.key == "torque") {
    comparison.numbers(line, command.torque);
  } else if (line.key == "energy") {
    comparison.numbers(line, vms_ph::golden::numbers(command.energy));
  } else if (line.key == "rest") {
    comparison.numbers(line, Eigen::Vector3d(command.task_error, command.smallest_singular_value,
                                             command.authority));
  } else {
    comparison.differs(line, "not known");
  }
}

bool matches(const std::string& folder, const std::string& file) {
  BaseLawRun run(folder, file);
  Comparison comparison(file);
  for (const Step& step : run.steps()) {
    bool is_accepted = true;
    const vms_ph::Command* command = run.apply(step, is_accepted);
    if (step.kind == Step::Kind::gain && !is_accepted)
      comparison.differs({"gain", step.gain}, "refused");
    for (const Line& line : step.expected_lines) {
      if (command) compare(*command, line, comparison);
      if (line.key == "taken") comparison.words(line, is_accepted ? "1" : "0");
    }
  }
  return comparison.passed();
}

TEST(golden_base_laws) {
  const auto files = vms_ph::golden::base_law_files(folder);
  bool passed = !files.empty();
  for (const auto& file : files) passed = matches(folder, file) && passed;
  CHECK(passed);
}

}  // namespace golden_base_laws
