// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Python module vms_ph_native.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/model.hpp"

namespace py = pybind11;

namespace vms_ph {
namespace {

using ImmersedLink = std::tuple<std::string, Numbers, double, Numbers, Numbers, Numbers>;

/// A robot with links in a fluid.
Model in_fluid(const Model& model, const std::vector<ImmersedLink>& links, double density) {
  Fluid fluid;
  fluid.density = density;
  for (const auto& [link, added_mass, volume, centre, linear_drag, quadratic_drag] : links) {
    ImmersedBody body;
    body.link = link;
    // Symmetric: the order of the entries does not matter.
    body.added_mass.reshaped() = added_mass.vector(36, "added_mass");
    body.volume = volume;
    body.centre_of_buoyancy = centre.vector(3, "centre_of_buoyancy");
    body.linear_drag = linear_drag.vector(6, "linear_drag");
    body.quadratic_drag = quadratic_drag.vector(6, "quadratic_drag");
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
}  // namespace vms_ph

PYBIND11_MODULE(vms_ph_native, module) {
  using namespace vms_ph;
#if PYBIND11_VERSION_HEX < 0x020C0000
  check_numpy();
#endif
  module.doc() = "Controllers and integrators of vms_ph in C++.";
  py::register_exception<ModelError>(module, "ModelError", PyExc_ValueError);
  py::class_<Model>(module, "Model", "The robot; see vms_ph_dynamics.VMSModel.")
      .def(py::init(&model_of), py::arg("pinocchio"), py::arg("end_effector") = "",
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
  bind_energy_guard(module);
  bind_controller(module);
  bind_laws(module);
  bind_sampled_algebra(module);
  bind_integrators(module);
  bind_closed_loop(module);
  bind_mechanism(module);
}
