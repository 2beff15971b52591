// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
  int per = 1;                      ///< units of work in an update; times are per unit
};

/// What a file of this folder has to time on a robot; nothing for one it is not for.
using Contenders = std::vector<Contender>;
Contenders closed_loop(const Model& model);
Contenders dynamics(const Model& model);
Contenders laws(const Model& model);

}  // namespace vms_ph
