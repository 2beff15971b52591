// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Times every contender on a robot, and prints one line for each, tabs between: its name, then
// median, lower and upper quartile, 99th percentile, 99.9th, and the longest, in ns.
//
//   vms_ph_benchmark FILE.urdf fixed|planar|floating END_EFFECTOR UPDATES laws|terms
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "contender.hpp"

namespace {

using Clock = std::chrono::steady_clock;

// Updates of one contender before it is the turn of the next: load of the machine affects all, and
// each finds its own data in the caches.
constexpr int kBatch = 100;

void report(const vms_ph::Contender& contender, std::vector<double>& durations) {
  std::sort(durations.begin(), durations.end());
  std::printf("%s", contender.name.c_str());
  for (const double quantile : {0.5, 0.25, 0.75, 0.99, 0.999, 1.0}) {
    const double rank = std::ceil(quantile * static_cast<double>(durations.size())) - 1.0;
    std::printf("\t%.0f",
                durations[static_cast<std::size_t>(std::max(0.0, rank))] / contender.work_units);
  }
  std::printf("\n");
}

void time(const vms_ph::Contenders& contenders, int updates) {
  std::vector<std::vector<double>> durations(contenders.size());
  for (int begin = -kBatch; begin < updates; begin += kBatch) {  // the first turn fills the caches
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      for (int k = begin; k < std::min(begin + kBatch, updates); ++k) {
        const auto start = Clock::now();
        contenders[i].update(std::max(0, k));
        const std::chrono::duration<double, std::nano> duration = Clock::now() - start;
        if (k >= 0) durations[i].push_back(duration.count());
      }
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) report(contenders[i], durations[i]);
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
  time(std::string(args[5]) == "terms" ? vms_ph::dynamics(model) : vms_ph::laws(model), updates);
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
