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

// What the bindings of laws have in common.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/laws.hpp"

namespace vms_ph {

/// Set gains from a dictionary.
///
/// @throws ModelError  there is no such gain, or a value is out of its bounds.
void set_gains(Controller& law, const pybind11::dict& gains);

/// The wheels with radii, m, by the names of their joints.
/// A law by its name, with the weight of payloads where their `payload_rate`, kg/s, is given.
std::unique_ptr<Controller> law_of(const std::string& name, const Model& model,
                                   const std::optional<Allocation>& allocation, bool base_actuated,
                                   const pybind11::dict& wheels,
                                   const std::optional<double>& payload_rate);

std::vector<Wheel> wheels_of(const pybind11::dict& radii);

}  // namespace vms_ph
