// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Task-space IDA-PBC.
#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <limits>

#include "bindings.hpp"
#include "laws.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace py = pybind11;
using Law = vms_ph::TaskSpaceIDAPBC;
using Vector = Eigen::VectorXd;

namespace {

// What has not three entries is as little a reference as what is not finite.
std::optional<Eigen::Vector3d> three(const std::optional<Vector>& given) {
  if (!given) return std::nullopt;
  if (given->size() == 3) return Eigen::Vector3d(*given);
  return Eigen::Vector3d::Constant(std::numeric_limits<double>::quiet_NaN());
}

std::unique_ptr<Law> make_task_space(const vms_ph::Model& model, const std::string& frame,
                                     const py::dict& gains,
                                     std::optional<Eigen::MatrixXd> task_stiffness,
                                     std::optional<Eigen::MatrixXd> weight,
                                     const std::string& routing) {
  vms_ph::TaskSpaceOptions options;
  options.frame = frame;
  if (task_stiffness) {
    if (task_stiffness->rows() != 3 || task_stiffness->cols() != 3) {
      throw vms_ph::ModelError("task_stiffness must be a symmetric (3,3) matrix");
    }
    options.task_stiffness = *task_stiffness;
  }
  options.weight = std::move(weight);
  if (routing != "keep" && routing != "cancel") {
    throw vms_ph::ModelError("routing must be 'keep' or 'cancel'; given: '" + routing +
                             "'. A function of the state is for the Python controller");
  }
  options.cancel_coupling = routing == "cancel";
  auto law = std::make_unique<Law>(model, vms_ph::TaskSpaceGains{}, options);
  vms_ph::set_gains(*law, gains);
  return law;
}

}  // namespace

void bind_task_space(py::module_& module) {
  py::class_<Law>(module, "TaskSpaceIDAPBC", "See vms_ph_controllers.TaskSpaceIDAPBC.")
      .def(py::init(&make_task_space), py::keep_alive<1, 2>(), py::arg("model"),
           py::arg("frame") = "", py::arg("gains") = py::dict(), py::kw_only(),
           py::arg("task_stiffness") = py::none(), py::arg("weight") = py::none(),
           py::arg("routing") = "keep")
      .def(
          "reset", [](Law& law, const Vector& q) { return law.set_minimum(q); }, py::arg("q"),
          "Hold a configuration; False for what is none of the robot.")
      .def(
          "update",
          [](Law& law, const Vector& q, const Vector& v, const std::optional<Vector>& position,
             const std::optional<Vector>& velocity, double dt) -> vms_ph::Command {
            vms_ph::Reference reference;
            reference.position = three(position);
            reference.velocity = three(velocity);
            return law.update({q, v}, reference, dt);
          },
          py::arg("q"), py::arg("v"), py::arg("position"), py::arg("velocity"), py::arg("dt"))
      .def(
          "set_gains", [](Law& law, const py::dict& gains) { vms_ph::set_gains(law, gains); },
          py::arg("gains"))
      .def_property_readonly("gains", &Law::gains)
      .def_property_readonly("q_star", [](const Law& law) { return Vector(law.q_star()); });
}
