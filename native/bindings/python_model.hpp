// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
