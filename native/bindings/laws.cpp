// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The laws by their names, and the rotors of a base.
#include "vms_ph_native/laws.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <utility>

#include "bindings.hpp"
#include "laws.hpp"
#include "vms_ph_native/payload_compensation.hpp"
#include "vms_ph_native/se3.hpp"

namespace py = pybind11;
using vms_ph::Allocation;
using vms_ph::Rotor;
using Law = vms_ph::Controller;
using Vector = Eigen::VectorXd;

namespace {

std::unique_ptr<Law> make_law(const std::string& name, const vms_ph::Model& model,
                              const py::dict& gains, const std::optional<Allocation>& allocation,
                              bool base_actuated, const py::dict& wheels,
                              const std::optional<double>& payload_rate) {
  auto law = vms_ph::law_of(name, model, allocation, base_actuated, wheels, payload_rate);
  vms_ph::set_gains(*law, gains);
  return law;
}

}  // namespace

void vms_ph::set_gains(Controller& law, const py::dict& gains) {
  for (const auto& [name, value] : gains) {
    if (!law.set_gain(py::cast<std::string>(name), py::cast<double>(value))) {
      throw ModelError("no such gain, or out of its bounds: " + py::cast<std::string>(name) +
                       " = " + py::cast<std::string>(py::str(value)));
    }
  }
}

std::unique_ptr<Law> vms_ph::law_of(const std::string& name, const Model& model,
                                    const std::optional<Allocation>& allocation, bool base_actuated,
                                    const py::dict& wheels,
                                    const std::optional<double>& payload_rate) {
  auto law = make_law(name, model, allocation, base_actuated, wheels_of(wheels));
  if (!payload_rate) return law;
  return std::make_unique<PayloadCompensation>(model, std::move(law), *payload_rate);
}

std::vector<vms_ph::Wheel> vms_ph::wheels_of(const py::dict& radii) {
  std::vector<Wheel> wheels;
  for (const auto& [joint, radius] : radii) {
    wheels.push_back({py::cast<std::string>(joint), py::cast<double>(radius)});
  }
  return wheels;
}

void bind_laws(py::module_& module) {
  py::class_<Rotor>(module, "Rotor", "See vms_ph_dynamics.actuation.allocation.Rotor.")
      .def(py::init([](const Eigen::Vector3d& position, const Eigen::Vector3d& axis,
                       double drag_ratio, double lower,
                       double upper) { return Rotor{position, axis, drag_ratio, lower, upper}; }),
           py::arg("position"), py::arg("axis"), py::arg("drag_ratio") = 0.0,
           py::arg("lower") = Rotor{}.lower, py::arg("upper") = Rotor{}.upper);
  py::class_<Allocation>(module, "Allocation", "See vms_ph_dynamics.actuation.allocation.Allocation.")
      .def(py::init([](const std::vector<Rotor>& rotors, const std::string& base) {
             using vms_ph::Base;
             return Allocation(rotors, base == "floating" ? Base::floating
                                       : base == "planar" ? Base::planar
                                                          : Base::fixed);
           }),
           py::arg("rotors"), py::arg("base") = "floating")
      .def_static(
          "of_matrix",
          [](const Eigen::MatrixXd& matrix, const Vector& lower, const Vector& upper) {
            return Allocation(matrix, lower, upper);
          },
          py::arg("matrix"), py::arg("lower"), py::arg("upper"),
          "Take B itself, (6,m) or (3,m), and the limits of the thrusts, (m,) each, N.")
      .def_property_readonly("matrix", &Allocation::matrix)
      .def_property_readonly("lower", &Allocation::lower)
      .def_property_readonly("upper", &Allocation::upper);
  py::class_<Law>(module, "Law", "A law by its name in `laws`.")
      .def(py::init(&make_law), py::keep_alive<1, 3>(), py::arg("name"), py::arg("model"),
           py::arg("gains") = py::dict(), py::arg("allocation") = py::none(),
           py::arg("base_actuated") = true, py::arg("wheels") = py::dict(),
           py::arg("payload_rate") = py::none(),
           "On wheels: the radii, m, by the names of the joints that turn them.")
      .def(
          "reset", [](Law& law, const Vector& q) { return law.reset({q, Vector()}); }, py::arg("q"),
          "Hold a configuration; False for what is none of the robot.")
      .def(
          "update",
          [](Law& law, const Vector& q, const Vector& v, const std::optional<Eigen::Matrix4d>& pose,
             const std::optional<vms_ph::Twist>& twist, const std::optional<Vector>& joints,
             double dt, const std::optional<Eigen::Vector3d>& position,
             const std::optional<Eigen::Vector3d>& velocity,
             const std::optional<vms_ph::Twist>& wrench) -> vms_ph::Command {
            vms_ph::Reference reference;
            reference.position = position;
            reference.velocity = velocity;
            reference.pose = pose;
            reference.twist = twist;
            reference.has_joints = joints.has_value();
            if (joints) reference.joints = *joints;
            reference.wrench = wrench;
            return law.update({q, v}, reference, dt);
          },
          py::arg("q"), py::arg("v"), py::arg("pose"), py::arg("twist"), py::arg("joints"),
          py::arg("dt"), py::arg("position") = py::none(), py::arg("velocity") = py::none(),
          py::arg("wrench") = py::none())
      .def(
          "resume", [](Law& law, const Vector& q) { return law.resume({q, Vector()}); },
          py::arg("q"), "Hold another configuration, with the energy that the law has.")
      .def("missed_updates", &Law::missed_updates,
           "Note that the safe output has acted since the last update.")
      .def("set_gain", &Law::set_gain, py::arg("name"), py::arg("value"))
      .def("carry", &Law::carry, py::arg("mass"), py::arg("moment"), py::arg("deviation"))
      .def("set_gains", &vms_ph::set_gains, py::arg("gains"))
      .def_property_readonly("gains", &Law::gains);
}
