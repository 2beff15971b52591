// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Python module vms_ph_native.
#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "bindings.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/model.hpp"

namespace py = pybind11;
using vms_ph::Model;

namespace {

Model in_fluid(const Model& model, const py::list& bodies, double density) {
  vms_ph::Fluid fluid;
  fluid.density = density;
  const auto fill = [](const py::handle& from, double* to, Py_ssize_t count) {
    const auto numbers = py::reinterpret_borrow<py::sequence>(from);
    if (static_cast<Py_ssize_t>(numbers.size()) != count) {
      throw vms_ph::ModelError(
          "a body in a fluid has an added mass of 36 numbers, a centre of "
          "buoyancy of three and drags of six");
    }
    for (Py_ssize_t i = 0; i < count; ++i) to[i] = py::cast<double>(numbers[i]);
  };
  for (const auto& item : bodies) {
    const auto numbers = py::cast<py::tuple>(item);
    vms_ph::ImmersedBody body;
    body.link = py::cast<std::string>(numbers[0]);
    fill(numbers[1], body.added_mass.data(), 36);
    body.volume = py::cast<double>(numbers[2]);
    fill(numbers[3], body.centre_of_buoyancy.data(), 3);
    fill(numbers[4], body.linear_drag.data(), 6);
    fill(numbers[5], body.quadratic_drag.data(), 6);
    fluid.bodies.push_back(body);
  }
  return model.in_fluid(fluid);
}

#if PYBIND11_VERSION_HEX < 0x020C0000
/// Refuse a NumPy that this pybind11 does not know: it would call through functions that are gone.
void check_numpy() {
  const std::string version = py::str(py::module_::import("numpy").attr("__version__"));
  if (version.empty() || version.substr(0, 2) == "1.") return;
  const std::string problem =
      "vms_ph_native was built with pybind11 " + std::to_string(PYBIND11_VERSION_MAJOR) + "." +
      std::to_string(PYBIND11_VERSION_MINOR) + ", which needs NumPy 1; this is NumPy " + version +
      ". Build it with pybind11 2.12 or newer";
  throw py::import_error(problem);
}
#endif

}  // namespace

PYBIND11_MODULE(vms_ph_native, module) {
#if PYBIND11_VERSION_HEX < 0x020C0000
  check_numpy();
#endif
  module.doc() = "Controllers and integrators of vms_ph in C++.";
  py::register_exception<vms_ph::ModelError>(module, "ModelError", PyExc_ValueError);
  py::class_<Model, std::shared_ptr<Model>>(module, "Model",
                                            "The robot; see vms_ph_dynamics.VMSModel.")
      .def(py::init(&vms_ph::model_of), py::arg("pinocchio"), py::arg("end_effector") = "",
           py::arg("mimics") = py::list(),
           "Take a pinocchio.Model of Python, of any version, and the joints that mimic others: "
           "name, name of the other, multiplier and offset of each.")
      .def("in_fluid", &in_fluid, py::arg("bodies"), py::arg("density") = 1000.0,
           "The same robot with links in a fluid: name, added mass (36,), volume, centre of "
           "buoyancy (3,), linear and quadratic drag (6,) of each.")
      .def_property_readonly("b", &Model::b)
      .def_property_readonly("n", &Model::n)
      .def_property_readonly("nq", &Model::nq)
      .def_property_readonly("nv", &Model::nv)
      .def_property_readonly("joint_names", &Model::joint_names)
      .def_property_readonly("lower", &Model::lower)
      .def_property_readonly("upper", &Model::upper)
      .def_property_readonly("effort", &Model::effort)
      .def_property_readonly("velocity", &Model::velocity)
      .def_property_readonly("total_mass", &Model::total_mass)
      .def_property_readonly("base_gravity", &Model::base_gravity);
  bind_dynamics(module);
  bind_batch(module);
  bind_energy_guard(module);
  bind_controller(module);
  bind_laws(module);
  bind_sampled_algebra(module);
  bind_integrators(module);
  bind_closed_loop(module);
  bind_mechanism(module);
}
