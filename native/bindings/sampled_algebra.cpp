// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The algebra of sampled laws, for laws in Python.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/reference_governor.hpp"
#include "vms_ph_native/sample_grant.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/split_motion.hpp"
#include "vms_ph_native/task_effort.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace vms_ph {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMajor> matrix_of(const Array& array, py::ssize_t rows, py::ssize_t columns) {
  if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
    throw ModelError("a matrix of " + std::to_string(rows) + " rows and " +
                     std::to_string(columns) + " columns is needed");
  }
  return {array.data(), rows, columns};
}

Eigen::Map<const Eigen::VectorXd> vector_of(const Array& array, py::ssize_t size,
                                            const char* name) {
  check_size(array, size, name);
  return {array.data(), size};
}

py::ssize_t size_of(const Array& velocity) {
  if (velocity.size() > kMaxVelocities) {
    throw ModelError("at most " + std::to_string(kMaxVelocities) + " velocities");
  }
  return velocity.size();
}

template <class Values>
Array array_of(const Values& values) {
  Array out = empty({values.size()});
  std::copy(values.data(), values.data() + values.size(), out.mutable_data());
  return out;
}

template <class Values>
Array rows_of(const Values& values) {
  Array out = empty({values.rows(), values.cols()});
  Eigen::Map<RowMajor>(out.mutable_data(), values.rows(), values.cols()) = values;
  return out;
}

/// The workspace of laws in Python, one thread at a time.
struct SampledAlgebra {
  explicit SampledAlgebra(const Model& model)
      : impedance(model), step(model), prediction(model), d(model) {}

  SampledImpedance impedance;
  TaskSvd svd;
  SplitMotion motion;
  MinimumStep step;
  Minimum minimum;
  SamplePrediction prediction;
  Prediction predicted;
  Evaluation d;
  MatrixV mass, damping, stiffness;
  Matrix3V jacobian;
};

void set_state(SampledAlgebra& self, const Array& q, const Array& v) {
  self.d.set(vector_of(q, self.d.model().nq(), "q"), vector_of(v, self.d.model().nv(), "v"));
}

void check_frame(const Model& model, pinocchio::FrameIndex frame) {
  if (frame >= model.frames()) throw py::index_error("no such frame");
}

PositionTask task_of(const Model& model, pinocchio::FrameIndex frame) {
  check_frame(model, frame);
  return PositionTask(frame);
}

py::tuple hold(SampledAlgebra& self, const Array& mass, const Array& damping,
               const Array& stiffness, const Array& gradient, const Array& velocity, double h,
               const std::optional<Array>& drift) {
  const py::ssize_t nv = size_of(velocity);
  // Symmetric: the order of the entries does not matter.
  self.mass = matrix_of(mass, nv, nv);
  self.damping = matrix_of(damping, nv, nv);
  self.stiffness = matrix_of(stiffness, nv, nv);
  VectorV drift_force;
  if (drift) drift_force = vector_of(*drift, nv, "drift");
  self.impedance.compute(
      self.mass, self.damping, self.stiffness, VectorV(vector_of(gradient, nv, "gradient")),
      VectorV(vector_of(velocity, nv, "velocity")), h, drift ? &drift_force : nullptr);
  return py::make_tuple(array_of(self.impedance.spring), array_of(self.impedance.velocity),
                        array_of(self.impedance.predicted_spring), self.impedance.reason());
}

Array brake(SampledAlgebra& self, const Array& q, const Array& v, double h,
            const std::optional<Array>& gyroscopic) {
  set_state(self, q, v);
  VectorV gyroscopic_force;
  if (gyroscopic) gyroscopic_force = vector_of(*gyroscopic, self.d.model().nv(), "gyroscopic");
  return array_of(self.impedance.brake(self.d, h, gyroscopic ? &gyroscopic_force : nullptr));
}

