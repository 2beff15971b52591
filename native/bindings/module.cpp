// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Python module vms_ph_native, and robots of Pinocchio's Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {
namespace {

/// The numbers of an array of any number of axes.
Eigen::VectorXd flatten(const py::object& source) {
  const auto numbers = py::cast<Numbers>(py::module_::import("numpy").attr("ravel")(source));
  return numbers.any_vector();
}

template <int size>
Eigen::Matrix<double, size, 1> vector_of(const py::object& source) {
  const Eigen::VectorXd numbers = flatten(source);
  if (numbers.size() != size) throw ModelError("an array of pinocchio.Model has another size");
  return numbers;
}

/// The motion subspace of a joint of one velocity, in its own axes.
void read_subspace(const py::object& joint, const py::object& neutral_q, ModelParts::Joint& parts) {
  const py::object data = joint.attr("createData")();
  joint.attr("calc")(data, neutral_q);
  const auto subspace = vector_of<6>(data.attr("S"));
  parts.linear_axis = subspace.head<3>();
  parts.axis = subspace.tail<3>();
}

ModelParts parts_of(const py::object& robot) {
  ModelParts parts;
  parts.name = py::cast<std::string>(robot.attr("name"));
  const py::object joints = robot.attr("joints"), names = robot.attr("names");
  const py::object parents = robot.attr("parents"), placements = robot.attr("jointPlacements");
  const py::object inertias = robot.attr("inertias");
  const py::object neutral = py::module_::import("pinocchio").attr("neutral")(robot);
  for (int i = 1; i < py::cast<int>(robot.attr("njoints")); ++i) {
    const auto entry = [i](const py::object& list) -> py::object { return list[py::int_(i)]; };
    const py::object joint = entry(joints), inertia = entry(inertias);
    ModelParts::Joint joint_parts;
    joint_parts.name = py::cast<std::string>(entry(names));
    joint_parts.kind = py::cast<std::string>(joint.attr("shortname")());
    joint_parts.dofs = py::cast<int>(joint.attr("nv"));
    joint_parts.parent = py::cast<std::size_t>(entry(parents));
    joint_parts.placement = py::cast<Eigen::Matrix4d>(entry(placements).attr("homogeneous"));
    if (joint_parts.dofs == 1) read_subspace(joint, neutral, joint_parts);
    joint_parts.mass = py::cast<double>(inertia.attr("mass"));
    joint_parts.centre = vector_of<3>(inertia.attr("lever"));
    joint_parts.inertia = py::cast<Eigen::Matrix3d>(inertia.attr("inertia"));
    parts.joints.push_back(std::move(joint_parts));
  }
  bool is_universe = true;
  for (const py::handle& frame_object : robot.attr("frames")) {
    const auto frame = py::reinterpret_borrow<py::object>(frame_object);
    if (!std::exchange(is_universe, false)) {
      parts.frames.push_back(
          {py::cast<std::string>(frame.attr("name")), py::cast<int>(py::int_(frame.attr("type"))),
           py::cast<std::size_t>(frame.attr("parentJoint")),
           py::cast<std::size_t>(frame.attr("parentFrame")),
           py::cast<Eigen::Matrix4d>(frame.attr("placement").attr("homogeneous"))});
    }
  }
  parts.min_q = flatten(robot.attr("lowerPositionLimit"));
  parts.max_q = flatten(robot.attr("upperPositionLimit"));
  parts.armature = flatten(robot.attr("armature"));
  parts.damping = flatten(robot.attr("damping"));
  const bool is_pinocchio_4 = py::hasattr(robot, "upperEffortLimit");  // of Pinocchio 4
  parts.max_effort = flatten(robot.attr(is_pinocchio_4 ? "upperEffortLimit" : "effortLimit"));
  parts.max_velocity = flatten(robot.attr(is_pinocchio_4 ? "upperVelocityLimit" : "velocityLimit"));
  parts.dry_friction = flatten(robot.attr(is_pinocchio_4 ? "upperDryFrictionLimit" : "friction"));
  parts.gravity = vector_of<3>(robot.attr("gravity").attr("linear"));
  return parts;
}

ModelError read_error(const py::object& robot, const std::exception& error) {
  const std::string kind = py::str(py::type::handle_of(robot).attr("__name__"));
  return ModelError("the robot must be a pinocchio.Model; given: a '" + kind + "' (" +
                    error.what() + ")");
}

}  // namespace

Model model_of(const py::object& robot, const std::string& end_effector,
               const std::vector<std::tuple<std::string, std::string, double, double>>& mimics) {
  std::vector<Mimic> mimic_joints;
  for (const auto& [joint, leader, multiplier, offset] : mimics) {
    mimic_joints.push_back({joint, leader, multiplier, offset});
  }
  ModelParts parts;
  try {
    parts = parts_of(robot);
  } catch (const std::runtime_error& error) {
    throw read_error(robot, error);
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // such as an interrupt
    throw read_error(robot, error);
  }
  return Model(parts, end_effector, std::move(mimic_joints));
}

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
      .def_property_readonly("joint_names", &Model::joint_names);
  bind_dynamics(module);
  bind_laws(module);
  bind_sampled_algebra(module);
  bind_integrators(module);
  bind_mechanism(module);
}
