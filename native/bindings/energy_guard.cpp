// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energy guard.
#include "vms_ph_native/energy_guard/port_guard.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"

namespace py = pybind11;
using vms_ph::EnergyGuardSettings;
using vms_ph::PortGuard;
using Vector = Eigen::VectorXd;

namespace {

void set(PortGuard& guard, const py::dict& fields) {
  for (const auto& [name, value] : fields) {
    if (!EnergyGuardSettings::table().set(guard.settings, py::cast<std::string>(name),
                                          py::cast<double>(value))) {
      throw vms_ph::ModelError("there is no setting '" + py::cast<std::string>(name) +
                               "' of an energy guard with this value");
    }
  }
}

std::unique_ptr<PortGuard> make_energy_guard(const vms_ph::Model& model, const py::dict& settings,
                                             int delay, bool effort_carries_weight,
                                             bool base_actuated, double period,
                                             const std::optional<vms_ph::Allocation>& allocation,
                                             const std::optional<Vector>& weights) {
  vms_ph::EnergyGuardOptions options;
  options.delay = delay;
  options.effort_carries_weight = effort_carries_weight;
  options.base_actuated = base_actuated;
  options.period = period;
  options.allocation = allocation;
  if (weights) options.weights = *weights;
  auto guard = std::make_unique<PortGuard>(model, EnergyGuardSettings(), options);
  set(*guard, settings);
  return guard;
}

py::dict settings() {
  py::dict result;
  for (const auto& row : EnergyGuardSettings::table().list(EnergyGuardSettings())) {
    result[row.name.c_str()] =
        py::make_tuple(row.initial, row.low, row.high, row.is_switch, row.description);
  }
  return result;
}

py::dict certificate(const PortGuard& guard) {
  const vms_ph::Certificate record = guard.certificate();
  py::dict result;
#define VMS_PH_FIELD(name) result[#name] = record.name;
  VMS_PH_CERTIFICATE_COUNTS(VMS_PH_FIELD)
  VMS_PH_CERTIFICATE_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  result["verdict"] = record.verdict();
  return result;
}

}  // namespace

void bind_energy_guard(py::module_& module) {
  module.attr("energy_guard_settings") = settings();
  py::class_<vms_ph::GuardedEffort>(module, "GuardedEffort",
                                    "See vms_ph_controllers.guard.GuardedEffort.")
      .def_property_readonly("effort",
                             [](const vms_ph::GuardedEffort& g) { return Vector(g.effort); })
      .def_property_readonly(
          "status", [](const vms_ph::GuardedEffort& g) { return static_cast<int>(g.status); })
      .def_property_readonly("reason",
                             [](const vms_ph::GuardedEffort& g) { return std::string(g.reason); })
      .def_readonly("level", &vms_ph::GuardedEffort::level);
  py::class_<PortGuard>(module, "PortGuard", "See vms_ph_controllers.guard.PortGuard.")
      .def(py::init(&make_energy_guard), py::keep_alive<1, 2>(), py::arg("model"),
           py::arg("settings") = py::dict(), py::arg("delay") = 0,
           py::arg("effort_carries_weight") = true, py::arg("base_actuated") = true,
           py::arg("period") = 1e-3, py::arg("allocation") = py::none(),
           py::arg("weights") = py::none())
      .def("set", &set, py::arg("settings"))
      .def(
          "engage",
          [](PortGuard& guard, const Vector& q, const Vector& v,
             const std::optional<Vector>& acting) {
            return guard.engage(q, v, acting ? *acting : Vector());
          },
          py::arg("q"), py::arg("v"), py::arg("acting") = py::none())
      .def(
          "update",
          [](PortGuard& guard, const Vector& q, const Vector& v, const Vector& effort,
             double dt) -> const vms_ph::GuardedEffort& { return guard.update(q, v, effort, dt); },
          py::return_value_policy::reference_internal)
      .def(
          "hold",
          [](PortGuard& guard, const std::string& why, double dt) -> const vms_ph::GuardedEffort& {
            return guard.hold(why.c_str(), dt);
          },
          py::return_value_policy::reference_internal)
      .def("refill", &PortGuard::refill)
      .def("drain", &PortGuard::drain)
      .def_property_readonly("certificate", &certificate);
}
