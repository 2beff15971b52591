// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What is timed: one update of something.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace vms_ph {

class Model;

struct Contender {
  std::string name;
  std::function<void(int)> update;  ///< the k-th
  int work_units = 1;               ///< units of work in an update; times are per unit
};

/// Print a name, then median, lower and upper quartile, 99th percentile, 99.9th, and the longest of
/// durations, ns, with tabs between; they are sorted.
inline void print_durations(const std::string& name, std::vector<double>& durations,
                            int work_units = 1) {
  std::sort(durations.begin(), durations.end());
  std::printf("%s", name.c_str());
  for (const double quantile : {0.5, 0.25, 0.75, 0.99, 0.999, 1.0}) {
    const double rank = std::ceil(quantile * static_cast<double>(durations.size())) - 1.0;
    std::printf("\t%.0f", durations[static_cast<std::size_t>(std::max(0.0, rank))] / work_units);
  }
}

/// What a file of this folder has to time on a robot; nothing for one it is not for.
using Contenders = std::vector<Contender>;
Contenders dynamics(const Model& model);
Contenders laws(const Model& model);

}  // namespace vms_ph
