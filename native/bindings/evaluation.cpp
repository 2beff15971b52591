// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms of the equations of motion, and what the model does with configurations.
#include "vms_ph_native/evaluation.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>

#include "bindings.hpp"

namespace py = pybind11;
using vms_ph::Evaluation;
using vms_ph::Model;

namespace {

// Python may give vectors of any size; the core may not be given them.
void check(const Eigen::VectorXd& vector, int size, const char* name) {
  if (vector.size() != size) {
    throw vms_ph::ModelError(std::string(name) + " must have " + std::to_string(size) +
                             " entries; given: " + std::to_string(vector.size()));
  }
}

}  // namespace

void bind_evaluation(py::module_& module) {
  module.def("integrate",
             [](const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& dv) {
               check(q, model.nq(), "q");
               check(dv, model.nv(), "dv");
               Eigen::VectorXd result(model.nq());
               model.integrate(q, dv, result);
               return result;
             });
  module.def("difference",
             [](const Model& model, const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
               check(a, model.nq(), "q0");
               check(b, model.nq(), "q1");
               Eigen::VectorXd result(model.nv());
               model.difference(a, b, result);
               return result;
             });
  module.def("joint_positions", [](const Model& model, const Eigen::VectorXd& q) {
    check(q, model.nq(), "q");
    Eigen::VectorXd result(model.n());
    model.joint_positions(q, result);
    return result;
  });
  module.def("base_pose", [](const Model& model, const Eigen::VectorXd& q) {
    check(q, model.nq(), "q");
    return model.base_pose(q).toHomogeneousMatrix();
  });
  py::class_<Evaluation>(module, "Evaluation", "See vms_ph_dynamics.Evaluation.")
      .def(py::init<const Model&>(), py::keep_alive<1, 2>())
      .def("set",
           [](Evaluation& d, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
             check(q, d.model().nq(), "q");
             check(v, d.model().nv(), "v");
             d.set(q, v);
           })
      .def_property_readonly("M", [](Evaluation& d) { return Eigen::MatrixXd(d.M()); })
      .def_property_readonly("M_b_inverse",
                             [](Evaluation& d) { return Eigen::MatrixXd(d.M_b_inverse()); })
      .def_property_readonly("A", [](Evaluation& d) { return Eigen::MatrixXd(d.A()); })
      .def_property_readonly("M_hat_m", [](Evaluation& d) { return Eigen::MatrixXd(d.M_hat_m()); })
      .def_property_readonly("C", [](Evaluation& d) { return Eigen::MatrixXd(d.C()); })
      .def_property_readonly("g", [](Evaluation& d) { return Eigen::VectorXd(d.g()); })
      .def_property_readonly("momentum",
                             [](Evaluation& d) { return Eigen::VectorXd(d.momentum()); })
      .def_property_readonly("kinetic_energy", &Evaluation::kinetic_energy)
      .def_property_readonly("potential_energy", &Evaluation::potential_energy)
      .def("placement",
           [](Evaluation& d, const std::string& frame) {
             return d.placement(d.model().frame_id(frame)).toHomogeneousMatrix();
           })
      .def("jacobian",
           [](Evaluation& d, const std::string& frame) {
             return Eigen::MatrixXd(d.frame_jacobian(d.model().frame_id(frame), pinocchio::LOCAL));
           })
      .def("jacobian_rate", [](Evaluation& d, const std::string& frame) {
        return Eigen::MatrixXd(d.frame_jacobian_rate(d.model().frame_id(frame), pinocchio::LOCAL));
      });
}
