// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energy guard.
#include "vms_ph_native/energy_guard/port_guard.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace vms_ph {
namespace {

void set(PortGuard& guard, const py::dict& fields) {
  for (const auto& [name, value] : fields) {
    if (!EnergyGuardSettings::table().set(guard.settings, py::cast<std::string>(name),
                                          py::cast<double>(value))) {
      throw ModelError("there is no setting '" + py::cast<std::string>(name) +
                       "' of an energy guard with this value");
    }
  }
}

std::unique_ptr<PortGuard> make_energy_guard(const Model& model, const py::dict& settings,
                                             int delay, bool effort_carries_weight,
                                             bool base_actuated, double period,
                                             const std::optional<Allocation>& allocation,
                                             const MaybeNumbers& weights) {
  EnergyGuardOptions options;
  options.delay = delay;
  options.effort_carries_weight = effort_carries_weight;
  options.base_actuated = base_actuated;
  options.period = period;
  options.allocation = allocation;
  if (weights) options.weights = weights->of_any_size();
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
  const Certificate record = guard.certificate();
  py::dict result;
#define VMS_PH_FIELD(name) result[#name] = record.name;
  VMS_PH_CERTIFICATE_COUNTS(VMS_PH_FIELD)
  VMS_PH_CERTIFICATE_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  result["verdict"] = record.verdict();
  result["first_loss"] = record.first_loss;
  return result;
}

}  // namespace

void bind_energy_guard(py::module_& module) {
  module.attr("energy_guard_settings") = settings();
  py::class_<GuardedEffort>(module, "GuardedEffort", "See vms_ph_controllers.guard.GuardedEffort.")
      .def_property_readonly("effort", [](const GuardedEffort& g) { return g.effort; })
      .def_property_readonly("status",
                             [](const GuardedEffort& g) { return static_cast<int>(g.status); })
      .def_property_readonly("reason", [](const GuardedEffort& g) { return std::string(g.reason); })
      .def_readonly("level", &GuardedEffort::level);
  py::class_<PortGuard>(module, "PortGuard", "See vms_ph_controllers.guard.PortGuard.")
      .def(py::init(&make_energy_guard), py::keep_alive<1, 2>(), py::arg("model"),
           py::arg("settings") = py::dict(), py::arg("delay") = 0,
           py::arg("effort_carries_weight") = true, py::arg("base_actuated") = true,
           py::arg("period") = 1e-3, py::arg("allocation") = py::none(),
           py::arg("weights") = py::none())
      .def("set", &set, py::arg("settings"))
      .def(
          "engage",
          [](PortGuard& guard, const Numbers& q, const Numbers& v, const MaybeNumbers& acting) {
            return guard.engage(q.of_any_size(), v.of_any_size(),
                                acting ? acting->of_any_size() : Eigen::VectorXd());
          },
          py::arg("q"), py::arg("v"), py::arg("acting") = py::none())
      .def(
          "update",
          [](PortGuard& guard, const Numbers& q, const Numbers& v, const Numbers& effort,
             double dt) -> const GuardedEffort& {
            return guard.update(q.of_any_size(), v.of_any_size(), effort.of_any_size(), dt);
          },
          py::return_value_policy::reference_internal)
      .def(
          "hold",
          [](PortGuard& guard, const std::string& why, double dt) -> const GuardedEffort& {
            return guard.hold(why.c_str(), dt);
          },
          py::return_value_policy::reference_internal)
      .def("refill", &PortGuard::refill)
      .def("drain", &PortGuard::drain)
      .def_property_readonly("certificate", &certificate);
}

}  // namespace vms_ph
