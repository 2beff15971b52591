// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The guard of the native laws.
#include "vms_ph_native/guard.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "laws.hpp"
#include "vms_ph_native/se3.hpp"

namespace py = pybind11;
using vms_ph::Guard;
using Vector = Eigen::VectorXd;

namespace {

vms_ph::PlausibilityBounds bounds_of(const py::dict& given) {
  vms_ph::PlausibilityBounds bounds;
#define VMS_PH_FIELD(name, initial, least, most) \
  if (given.contains(#name)) bounds.name = py::cast<double>(given[#name]);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return bounds;
}

std::unique_ptr<Guard> make_guard(const vms_ph::Model& model, const py::dict& bounds,
                                  const std::optional<vms_ph::Allocation>& allocation,
                                  bool base_actuated, const std::string& law,
                                  const py::dict& wheels,
                                  const std::optional<double>& payload_rate) {
  auto made = vms_ph::law_of(law, model, allocation, base_actuated, wheels, payload_rate);
  return std::make_unique<Guard>(model, std::move(made), bounds_of(bounds), allocation,
                                 base_actuated);
}

/// A vector, or one without entries, which no robot has, for what is none.
Eigen::Map<const Vector> vector_of(const vms_ph::Array& array) {
  return {array.data(), array.ndim() == 1 ? array.size() : 0};
}

}  // namespace

void bind_guard(py::module_& module) {
  module.attr("laws") = vms_ph::law_names();
  py::dict defaults;
#define VMS_PH_FIELD(name, initial, least, most) \
  defaults[#name] = py::make_tuple(initial, least, most);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  module.attr("plausibility_bounds") = defaults;
  using vms_ph::StatePlausibility;
  py::class_<StatePlausibility>(module, "StatePlausibility",
                                "See vms_ph_controllers.safety.plausibility.")
      .def(py::init([](const vms_ph::Model& model, const py::dict& bounds) {
             return std::make_unique<StatePlausibility>(model, bounds_of(bounds));
           }),
           py::keep_alive<1, 2>(), py::arg("model"), py::arg("bounds"))
      .def(
          "restart",
          [](StatePlausibility& self, const Vector& q, const Vector& v) { self.restart(q, v); },
          py::arg("q"), py::arg("v"))
      .def(
          "judge",
          [](StatePlausibility& self, const vms_ph::Array& q, const vms_ph::Array& v,
             double dt) -> py::object {
            const vms_ph::Judgement& found = self.judge(vector_of(q), vector_of(v), dt);
            if (!found.holds() && !found.restarts) return py::none();
            return py::make_tuple(found.reason, Vector(found.q), Vector(found.v), found.restarts);
          },
          py::arg("q"), py::arg("v"), py::arg("dt"),
          "Return None where the law may act, else reason, q, v and whether it restarts.");
  py::class_<Guard>(module, "Guard",
                    "See vms_ph_controllers.safety.guard; of a law by its name, see `laws`.")
      .def(py::init(&make_guard), py::keep_alive<1, 2>(), py::arg("model"),
           py::arg("bounds") = py::dict(), py::arg("allocation") = py::none(),
           py::arg("base_actuated") = true, py::arg("law") = "", py::arg("wheels") = py::dict(),
           py::arg("payload_rate") = py::none())
      .def("carry", &Guard::carry, py::arg("mass"), py::arg("moment"), py::arg("deviation"))
      .def("set_gain", &Guard::set_gain, py::arg("name"), py::arg("value"))
      .def(
          "reset",
          [](Guard& guard, const Vector& q, const Vector& v) { return guard.reset({q, v}); },
          py::arg("q"), py::arg("v"))
      .def(
          "update",
          [](Guard& guard, const Vector& q, const Vector& v,
             const std::optional<Eigen::Vector3d>& position,
             const std::optional<Eigen::Vector3d>& velocity,
             const std::optional<Eigen::Matrix4d>& pose, const std::optional<vms_ph::Twist>& twist,
             const std::optional<Vector>& joints, double dt,
             const std::optional<vms_ph::Twist>& wrench) -> vms_ph::Command {
            vms_ph::Reference reference{position, velocity,           pose,  twist,
                                        {},       joints.has_value(), wrench};
            if (joints) reference.joints = *joints;
            return guard.update({q, v}, reference, dt);
          },
          py::arg("q"), py::arg("v"), py::arg("position"), py::arg("velocity"), py::arg("pose"),
          py::arg("twist"), py::arg("joints"), py::arg("dt"), py::arg("wrench") = py::none());
}
