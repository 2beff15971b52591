// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The efforts of laws in Python, each in one call.
#include <optional>
#include <tuple>
#include <utility>

#include "law_algebra.hpp"

namespace py = pybind11;
using namespace py::literals;
using vms_ph::Array;
using vms_ph::array_of;
using vms_ph::LawAlgebra;
using vms_ph::matrix_of;
using vms_ph::MatrixV;
using vms_ph::rows_of;
using vms_ph::set_state;
using vms_ph::vector_of;
using vms_ph::VectorV;

namespace {

/// The parts of a DecoupledEffort.
py::tuple parts_of(const vms_ph::DecoupledEffort& effort) {
  return py::make_tuple(array_of(effort.error), array_of(effort.wanted), array_of(effort.sent),
                        effort.kinetic_base, effort.kinetic_shape, effort.damping_base,
                        effort.damping_shape, effort.reason());
}

void set_damping(vms_ph::DecoupledEffort& effort, double base, double shape, double h) {
  effort.demand.base = base;
  effort.demand.shape = shape;
  effort.demand.h = h;
}

py::tuple decoupled(LawAlgebra& self, const Array& q, const Array& v, const Array& gradient,
                    const Array& stiffness, const std::optional<Array>& velocity,
                    const std::optional<Array>& acceleration, double base, double shape, double h) {
  set_state(self, q, v);
  const py::ssize_t nv = self.d.model().nv();
  vms_ph::DecoupledEffort& effort = self.decoupled;
  set_damping(effort, base, shape, h);
  effort.rest();
  vms_ph::DecoupledEffort::Demand& demand = effort.demand;
  demand.gradient = vector_of(gradient, nv, "gradient");
  demand.stiffness = vector_of(stiffness, nv, "stiffness");
  if (velocity && acceleration) {
    demand.is_resting = false;
    demand.velocity = vector_of(*velocity, nv, "velocity");
    demand.acceleration = vector_of(*acceleration, nv, "acceleration");
  }
  effort.compute(self.d);
  return parts_of(effort);
}

/// Of a reference that moves: its axes in those of the minimum, twist and acceleration of the base,
/// rates and accelerations of the joints.
using Moving = std::tuple<Array, Array, Array, Array, Array>;

void lead(LawAlgebra& self, const vms_ph::Pose& error, const Moving& reference) {
  const py::ssize_t n = self.d.model().n();
  const auto& [turn, twist, acceleration, rates, accelerations] = reference;
  vms_ph::Pose from_reference = error;
  const vms_ph::MatrixView rows = vms_ph::MatrixView(error).top_rows(3);
  from_reference.topRows<3>().setZero();
  vms_ph::add_product(matrix_of(turn, 3, 3), rows, from_reference.topRows<3>());
  self.decoupled.lead(self.d, from_reference, vector_of(twist, 6, "twist"),
                      vector_of(acceleration, 6, "acceleration"), vector_of(rates, n, "rates"),
                      vector_of(accelerations, n, "accelerations"));
}

py::tuple decoupled_springs(LawAlgebra& self, const Array& q, const Array& v, const Array& minimum,
                            const Array& offset, const std::optional<Array>& quaternion,
                            double sign, const std::optional<Moving>& reference, double position,
                            double rotation, const Array& stiffness, const Array& limit,
                            double margin, double base, double shape, double h) {
  set_state(self, q, v);
  vms_ph::Evaluation& d = self.d;
  const py::ssize_t n = d.model().n();
  vms_ph::DecoupledEffort& effort = self.decoupled;
  set_damping(effort, base, shape, h);
  const vms_ph::Pose pose = d.model().base_pose(d.q()).toHomogeneousMatrix();
  const vms_ph::Pose error = vms_ph::se3::inverse(matrix_of(minimum, 4, 4)) * pose;
  vms_ph::PosePotential& potential = self.potential;
  if (quaternion) {
    potential.resume(vector_of(*quaternion, 4, "quaternion"), sign);
  } else {
    potential.restart(error);
  }
  const bool switched = potential.follow(error);
  self.springs = {position, rotation, vector_of(stiffness, n, "stiffness"),
                  vector_of(limit, n, "limit"), margin};
  const VectorV away = vector_of(offset, n, "offset");
  const double energy = effort.spring(d, self.springs, potential, error, away);
  if (reference) {
    lead(self, error, *reference);
  } else {
    effort.rest();
  }
  effort.compute(d);
  return py::make_tuple(parts_of(effort), energy, array_of(effort.demand.gradient), rows_of(error),
                        rows_of(pose), array_of(potential.quaternion()), potential.sign(), switched,
                        vms_ph::frozen(array_of(d.g())));
}

/// The parts of a TaskEffort after its routing power, of the Jacobian and the stiffness in `self`.
py::tuple parts_of(LawAlgebra& self, const vms_ph::Matrix3V& rate, const VectorV& gradient,
                   const std::optional<Array>& routed, double damping_task, double damping_null,
                   double h, double singular_below) {
  vms_ph::Evaluation& d = self.d;
  vms_ph::TaskEffort& effort = self.task;
  effort.split(d, self.jacobian, singular_below);
  effort.damp(d, self.jacobian, gradient, self.stiffness, damping_task, damping_null, h);
  VectorV turning;
  if (routed) turning = vector_of(*routed, d.model().nv(), "routed");
  VectorV wanted = d.g() - gradient - effort.damping;
  VectorV sent = d.g() + effort.held.brake(d, h, routed ? &turning : nullptr);
  sent -= effort.held.spring + effort.damping;
  if (routed) {
    wanted += turning;
    sent += turning;
  }
  const vms_ph::SplitMotion& motion = effort.motion;
  return py::make_tuple(array_of(wanted), array_of(sent), d.kinetic_energy(), motion.kinetic_null,
                        motion.eta.dot(effort.damping_task),
                        motion.nu.dot(effort.damping_null) + d.v().dot(effort.held.ahead),
                        motion.exchange(d, effort.svd, rate), motion.smallest, motion.is_regular,
                        effort.held.reason());
}

py::tuple task(LawAlgebra& self, const Array& q, const Array& v, const Array& jacobian,
               const Array& jacobian_rate, const Array& spring, const Array& stiffness,
               const std::optional<Array>& routed, double damping_task, double damping_null,
               double h, double singular_below) {
  set_state(self, q, v);
  const py::ssize_t nv = self.d.model().nv();
  self.jacobian = matrix_of(jacobian, 3, nv);
  // Symmetric: the order of the entries does not matter.
  self.stiffness = matrix_of(stiffness, nv, nv);
  return parts_of(self, matrix_of(jacobian_rate, 3, nv), vector_of(spring, nv, "spring"), routed,
                  damping_task, damping_null, h, singular_below);
}

py::tuple task_springs(LawAlgebra& self, const Array& q, const Array& v,
                       pinocchio::FrameIndex frame, const Array& minimum, double weight,
                       const std::optional<Array>& matrix, double authority, double limit,
                       double margin, const std::optional<Array>& routed, double damping_task,
                       double damping_null, double h, double singular_below) {
  set_state(self, q, v);
  vms_ph::Evaluation& d = self.d;
  const vms_ph::Model& model = d.model();
  const vms_ph::PositionTask place = vms_ph::task_of(model, frame);
  const py::ssize_t nv = model.nv();
  VectorV offset(nv), positions(nv);
  model.difference(vector_of(minimum, model.nq(), "minimum"), d.q(), offset);
  model.joint_positions(d.q(), positions);
  const vms_ph::LimitSprings limits =
      self.limits.springs(positions, d.v(), VectorV::Constant(nv, limit), margin, h);
  VectorV pull = weight * offset;
  if (matrix) {
    self.stiffness = matrix_of(*matrix, nv, nv);
    vms_ph::multiply(self.stiffness, offset, pull);
    self.stiffness *= authority;
  } else {
    self.stiffness.setZero(nv, nv);
    self.stiffness.diagonal().setConstant(authority * weight);
  }
  self.stiffness.diagonal() += limits.stiffness;
  self.jacobian = place.jacobian(d);
  const vms_ph::Matrix3V rate = place.jacobian_rate(d);
  py::tuple effort = parts_of(self, rate, authority * pull + limits.force, routed, damping_task,
                              damping_null, h, singular_below);
  return py::make_tuple(std::move(effort), 0.5 * offset.dot(pull), limits.energy,
                        array_of(place.value(d)), vms_ph::frozen(array_of(d.g())));
}

py::tuple pose(LawAlgebra& self, const Array& q, const Array& v, pinocchio::FrameIndex frame,
               bool is_relative, const Array& error, const Array& quaternion, double sign,
               const Array& twist, double stiffness, double stiffness_rotation, double damping,
               double damping_rotation, double base_energy, const Array& base_force,
               const Array& base_stiffness, const Array& limit, double margin, double damping_null,
               double turning, double h) {
  set_state(self, q, v);
  vms_ph::Evaluation& d = self.d;
  const vms_ph::Model& model = d.model();
  vms_ph::check_frame(model, frame);
  const int b = model.b(), n = model.n();
  vms_ph::Matrix6V& jacobian = self.pose_jacobian;
  jacobian = d.frame_jacobian(frame, pinocchio::LOCAL);
  if (is_relative) jacobian.leftCols(b).setZero();
  const double smallest = vms_ph::smallest_singular_value(
      jacobian.rightCols(is_relative && n > 0 ? n : b + n), self.mass, self.eigen);
  vms_ph::PoseEffort& effort = self.pose;
  effort.pose_potential().resume(vector_of(quaternion, 4, "quaternion"), sign);
  effort.aim(matrix_of(error, 4, 4), vector_of(twist, 6, "twist"),
             {stiffness, stiffness_rotation, damping, damping_rotation}, h);
  vms_ph::split_inertia(d.M(), jacobian, self.pose_momentum, effort.rest_damping);
  effort.rest_damping *= damping_null;
  VectorV positions(n);
  model.joint_positions(d.q(), positions);
  const VectorV wall = vector_of(limit, n, "limit");
  effort.hold(d, base_energy, vector_of(base_force, b, "base_force"),
              vector_of(base_stiffness, b, "base_stiffness"),
              self.limits.springs(positions, d.v().tail(n), wall, margin, h), turning);
  effort.compute(d.M(), jacobian, d.v(), h);
  const VectorV wanted = d.g() + effort.wanted;
  const VectorV sent = d.g() + effort.sent + effort.held.brake(d, h);
  const auto momentum = vms_ph::product<vms_ph::Twist>(self.pose_momentum, d.v());
  const auto eta = vms_ph::product<vms_ph::Twist>(jacobian, d.v());
  return py::make_tuple(
      py::make_tuple(array_of(wanted), array_of(sent), effort.potential, d.kinetic_energy(),
                     0.5 * momentum.dot(eta), effort.damping_task, effort.damping_null,
                     effort.reference_power, smallest, effort.held.reason()),
      array_of(effort.pose_potential().quaternion()), effort.pose_potential().sign(),
      vms_ph::frozen(array_of(d.g())));
}
}  // namespace

