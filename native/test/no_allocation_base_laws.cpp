// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// No update of the law takes memory from the heap, nor a reset, nor a gain that changes.
#include "allocations.hpp"
#include "base_law_run.hpp"
#include "core_test.hpp"

namespace no_allocation_base_laws {

using vms_ph::golden::BaseLawRun;
using vms_ph::golden::Step;

const int kUpdates = updates(1000);

// What a golden file gives the law, again and again: it has moving references, empty tanks,
// saturated actuators, limits, resets, and states and references that are not finite.
bool takes_none(const std::string& folder, const std::string& file) {
  BaseLawRun run(folder, file);
  int update_count = 0, statuses[4] = {0, 0, 0, 0};
  const long initial_count = allocations();
  while (update_count < kUpdates) {
    for (const Step& step : run.steps()) {
      bool is_accepted = true;
      const vms_ph::Command* command = run.apply(step, is_accepted);
      if (!command || update_count == kUpdates) continue;
      ++update_count;
      ++statuses[static_cast<int>(command->status)];
    }
  }
  const long allocation_count = allocations() - initial_count;
  std::printf("%s: %ld in %d updates; ok %d, saturated %d, holding %d\n", file.c_str(),
              allocation_count, update_count, statuses[0], statuses[1], statuses[2]);
  return allocation_count == 0 && statuses[1] > 0 && statuses[2] > 0;
}

TEST(no_allocation_base_laws) {
  const long initial_count = allocations();
  const auto heap_vector = std::make_unique<Eigen::VectorXd>(64);
  CHECK(allocations() >= initial_count + 2 && heap_vector->size() == 64);  // the counting works
  const auto files = vms_ph::golden::base_law_files(folder);
  bool passed = !files.empty();
  for (const auto& file : files) passed = takes_none(folder, file) && passed;
  CHECK(passed);
}

}  // namespace no_allocation_base_laws
