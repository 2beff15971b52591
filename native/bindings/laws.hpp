// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
