// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms and rates behind vms_ph_dynamics, one state at a time and many at once.
#include "vms_ph_native/dynamics.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace py = pybind11;
using namespace py::literals;
using vms_ph::Array;
using vms_ph::Dynamics;
using vms_ph::Efforts;
using vms_ph::empty;
using vms_ph::FrameWrench;
using vms_ph::frozen;
using vms_ph::MaybeArray;
using vms_ph::Model;

namespace {

const Dynamics& at(Dynamics& d, const Array& q) {
  vms_ph::check_size(q, d.nq(), "q");
  d.set_configuration(q.data());
  return d;
}

void at(Dynamics& d, const Array& q, const Array& v) {
  at(d, q);
  vms_ph::check_size(v, d.nv(), "v");
  d.set_velocity(v.data());
}

/// A property of the configuration as a function from (nq,) to an array of this shape.
template <class Shape, class Write>
auto of_configuration(Shape shape, Write write) {
  return [shape, write](Dynamics& d, const Array& q) {
    at(d, q);
    Array out = shape(d);
    write(d, out.mutable_data());
    return frozen(std::move(out));
  };
}

template <class Shape, class Write>
auto of_motion(Shape shape, Write write) {
  return [shape, write](Dynamics& d, const Array& q, const Array& v) {
    at(d, q, v);
    Array out = shape(d);
    write(d, out.mutable_data());
    return frozen(std::move(out));
  };
}

Array velocities(const Dynamics& d) { return empty({d.nv()}); }
Array square(const Dynamics& d) { return empty({d.nv(), d.nv()}); }
Array jacobian(const Dynamics& d) { return empty({6, d.nv()}); }

const double* data_of(const Array& array, py::ssize_t size, bool& valid) {
  double sum = 0.0;
  if (array.ndim() != 1 || array.size() != size) {
    valid = false;
  } else {
    for (py::ssize_t i = 0; i < size; ++i) sum += array.data()[i] * array.data()[i];
    // The square of a large number is not finite either: Python decides.
    valid = valid && std::isfinite(sum);
  }
  return array.data();
}

const double* data_of(const MaybeArray& array, py::ssize_t size, bool& valid) {
  return array ? data_of(*array, size, valid) : nullptr;
}

using Wrenches = std::vector<std::pair<int, Array>>;

/// The rates of a form; None where an argument is not valid, for Python to say why.
py::object rate(Dynamics& d, bool decoupled, const Array& q, const Array& z,
                const MaybeArray& torque, const MaybeArray& wrench_base, const Wrenches& wrenches,
                const MaybeArray& viscous, const MaybeArray& coulomb, double slip, bool gravity) {
  bool valid = q.ndim() == 1 && q.size() == d.nq() && d.is_configuration(q.data());
  data_of(z, d.nv(), valid);
  std::vector<FrameWrench> acting;
  for (const auto& [frame, wrench] : wrenches) {
    valid = valid && frame >= 0 && frame < d.frames();
    acting.push_back({frame, data_of(wrench, 6, valid)});
  }
  Efforts efforts;
  efforts.torque = data_of(torque, d.n(), valid);
  efforts.wrench_base = data_of(wrench_base, d.b(), valid);
  efforts.wrenches = acting.data();
  efforts.wrench_count = acting.size();
  efforts.viscous = data_of(viscous, d.n(), valid);
  efforts.coulomb = data_of(coulomb, d.n(), valid);
  efforts.slip = slip;
  efforts.gravity = gravity;
  if (!valid) return py::none();
  d.set_configuration(q.data());
  Array qdot = velocities(d), zdot = velocities(d);
  if (decoupled) {
    d.decoupled_rate(z.data(), efforts, qdot.mutable_data(), zdot.mutable_data());
  } else {
    d.standard_rate(z.data(), efforts, qdot.mutable_data(), zdot.mutable_data());
  }
  // Where masses differ so much that the recursion loses all digits, Python solves with M itself.
  data_of(qdot, d.nv(), valid);
  data_of(zdot, d.nv(), valid);
  if (!valid) return py::none();
  return py::make_tuple(std::move(qdot), std::move(zdot));
}

Array copy(const Array& x) {
  Array out = empty({x.size()});
  std::copy(x.data(), x.data() + x.size(), out.mutable_data());
  return frozen(std::move(out));
}

Array as_array(const vms_ph::Screw& s) {
  Array out = empty({6});
  vms_ph::three(out.mutable_data()) = s.linear;
  vms_ph::three(out.mutable_data() + 3) = s.angular;
  return frozen(std::move(out));
}

}  // namespace