py::tuple split(SampledAlgebra& self, const Array& mass, const Array& velocity,
                const Array& momentum, const Array& jacobian, double singular_below) {
  const py::ssize_t nv = size_of(velocity);
  self.mass = matrix_of(mass, nv, nv);
  self.jacobian = matrix_of(jacobian, 3, nv);
  self.svd.compute(self.jacobian);
  SplitMotion& motion = self.motion;
  motion.compute(self.mass, vector_of(velocity, nv, "velocity"),
                 vector_of(momentum, nv, "momentum"), self.jacobian, self.svd, singular_below);
  return py::make_tuple(array_of(motion.eta), rows_of(motion.null_map), array_of(motion.nu),
                        array_of(motion.null_velocity), motion.kinetic_null, motion.smallest,
                        motion.is_regular, rows_of(self.svd.pseudo_inverse(singular_below)));
}

py::tuple predict(SampledAlgebra& self, const Array& q, const Array& v,
                  const Array& unactuated_gravity, double budget, double dt, const Array& force) {
  set_state(self, q, v);
  const py::ssize_t nv = self.d.model().nv();
  SamplePrediction& prediction = self.prediction;
  prediction.begin(self.d, vector_of(unactuated_gravity, nv, "unactuated_gravity"), budget, dt);
  prediction.predict(vector_of(force, nv, "force"), self.predicted);
  const bool is_known = std::isfinite(self.predicted.lack);
  return py::make_tuple(self.predicted.lack, array_of(self.predicted.acceleration),
                        array_of(self.predicted.displacement), prediction.energy(),
                        is_known ? array_of(prediction.end_q()) : q,
                        is_known ? array_of(prediction.end_v()) : v);
}

py::tuple minimum_step(SampledAlgebra& self, pinocchio::FrameIndex frame, const Array& q,
                       const Array& x, const Array& step, const Array& posture, double damping,
                       double dt, double reach, double margin) {
  const Model& model = self.d.model();
  self.minimum.q = vector_of(q, model.nq(), "q");
  self.minimum.x = vector_of(x, 3, "x");
  self.step.compute(task_of(model, frame), self.minimum, vector_of(step, 3, "step"),
                    vector_of(posture, model.n(), "posture"), {damping, dt, reach, margin});
  return py::make_tuple(array_of(self.step.next.q), array_of(self.step.next.x),
                        self.step.is_settled, self.step.is_out_of_reach);
}

}  // namespace
}  // namespace vms_ph

void bind_sampled_algebra(py::module_& module) {
  using namespace vms_ph;
  py::class_<SampledAlgebra> algebra(module, "SampledAlgebra",
                                     "The algebra of sampled laws; a workspace of one thread.");
  algebra.def(py::init<const Model&>(), py::keep_alive<1, 2>(), "model"_a)
      .def_property_readonly_static("largest", [](const py::object&) { return kMaxVelocities; })
      .def("hold", &hold, "mass"_a, "damping"_a, "stiffness"_a, "gradient"_a, "velocity"_a, "h"_a,
           "drift"_a = py::none(),
           "Return spring, velocity, predicted spring and reason of a SampledImpedance.")
      .def("brake", &brake, "q"_a, "v"_a, "h"_a, "gyroscopic"_a,
           "Return the force that takes out what holding the others pumps.")
      .def("split", &split, "mass"_a, "velocity"_a, "momentum"_a, "jacobian"_a, "singular_below"_a,
           "Return the parts of a SplitMotion after J.")
      .def("predict", &predict, "q"_a, "v"_a, "unactuated_gravity"_a, "budget"_a, "dt"_a, "force"_a,
           "Return the parts of a Prediction of efforts that are held over a sample.")
      .def("minimum_step", &minimum_step, "frame"_a, "q"_a, "x"_a, "step"_a, "posture"_a,
           "damping"_a, "dt"_a, "reach"_a, "margin"_a,
           "Return a minimum and its position after a step, whether it was settled, and whether "
           "the reference is out of reach.");
}
