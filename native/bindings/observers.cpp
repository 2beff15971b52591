// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The observers of external wrenches, contacts and payloads.
#include "vms_ph_native/observers/robot_observers.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>

#include "bindings.hpp"

namespace py = pybind11;
using vms_ph::RobotObservers;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

namespace {

std::unique_ptr<RobotObservers> make(const vms_ph::Model& model, const py::dict& noise,
                                     bool decoupled, bool friction, double bandwidth,
                                     double false_alarms, int windows, double wind_force,
                                     double wind_moment) {
  vms_ph::ObserverOptions options;
#define VMS_PH_FIELD(name, initial) \
  if (noise.contains(#name)) options.noise.name = py::cast<double>(noise[#name]);
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  options.decoupled = decoupled;
  options.friction = friction;
  options.bandwidth = bandwidth;
  options.false_alarms = false_alarms;
  options.windows = windows;
  options.wind_force = wind_force;
  options.wind_moment = wind_moment;
  return std::make_unique<RobotObservers>(model, options);
}

py::dict noise() {
  py::dict result;
#define VMS_PH_FIELD(name, initial) result[#name] = initial;
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return result;
}

py::dict contact(const RobotObservers& observers) {
  const vms_ph::ContactReport& found = observers.contact();
  py::dict result;
  result["contact"] = found.contact;
  result["began"] = found.began;
#define VMS_PH_FIELD(name) result[#name] = found.name;
  VMS_PH_CONTACT_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  result["joint"] = found.joint;
  return result;
}

py::dict payload(const RobotObservers& observers) {
  const vms_ph::Payload& found = observers.payload();
  py::dict result;
  result["mass"] = found.mass;
  result["moment"] = Vector(found.moment);
  result["covariance"] = Matrix(found.covariance);
  result["changed"] = found.changed;
  result["mass_deviation"] = found.mass_deviation();
  result["centre"] = Vector(found.centre());
  result["centre_deviation"] = Vector(found.centre_deviation());
  return result;
}

}  // namespace

void bind_observers(py::module_& module) {
  module.attr("observer_noise") = noise();
  py::class_<RobotObservers>(module, "RobotObservers",
                             "All observers of vms_ph_controllers.observers, of the same samples.")
      .def(py::init(&make), py::keep_alive<1, 2>(), py::arg("model"), py::arg("noise") = py::dict(),
           py::arg("decoupled") = false, py::arg("friction") = false, py::arg("bandwidth") = 30.0,
           py::arg("false_alarms") = 1.0, py::arg("windows") = 6, py::arg("wind_force") = 10.0,
           py::arg("wind_moment") = 1.0)
      .def("restart", &RobotObservers::restart)
      .def("add", [](RobotObservers& observers, const Vector& q, const Vector& v,
                     const Vector& effort, double dt) { return observers.add(q, v, effort, dt); })
      .def("expect_change",
           [](RobotObservers& observers) { observers.payload_observer().expect_change(); })
      .def_property_readonly("force",
                             [](const RobotObservers& o) { return Vector(o.force().value()); })
      .def_property_readonly("force_covariance",
                             [](const RobotObservers& o) { return Matrix(o.force().covariance()); })
      .def_property_readonly("wrench",
                             [](const RobotObservers& o) { return Vector(o.wrench().wrench()); })
      .def_property_readonly(
          "covariance", [](const RobotObservers& o) { return Matrix(o.wrench().covariance()); })
      .def_property_readonly("contact", &contact)
      .def_property_readonly("payload", &payload);
}
