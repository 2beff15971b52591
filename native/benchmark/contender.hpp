// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What is timed: one update of something.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vms_ph_native/model.hpp"

namespace vms_ph {

struct Contender {
  std::string name;
  std::function<void(int)> update;  ///< the k-th
  int work_units = 1;               ///< units of work in an update; times are per unit
};

/// What a file of this folder has to time on a robot; nothing for one it is not for.
using Contenders = std::vector<Contender>;
Contenders dynamics(const Model& model);
Contenders laws(const Model& model);

}  // namespace vms_ph
