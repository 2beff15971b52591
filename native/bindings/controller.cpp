// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What every controller gives: its command with the energy, and its gains.
#include "vms_ph_native/controller.hpp"

#include <iterator>
#include <utility>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace vms_ph {

void bind_controller(py::module_& module) {
  py::class_<ControlEnergy> energy(module, "ControlEnergy",
                                   "See vms_ph_controllers.ControlEnergy.");
  py::list names;
  for (const auto& field : kControlEnergyFields) {
    energy.def_readonly(field.name, field.value);
    names.append(field.name);
  }
  energy.attr("fields") = py::tuple(names);
  py::class_<Command>(module, "Command", "See vms_ph_controllers.Command; status is a number.")
      .def_property_readonly("wrench_base", [](const Command& c) { return c.wrench_base; })
      .def_property_readonly("torque", [](const Command& c) { return c.torque; })
      .def_property_readonly("energy", [](const Command& c) { return c.energy; })
      .def_property_readonly("status", [](const Command& c) { return static_cast<int>(c.status); })
      .def_property_readonly("reason", [](const Command& c) { return std::string(c.reason); })
      .def_property_readonly(
          "parts",
          [](const Command& c) {
            py::tuple energies(std::size(kControlEnergyFields));
            for (std::size_t i = 0; i < energies.size(); ++i) {
              energies[i] = c.energy.*kControlEnergyFields[i].value;
            }
            return py::make_tuple(c.wrench_base, c.torque, std::move(energies),
                                  static_cast<int>(c.status), c.reason, c.task_error,
                                  c.smallest_singular_value, c.authority);
          },
          "All fields of vms_ph_controllers.Command in their order, the energies as a tuple.")
      .def_readonly("task_error", &Command::task_error)
      .def_readonly("smallest_singular_value", &Command::smallest_singular_value)
      .def_readonly("authority", &Command::authority);
  py::class_<Gain>(module, "Gain", "A number that a user can set, with its bounds.")
      .def_readonly("name", &Gain::name)
      .def_readonly("description", &Gain::description)
      .def_readonly("value", &Gain::value)
      .def_readonly("low", &Gain::low)
      .def_readonly("high", &Gain::high)
      .def_readonly("initial", &Gain::initial)
      .def_readonly("is_switch", &Gain::is_switch);
}

}  // namespace vms_ph