void bind_dynamics(py::module_& module) {
  py::class_<Dynamics>(module, "Dynamics",
                       "The terms behind vms_ph_dynamics.Evaluation and the rates of the forms; a "
                       "workspace of one thread.")
      .def(py::init([](const std::shared_ptr<Model>& model) {
             return std::make_unique<Dynamics>(*model);
           }),
           "model"_a)
      .def("mass", of_configuration(square, [](Dynamics& d, double* x) { d.mass(x); }), "q"_a)
      .def("locked_inverse",
           of_configuration([](const Dynamics& d) { return empty({d.b(), d.b()}); },
                            [](Dynamics& d, double* x) { d.locked_inverse(x); }),
           "q"_a)
      .def("connection",
           of_configuration([](const Dynamics& d) { return empty({d.b(), d.n()}); },
                            [](Dynamics& d, double* x) { d.connection(x); }),
           "q"_a)
      .def("shape_inertia",
           of_configuration([](const Dynamics& d) { return empty({d.n(), d.n()}); },
                            [](Dynamics& d, double* x) { d.shape_inertia(x); }),
           "q"_a)
      .def("gravity", of_configuration(velocities, [](Dynamics& d, double* x) { d.gravity(x); }),
           "q"_a)
      .def(
          "lifting_power",
          [](Dynamics& d, const Array& q, const Array& v) {
            vms_ph::check_size(q, d.nq(), "q");
            vms_ph::check_size(v, d.nv(), "v");
            return d.lifting_power(q.data(), v.data());
          },
          "q"_a, "v"_a, "Return v^T g(q).")
      .def(
          "coriolis_power",
          [](Dynamics& d, const Array& q, const Array& v, const Array& x, const Array& y) {
            at(d, q, v);
            vms_ph::check_size(x, d.nv(), "x");
            vms_ph::check_size(y, d.nv(), "y");
            return d.coriolis_power(x.data(), y.data());
          },
          "q"_a, "v"_a, "x"_a, "y"_a, "Return x^T C(q, v) y.")
      .def(
          "potential_energy",
          [](Dynamics& d, const Array& q) { return at(d, q).potential_energy(); }, "q"_a)
      .def(
          "jacobian",
          [](Dynamics& d, const Array& q, int frame, bool aligned) {
            if (frame < 0 || frame >= d.frames()) throw py::index_error("no such frame");
            at(d, q);
            Array out = jacobian(d);
            d.jacobian(frame, aligned, out.mutable_data());
            return out;
          },
          "q"_a, "frame"_a, "aligned"_a)
      .def("coriolis", of_motion(square, [](Dynamics& d, double* x) { d.coriolis(x); }), "q"_a,
           "v"_a)
      .def("momentum", of_motion(velocities, [](Dynamics& d, double* x) { d.momentum(x); }), "q"_a,
           "v"_a)
      .def("locked_velocity",
           of_motion([](const Dynamics& d) { return empty({d.b()}); },
                     [](Dynamics& d, double* x) { d.locked_velocity(x); }),
           "q"_a, "v"_a)
      .def("shape_momentum",
           of_motion([](const Dynamics& d) { return empty({d.n()}); },
                     [](Dynamics& d, double* x) { d.shape_momentum(x); }),
           "q"_a, "v"_a)
      .def(
          "kinetic_energy",
          [](Dynamics& d, const Array& q, const Array& v) {
            at(d, q, v);
            return d.kinetic_energy();
          },
          "q"_a, "v"_a)
      .def(
          "jacobian_rate",
          [](Dynamics& d, const Array& q, const Array& v, int frame, bool aligned) {
            if (frame < 0 || frame >= d.frames()) throw py::index_error("no such frame");
            at(d, q, v);
            Array out = jacobian(d);
            d.jacobian_rate(frame, aligned, out.mutable_data());
            return out;
          },
          "q"_a, "v"_a, "frame"_a, "aligned"_a)
      .def(
          "momenta",
          [](Dynamics& d, const Array& q, const Array& v) {
            at(d, q, v);
            const vms_ph::Momenta robot_momenta = d.momenta();
            Array centre = empty({3});
            vms_ph::three(centre.mutable_data()) = robot_momenta.centre_of_mass;
            return py::make_tuple(frozen(std::move(centre)), as_array(robot_momenta.centroidal),
                                  as_array(robot_momenta.spatial));
          },
          "q"_a, "v"_a, "Return centre of mass, centroidal and spatial momentum.")
      .def(
          "placement",
          [](Dynamics& d, const Array& q, int frame) {
            if (frame < 0 || frame >= d.frames()) throw py::index_error("no such frame");
            at(d, q);
            Eigen::Matrix3d rotation;
            Eigen::Vector3d origin;
            d.placement(frame, rotation, origin);
            Array out = empty({4, 4});
            for (int i = 0; i < 3; ++i) {
              for (int j = 0; j < 3; ++j) out.mutable_data()[4 * i + j] = rotation(i, j);
              out.mutable_data()[4 * i + 3] = origin[i];
              out.mutable_data()[12 + i] = 0.0;
            }
            out.mutable_data()[15] = 1.0;
            return frozen(std::move(out));
          },
          "q"_a, "frame"_a, "Return the pose of a frame in the inertial one, (4,4).")
      .def(
          "mass_rates",
          [](Dynamics& d, const Array& q, const Array& velocities) {
            if (velocities.ndim() != 2 || velocities.shape(1) != d.nv()) {
              throw vms_ph::ModelError("velocities must have shape (count,nv)");
            }
            at(d, q);
            Array out = empty({velocities.shape(0), d.nv(), d.nv()});
            for (py::ssize_t k = 0; k < velocities.shape(0); ++k) {
              d.mass_rate(velocities.data(k), out.mutable_data(k));
            }
            return frozen(std::move(out));
          },
          "q"_a, "velocities"_a, "Return the rates of the mass matrix along velocities.")
      .def(
          "velocity",
          [](Dynamics& d, bool decoupled, const Array& q, const Array& z) {
            at(d, q);
            vms_ph::check_size(z, d.nv(), "z");
            Array out = velocities(d);
            d.velocity(decoupled, z.data(), out.mutable_data());
            return out;
          },
          "decoupled"_a, "q"_a, "z"_a, "Return the velocity of the momenta of a form.")
      .def(
          "gradient",
          [](Dynamics& d, bool decoupled, const Array& q, const Array& z) {
            at(d, q);
            vms_ph::check_size(z, d.nv(), "z");
            Array out = empty({d.nv() + d.n()});
            d.gradient(decoupled, z.data(), out.mutable_data());
            return out;
          },
          "decoupled"_a, "q"_a, "z"_a, "Return the gradient of the kinetic Hamiltonian.")
      .def(
          "state",
          [](Dynamics& d, const Array& q, const Array& v) -> py::object {
            bool valid = q.ndim() == 1 && q.size() == d.nq() && d.is_configuration(q.data());
            data_of(v, d.nv(), valid);
            if (!valid) return py::none();
            return py::make_tuple(copy(q), copy(v));
          },
          "q"_a, "v"_a, "Return read-only copies of a state, or None if it is not one.")
      .def("rate", &rate, "decoupled"_a, "q"_a, "z"_a, "torque"_a, "wrench_base"_a, "wrenches"_a,
           "viscous"_a, "coulomb"_a, "slip"_a, "gravity"_a,
           "Return the rates (nv,) of configuration and momenta, or None for arguments that are "
           "not valid.");
}
