// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
