// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the Python module, one file each.
#pragma once

#include <pybind11/pybind11.h>

void bind_batch(pybind11::module_& module);
void bind_closed_loop(pybind11::module_& module);
void bind_controller(pybind11::module_& module);
void bind_dynamics(pybind11::module_& module);
void bind_energy_guard(pybind11::module_& module);
void bind_energy_split(pybind11::module_& module);
void bind_evaluation(pybind11::module_& module);
void bind_guard(pybind11::module_& module);
void bind_held_impedance(pybind11::module_& module);
void bind_integrators(pybind11::module_& module);
void bind_laws(pybind11::module_& module);
void bind_observers(pybind11::module_& module);
void bind_task_space(pybind11::module_& module);
