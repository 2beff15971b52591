// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Times every contender on a robot, and prints a line of durations for each.
//
//   vms_ph_benchmark FILE.urdf fixed|planar|floating END_EFFECTOR UPDATES laws|terms
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "contender.hpp"
#include "vms_ph_native/model.hpp"

namespace {

using Clock = std::chrono::steady_clock;

// Updates of one contender before it is the turn of the next: load of the machine affects all, and
// each finds its own data in the caches.
constexpr int kBatch = 100;

void time_and_print(const vms_ph::Contenders& contenders, int updates) {
  std::vector<std::vector<double>> durations(contenders.size());
  for (int first = -kBatch; first < updates; first += kBatch) {  // the first turn fills the caches
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      for (int k = first; k < std::min(first + kBatch, updates); ++k) {
        const auto start = Clock::now();
        contenders[i].update(std::max(0, k));
        const std::chrono::duration<double, std::nano> duration = Clock::now() - start;
        if (k >= 0) durations[i].push_back(duration.count());
      }
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    vms_ph::print_durations(contenders[i].name, durations[i], contenders[i].work_units);
    std::printf("\n");
  }
}

int run(char** args) {
  const std::string base_name = args[2];
  std::ifstream file(args[1]);
  const std::string xml{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto base = base_name == "fixed"    ? vms_ph::Base::fixed
                    : base_name == "planar" ? vms_ph::Base::planar
                                            : vms_ph::Base::floating;
  const auto model = vms_ph::Model::from_urdf(xml, base, args[3]);
  const int updates = std::max(10, std::atoi(args[4]));
  time_and_print(std::string(args[5]) == "terms" ? vms_ph::dynamics(model) : vms_ph::laws(model),
                 updates);
  return 0;
}

}  // namespace

int main(int count, char** args) {
  if (count != 6) {
    std::fprintf(stderr,
                 "usage: %s FILE.urdf fixed|planar|floating END_EFFECTOR UPDATES laws|terms\n",
                 args[0]);
    return 2;
  }
  try {
    return run(args);
  } catch (const vms_ph::ModelError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
