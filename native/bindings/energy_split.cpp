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

// The energies of a state and how they divide.
#include "vms_ph_native/energy_split.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>

#include "bindings.hpp"

namespace py = pybind11;

void bind_energy_split(py::module_& module) {
  module.def("energies",
             [](const vms_ph::Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
               const vms_ph::RobotState state{q, v};
               if (!state.is_usable(model))
                 throw vms_ph::ModelError("(q, v) is no state of this robot");
               vms_ph::EnergySplit split(model);
               const auto& e = split.of(state);
               py::dict found;
               found["kinetic"] = e.kinetic;
               found["potential"] = e.potential;
               found["kinetic_base"] = e.kinetic_base;
               found["kinetic_shape"] = e.kinetic_shape;
               found["kinetic_task"] = e.kinetic_task;
               found["kinetic_null"] = e.kinetic_null;
               return found;
             });
}
