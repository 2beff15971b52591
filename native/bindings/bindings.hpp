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
