// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The algebra of sampled laws, for laws in Python.
#include <cmath>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "vms_ph_native/sample_grant.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/shaped_potential.hpp"
#include "vms_ph_native/task_space.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace vms_ph {
namespace {

py::ssize_t size_of(const Numbers& velocity) {
  const auto size = velocity.of_any_size().size();
  if (size > kMaxVelocities) {
    throw ModelError("at most " + std::to_string(kMaxVelocities) + " velocities");
  }
  return size;
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

void set_state(SampledAlgebra& self, const Numbers& q, const Numbers& v) {
  self.d.set(q.vector(self.d.model().nq(), "q"), v.vector(self.d.model().nv(), "v"));
}

void check_frame(const Model& model, pinocchio::FrameIndex frame) {
  if (frame >= model.frames()) throw py::index_error("no such frame");
}

PositionTask task_of(const Model& model, pinocchio::FrameIndex frame) {
  check_frame(model, frame);
  return PositionTask(frame);
}

py::tuple hold(SampledAlgebra& self, const Numbers& mass, const Numbers& damping,
               const Numbers& stiffness, const Numbers& gradient, const Numbers& velocity, double h,
               const MaybeNumbers& drift) {
  const py::ssize_t nv = size_of(velocity);
  // Symmetric: the order of the entries does not matter.
  self.mass = mass.matrix(nv, nv, "mass");
  self.damping = damping.matrix(nv, nv, "damping");
  self.stiffness = stiffness.matrix(nv, nv, "stiffness");
  VectorV drift_force;
  if (drift) drift_force = drift->vector(nv, "drift");
  self.impedance.compute(
      self.mass, self.damping, self.stiffness, VectorV(gradient.vector(nv, "gradient")),
      VectorV(velocity.vector(nv, "velocity")), h, drift ? &drift_force : nullptr);
  return py::make_tuple(self.impedance.spring, self.impedance.velocity,
                        self.impedance.predicted_spring, self.impedance.reason());
}

VectorV brake(SampledAlgebra& self, const Numbers& q, const Numbers& v, double h,
              const MaybeNumbers& gyroscopic) {
  set_state(self, q, v);
  VectorV gyroscopic_force;
  if (gyroscopic) gyroscopic_force = gyroscopic->vector(self.d.model().nv(), "gyroscopic");
  return self.impedance.brake(self.d, h, gyroscopic ? &gyroscopic_force : nullptr);
}

py::tuple split(SampledAlgebra& self, const Numbers& mass, const Numbers& velocity,
                const Numbers& momentum, const Numbers& jacobian, double singular_below) {
  const py::ssize_t nv = size_of(velocity);
  self.mass = mass.matrix(nv, nv, "mass");
  self.jacobian = jacobian.matrix(3, nv, "jacobian");
  self.svd.compute(self.jacobian);
  SplitMotion& motion = self.motion;
  motion.compute(self.mass, velocity.vector(nv, "velocity"), momentum.vector(nv, "momentum"),
                 self.jacobian, self.svd, singular_below);
  return py::make_tuple(motion.eta, motion.null_map, motion.nu, motion.null_velocity,
                        motion.kinetic_null, motion.smallest, motion.is_regular,
                        self.svd.pseudo_inverse(singular_below));
}

py::tuple predict(SampledAlgebra& self, const Numbers& q, const Numbers& v,
                  const Numbers& unactuated_gravity, double budget, double dt,
                  const Numbers& force) {
  set_state(self, q, v);
  const py::ssize_t nv = self.d.model().nv();
  SamplePrediction& prediction = self.prediction;
  prediction.begin(self.d, unactuated_gravity.vector(nv, "unactuated_gravity"), budget, dt);
  prediction.predict(force.vector(nv, "force"), self.predicted);
  const bool is_known = std::isfinite(self.predicted.lack);
  return py::make_tuple(self.predicted.lack, self.predicted.acceleration,
                        self.predicted.displacement, prediction.energy(),
                        is_known ? prediction.end_q() : self.d.q(),
                        is_known ? prediction.end_v() : VectorV(self.d.v()));
}

py::tuple minimum_step(SampledAlgebra& self, pinocchio::FrameIndex frame, const Numbers& q,
                       const Numbers& x, const Numbers& step, const Numbers& posture,
                       double damping, double dt, double reach, double margin) {
  const Model& model = self.d.model();
  self.minimum.q = q.vector(model.nq(), "q");
  self.minimum.x = x.vector(3, "x");
  self.step.compute(task_of(model, frame), self.minimum, step.vector(3, "step"),
                    posture.vector(model.n(), "posture"), {damping, dt, reach, margin});
  return py::make_tuple(self.step.next.q, self.step.next.x, self.step.is_settled,
                        self.step.is_out_of_reach);
}

}  // namespace

void bind_sampled_algebra(py::module_& module) {
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

}  // namespace vms_ph