void vms_ph::bind_law_efforts(py::class_<LawAlgebra>& algebra) {
  algebra
      .def("decoupled", &decoupled, "q"_a, "v"_a, "gradient"_a, "stiffness"_a, "velocity"_a,
           "acceleration"_a, "base"_a, "shape"_a, "h"_a,
           "Return the parts of an effort of DecoupledVMSController.")
      .def("task", &task, "q"_a, "v"_a, "jacobian"_a, "jacobian_rate"_a, "spring"_a, "stiffness"_a,
           "routed"_a, "damping_task"_a, "damping_null"_a, "h"_a, "singular_below"_a,
           "Return the parts of an effort of TaskSpaceIDAPBC.")
      .def("decoupled_springs", &decoupled_springs, "q"_a, "v"_a, "minimum"_a, "offset"_a,
           "quaternion"_a, "sign"_a, "reference"_a, "position"_a, "rotation"_a, "stiffness"_a,
           "limit"_a, "margin"_a, "base"_a, "shape"_a, "h"_a,
           "Return an effort of DecoupledVMSController, energy and gradient of its springs, pose "
           "error, pose, quaternion and sign of the error, whether it switched, and gravity.")
      .def("task_springs", &task_springs, "q"_a, "v"_a, "frame"_a, "minimum"_a, "weight"_a,
           "matrix"_a, "authority"_a, "limit"_a, "margin"_a, "routed"_a, "damping_task"_a,
           "damping_null"_a, "h"_a, "singular_below"_a,
           "Return an effort of TaskSpaceIDAPBC, the energies of its spring and of the limits, the "
           "position of the frame, and gravity.")
      .def("pose", &pose, "q"_a, "v"_a, "frame"_a, "is_relative"_a, "error"_a, "quaternion"_a,
           "sign"_a, "twist"_a, "stiffness"_a, "stiffness_rotation"_a, "damping"_a,
           "damping_rotation"_a, "base_energy"_a, "base_force"_a, "base_stiffness"_a, "limit"_a,
           "margin"_a, "damping_null"_a, "turning"_a, "h"_a,
           "Return the parts of a PoseEffort, quaternion and sign of the error, and gravity.");
}
