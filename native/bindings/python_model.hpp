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

// The robot of a pinocchio.Model of Python.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include <pybind11/pybind11.h>

#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// @param given   a pinocchio.Model of Python: it may be of another version, since it is read by
///                its attributes.
/// @param mimics  name, name of the other, multiplier and offset of the joints that mimic others.
/// @throws ModelError  it is none, or the core does not cover the robot.
Model model_of(const pybind11::object& given, const std::string& end_effector,
               const std::vector<std::tuple<std::string, std::string, double, double>>& mimics);

}  // namespace vms_ph
