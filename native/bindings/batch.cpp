// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Many states at once, on several threads, in contiguous arrays.
#include "vms_ph_native/batch.hpp"

#include <functional>
#include <map>
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
using vms_ph::Batch;
using vms_ph::Dynamics;
using vms_ph::Efforts;
using vms_ph::empty;
using vms_ph::FrameWrench;
using vms_ph::frozen;
using vms_ph::MaybeArray;
using vms_ph::Model;

namespace {

/// A term: its shape, its size, and how it is written for one state.
struct Term {
  std::vector<py::ssize_t> shape;
  std::function<void(Dynamics&, double*)> write;
  Array array{};
  double* data = nullptr;
  py::ssize_t size = 1;
};

void write(const vms_ph::Screw& s, double* out) {
  vms_ph::three(out) = s.linear;
  vms_ph::three(out + 3) = s.angular;
}

/// What can be asked for; see vms_ph_dynamics.evaluation_batch.
std::map<std::string, Term> terms(int b, int n, int bodies, int frame) {
  const int nv = b + n;
  std::map<std::string, Term> all;
  const auto add = [&](const char* name, std::vector<py::ssize_t> shape,
                       std::function<void(Dynamics&, double*)> rate) {
    all[name] = {std::move(shape), std::move(rate)};
  };
  add("M", {nv, nv}, [](Dynamics& d, double* x) { d.mass(x); });
  add("M_b_inverse", {b, b}, [](Dynamics& d, double* x) { d.locked_inverse(x); });
  add("A", {b, n}, [](Dynamics& d, double* x) { d.connection(x); });
  add("M_hat_m", {n, n}, [](Dynamics& d, double* x) { d.shape_inertia(x); });
  add("C", {nv, nv}, [](Dynamics& d, double* x) { d.coriolis(x); });
  add("g", {nv}, [](Dynamics& d, double* x) { d.gravity(x); });
  add("momentum", {nv}, [](Dynamics& d, double* x) { d.momentum(x); });
  add("v_hat", {b}, [](Dynamics& d, double* x) { d.locked_velocity(x); });
  add("pi_hat", {n}, [](Dynamics& d, double* x) { d.shape_momentum(x); });
  add("kinetic_energy", {}, [](Dynamics& d, double* x) { *x = d.kinetic_energy(); });
  add("potential_energy", {}, [](Dynamics& d, double* x) { *x = d.potential_energy(); });
  add("J_end_effector", {6, nv}, [frame](Dynamics& d, double* x) { d.jacobian(frame, false, x); });
  add("centre_of_mass", {3},
      [](Dynamics& d, double* x) { vms_ph::three(x) = d.momenta().centre_of_mass; });
  add("centroidal_momentum", {6}, [](Dynamics& d, double* x) { write(d.momenta().centroidal, x); });
  add("spatial_momentum", {6}, [](Dynamics& d, double* x) { write(d.momenta().spatial, x); });
  add("kinetic_regressor", {10 * bodies}, [](Dynamics& d, double* x) { d.kinetic_regressor(x); });
  add("potential_regressor", {10 * bodies},
      [](Dynamics& d, double* x) { d.potential_regressor(x); });
  return all;
}

std::size_t rows(const Array& array, int columns, const char* name) {
  if (array.ndim() != 2 || array.shape(1) != columns) {
    throw vms_ph::ModelError(std::string(name) + " must have shape (count," +
                             std::to_string(columns) + ")");
  }
  return static_cast<std::size_t>(array.shape(0));
}

py::dict evaluate(Batch& batch, const Array& q, const Array& v,
                  const std::vector<std::string>& names, int frame) {
  const Dynamics& robot = batch.first();
  const std::size_t count = rows(q, robot.nq(), "Q");
  if (rows(v, robot.nv(), "V") != count) throw vms_ph::ModelError("Q and V differ in length");
  if (frame < 0 || frame >= robot.frames()) throw py::index_error("no such frame");
  auto available = terms(robot.b(), robot.n(), robot.bodies(), frame);
  std::vector<Term> requested;
  for (const std::string& name : names) {
    const auto entry = available.find(name);
    if (entry == available.end()) throw vms_ph::ModelError("there is no term '" + name + "'");
    Term term = entry->second;
    for (const py::ssize_t length : term.shape) term.size *= length;
    term.shape.insert(term.shape.begin(), static_cast<py::ssize_t>(count));
    term.array = Array(term.shape);
    term.data = term.array.mutable_data();
    requested.push_back(std::move(term));
  }
  {
    const double *q_rows = q.data(), *v_rows = v.data();
    const py::gil_scoped_release without_gil;
    batch.for_each(count, [&](Dynamics& d, std::size_t i) {
      d.set_configuration(q_rows + i * static_cast<std::size_t>(d.nq()));
      d.set_velocity(v_rows + i * static_cast<std::size_t>(d.nv()));
      for (const Term& term : requested) {
        term.write(d, term.data + i * static_cast<std::size_t>(term.size));
      }
    });
  }
  py::dict result;
  for (std::size_t k = 0; k < names.size(); ++k) {
    result[py::str(names[k])] = frozen(std::move(requested[k].array));
  }
  return result;
}

/// An effort for every state, or one for all of them.
struct Effort {
  const double* data = nullptr;
  std::size_t stride = 0;

