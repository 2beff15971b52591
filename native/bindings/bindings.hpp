// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the Python module, one file each.
#pragma once

#include <vector>

#include <pybind11/pybind11.h>

#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// The wheels with radii, m, by the names of their joints.
std::vector<Wheel> wheels_of(const pybind11::dict& radii);

}  // namespace vms_ph

void bind_batch(pybind11::module_& module);
void bind_closed_loop(pybind11::module_& module);
void bind_controller(pybind11::module_& module);
void bind_dynamics(pybind11::module_& module);
void bind_energy_guard(pybind11::module_& module);
void bind_energy_split(pybind11::module_& module);
void bind_evaluation(pybind11::module_& module);
void bind_sampled_algebra(pybind11::module_& module);
void bind_integrators(pybind11::module_& module);
void bind_laws(pybind11::module_& module);
void bind_observers(pybind11::module_& module);