  const double* at(std::size_t i) const { return data == nullptr ? nullptr : data + i * stride; }
};

Effort effort(const MaybeArray& array, int size, std::size_t count, const char* name) {
  if (!array) return {};
  const bool is_shared = array->ndim() == 1;
  const bool fits = is_shared ? array->size() == size
                              : array->ndim() == 2 && array->shape(1) == size &&
                                    static_cast<std::size_t>(array->shape(0)) == count;
  if (!fits) {
    throw vms_ph::ModelError(std::string(name) + " must have shape (" + std::to_string(size) +
                             ",) or (" + std::to_string(count) + "," + std::to_string(size) + ")");
  }
  return {array->data(), is_shared ? 0 : static_cast<std::size_t>(size)};
}

py::tuple rates(Batch& batch, bool decoupled, const Array& q, const Array& z,
                const MaybeArray& torque, const MaybeArray& wrench_base,
                const std::vector<std::pair<int, Array>>& wrenches, const MaybeArray& viscous,
                const MaybeArray& coulomb, double slip, bool gravity) {
  const Dynamics& robot = batch.first();
  const std::size_t count = rows(q, robot.nq(), "Q");
  if (rows(z, robot.nv(), "Z") != count) throw vms_ph::ModelError("Q and Z differ in length");
  const Effort joints = effort(torque, robot.n(), count, "torque");
  const Effort base = effort(wrench_base, robot.b(), count, "wrench_base");
  const Effort friction = effort(viscous, robot.n(), 0, "viscous");
  const Effort coulomb_friction = effort(coulomb, robot.n(), 0, "coulomb");
  std::vector<std::pair<int, Effort>> acting;
  constexpr std::size_t kMaxFrames = 32;
  if (wrenches.size() > kMaxFrames) throw vms_ph::ModelError("at most 32 frames may have wrenches");
  for (const auto& [frame, wrench] : wrenches) {
    if (frame < 0 || frame >= robot.frames()) throw py::index_error("no such frame");
    acting.emplace_back(frame, effort(wrench, 6, count, "a wrench"));
  }
  const auto nv = static_cast<py::ssize_t>(robot.nv());
  Array qdot = empty({static_cast<py::ssize_t>(count), nv});
  Array zdot = empty({static_cast<py::ssize_t>(count), nv});
  {
    const double *q_rows = q.data(), *z_rows = z.data();
    double *qdot_rows = qdot.mutable_data(), *zdot_rows = zdot.mutable_data();
    const auto width = static_cast<std::size_t>(nv);
    const py::gil_scoped_release without_gil;
    batch.for_each(count, [&](Dynamics& d, std::size_t i) {
      FrameWrench frame_wrenches[kMaxFrames];
      Efforts efforts;
      efforts.torque = joints.at(i);
      efforts.wrench_base = base.at(i);
      efforts.viscous = friction.data;
      efforts.coulomb = coulomb_friction.data;
      efforts.slip = slip;
      efforts.gravity = gravity;
      efforts.wrenches = frame_wrenches;
      efforts.wrench_count = acting.size();
      for (std::size_t k = 0; k < efforts.wrench_count; ++k) {
        frame_wrenches[k] = {acting[k].first, acting[k].second.at(i)};
      }
      d.set_configuration(q_rows + i * static_cast<std::size_t>(d.nq()));
      const auto rate = decoupled ? &Dynamics::decoupled_rate : &Dynamics::standard_rate;
      (d.*rate)(z_rows + i * width, efforts, qdot_rows + i * width, zdot_rows + i * width);
    });
  }
  return py::make_tuple(frozen(std::move(qdot)), frozen(std::move(zdot)));
}

}  // namespace

void bind_batch(py::module_& module) {
  py::class_<Batch>(module, "Batch", "The robot in as many workspaces as threads.")
      .def(py::init([](const std::shared_ptr<Model>& model, std::size_t threads) {
             return std::make_unique<Batch>(*model, threads);
           }),
           "model"_a, "threads"_a)
      .def("evaluate", &evaluate, "Q"_a, "V"_a, "terms"_a, "frame"_a,
           "Return arrays of the terms, by name, with an axis of states before their own.")
      .def("rates", &rates, "decoupled"_a, "Q"_a, "Z"_a, "torque"_a, "wrench_base"_a, "wrenches"_a,
           "viscous"_a, "coulomb"_a, "slip"_a, "gravity"_a,
           "Return the rates of configurations and momenta of a form, (count,nv) each.");
}
