// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Time-stepping schemes: steps, and long loops of them without returning to Python.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/batch.hpp"
#include "vms_ph_native/integrators/rk4.hpp"
#include "vms_ph_native/model.hpp"

namespace py = pybind11;
using namespace py::literals;
using Eigen::VectorXd;
using vms_ph::Array;
using vms_ph::Fall;
using vms_ph::Model;
using vms_ph::Ports;
using vms_ph::Scheme;
using vms_ph::SolverState;
using vms_ph::Stepper;
using vms_ph::StepResult;

namespace {

Scheme make_scheme(const std::shared_ptr<Model>& model, const std::string& name, bool gravity,
                   const py::dict& wheels) {
  return {model, vms_ph::make_stepper(name, *model, gravity, vms_ph::wheels_of(wheels)), gravity};
}

VectorXd sized(const std::optional<VectorXd>& value, int size, const char* port_name) {
  if (!value) return {};
  // Numbers that are not finite are for the step to report: it fails.
  if (value->size() != size) {
    throw vms_ph::ModelError(std::string(port_name) + " must be " + std::to_string(size) +
                             " numbers; given: " + std::to_string(value->size()));
  }
  return *value;
}

Ports ports(const Model& model, const std::optional<VectorXd>& torque,
            const std::optional<VectorXd>& wrench_base,
            const std::optional<VectorXd>& wrench_end_effector,
            const std::optional<VectorXd>& viscous, const std::optional<VectorXd>& coulomb,
            double slip) {
  Ports efforts;
  efforts.any = torque || wrench_base || wrench_end_effector || viscous;
  efforts.torque = sized(torque, model.n(), "torque");
  efforts.wrench_base = sized(wrench_base, model.b(), "wrench_base");
  efforts.viscous = sized(viscous, model.n(), "viscous");
  efforts.coulomb = sized(coulomb, model.n(), "coulomb");
  if (efforts.coulomb.size() != efforts.viscous.size()) {
    throw vms_ph::ModelError("viscous and coulomb friction must be given together");
  }
  efforts.slip = slip;
  efforts.has_tool = wrench_end_effector.has_value();
  if (efforts.has_tool) {
    const VectorXd tool = sized(wrench_end_effector, 6, "wrench_end_effector");
    efforts.tool = {tool.head<3>(), tool.tail<3>()};
  }
  return efforts;
}

py::tuple motion(Scheme& self, const SolverState& x) {
  VectorXd q, v;
  self.stepper->motion(x, q, v);
  return py::make_tuple(q, v);
}

SolverState begin(Scheme& self, const VectorXd& q, const VectorXd& v, double t) {
  sized(q, self.model->nq(), "q");
  sized(v, self.model->nv(), "v");
  return self.stepper->begin(q, v, t);
}

/// Many runs of one robot under held efforts, divided among threads. A run ends before a step that
/// fails; the records after it are left as they are.
py::dict run_batch(const std::shared_ptr<Model>& model, const std::string& name, bool gravity,
                   const Array& q, const Array& v, const std::vector<Ports>& efforts, double t0,
                   double dt, long steps, long every, std::size_t threads) {
  const auto count = static_cast<std::size_t>(q.ndim() == 2 ? q.shape(0) : 0);
  const auto nq = static_cast<std::size_t>(model->nq()), nv = static_cast<std::size_t>(model->nv());
  if (q.ndim() != 2 || v.ndim() != 2 || static_cast<std::size_t>(q.shape(1)) != nq ||
      static_cast<std::size_t>(v.shape(1)) != nv || static_cast<std::size_t>(v.shape(0)) != count ||
      (efforts.size() != 1 && efforts.size() != count) || every < 1 || steps < 0) {
    throw vms_ph::ModelError("states, efforts or steps do not fit each other");
  }
  const auto records = static_cast<std::size_t>((steps + every - 1) / every + 1);
  const auto runs = static_cast<py::ssize_t>(count), instants = static_cast<py::ssize_t>(records);
  const auto nothing = std::numeric_limits<double>::quiet_NaN();
  const auto filled = [&](std::vector<py::ssize_t> shape) {
    Array out(shape);
    std::fill(out.mutable_data(), out.mutable_data() + out.size(), nothing);
    return out;
  };
  Array q_out = filled({runs, instants, static_cast<py::ssize_t>(nq)});
  Array v_out = filled({runs, instants, static_cast<py::ssize_t>(nv)});
  Array energy = filled({runs, instants});
  Array supplied = filled({3, runs, instants - 1});
  Array dissipated = filled({runs, instants - 1});
  py::array_t<long> done(runs);
  struct Worker {
    std::unique_ptr<Stepper> stepper;
    std::unique_ptr<vms_ph::Dynamics> robot;
  };
  std::vector<Worker> workers;
  for (std::size_t k = 0; k < std::max<std::size_t>(1, std::min(threads, count)); ++k) {
    workers.push_back(
        {vms_ph::make_stepper(name, *model, gravity), std::make_unique<vms_ph::Dynamics>(*model)});
  }
  {
    const double *q_in = q.data(), *v_in = v.data();
    double *qs = q_out.mutable_data(), *vs = v_out.mutable_data();
    double *energies = energy.mutable_data(), *losses = dissipated.mutable_data();
    double* ports = supplied.mutable_data();
    long* finished = done.mutable_data();
    const py::gil_scoped_release others;
    vms_ph::share(count, workers.size(), [&](std::size_t w, std::size_t i) {
      auto& [stepper, robot] = workers[w];
      VectorXd here = Eigen::Map<const VectorXd>(q_in + i * nq, static_cast<Eigen::Index>(nq));
      VectorXd rate = Eigen::Map<const VectorXd>(v_in + i * nv, static_cast<Eigen::Index>(nv));
      SolverState x = stepper->begin(here, rate, t0), scratch = x;
      const Ports& acting = efforts[efforts.size() == 1 ? 0 : i];
      long k = 0;
      for (std::size_t at = 0; at < records; ++at) {
        if (at > 0) {
          const long part = std::min(every, steps - k);
          const vms_ph::MultiStepResult result = stepper->run(x, acting, t0, dt, k, part, scratch);
          k += result.steps;
          if (result.steps < part) break;
          const std::size_t interval = i * (records - 1) + at - 1;
          for (std::size_t port = 0; port < 3; ++port) {
            ports[port * count * (records - 1) + interval] = result.result.supplied[port];
          }
          losses[interval] = result.result.dissipated;
        }
        stepper->motion(x, here, rate);
        std::copy(here.data(), here.data() + nq, qs + (i * records + at) * nq);
        std::copy(rate.data(), rate.data() + nv, vs + (i * records + at) * nv);
        robot->set_configuration(here.data());
        robot->set_velocity(rate.data());
        energies[i * records + at] =
            robot->kinetic_energy() + (gravity ? robot->potential_energy() : 0.0);
      }
      finished[i] = k;
    });
  }
  return py::dict("q"_a = q_out, "v"_a = v_out, "energy"_a = energy, "supplied"_a = supplied,
                  "dissipated"_a = dissipated, "steps"_a = done);
}

}  // namespace

void bind_integrators(py::module_& module) {
  module.def("run_batch", &run_batch, "model"_a, "scheme"_a, "gravity"_a, "Q"_a, "V"_a, "ports"_a,
             "t0"_a, "dt"_a, "steps"_a, "every"_a, "threads"_a,
             "Return q (N,K,nq), v (N,K,nv), energy (N,K), supplied (3,N,K-1), dissipated (N,K-1) "
             "of N runs recorded at K instants, and the steps that each has taken.");
  py::class_<Fall>(module, "Fall")
      .def_readwrite("since", &Fall::since)
      .def_readwrite("centre", &Fall::centre)
      .def_readwrite("linear", &Fall::linear)
      .def_readonly("mass", &Fall::mass)
      .def_readonly("gravity", &Fall::gravity);
  py::class_<SolverState>(module, "SolverState", "State of a scheme between steps.")
      .def("__copy__", [](const SolverState& x) { return SolverState(x); })
      .def_readwrite("q", &SolverState::q)
      .def_readwrite("v", &SolverState::v)
      .def_readwrite("pi", &SolverState::pi)
      .def_readwrite("fall", &SolverState::fall)
      .def_readwrite("angular", &SolverState::angular)
      .def_property(
          "energy",
          [](const SolverState& x) { return py::make_tuple(x.energy.value, x.energy.rest); },
          [](SolverState& x, std::pair<double, double> e) { x.energy = {e.first, e.second}; })
      .def_readwrite("t", &SolverState::t)
      .def_property(
          "past",
          [](const SolverState& x) {
            py::list points;
            for (int i = 0; i < x.past.count; ++i) {
              const auto at = static_cast<std::size_t>(i);
              points.append(py::make_tuple(x.past.times[at], x.past.values[at]));
            }
            return points;
          },
          [](SolverState& x, const std::vector<std::pair<double, VectorXd>>& points) {
            x.past.count = 0;
            for (const auto& [t, value] : points) x.past.append(t, value);
          });
  py::class_<Ports>(module, "Ports", "Efforts held over a step.")
      .def(py::init(&ports), "model"_a, "torque"_a = py::none(), "wrench_base"_a = py::none(),
           "wrench_end_effector"_a = py::none(), "viscous"_a = py::none(), "coulomb"_a = py::none(),
           "slip"_a = 1.0)
      .def_readonly("any", &Ports::any);
  py::class_<StepResult>(module, "StepResult", "Energies and outcome of a step, or of many.")
      .def_readonly("supplied", &StepResult::supplied)
      .def_readonly("dissipated", &StepResult::dissipated)
      .def_readonly("iterations", &StepResult::iterations)
      .def_property_readonly("failed",
                             [](const StepResult& a) { return a.failure != vms_ph::Failure::none; })
      .def_property_readonly("reason", &StepResult::reason);
  py::class_<Scheme>(module, "Scheme", "A time-stepping scheme for a robot.")
      .def(py::init(&make_scheme), "model"_a, "name"_a, "gravity"_a = true, "wheels"_a = py::dict(),
           "On wheels that do not slip: their radii, m, by the names of the joints that turn them.")
      .def_property_readonly("order", [](const Scheme& self) { return self.stepper->order(); })
      .def("begin", &begin, "q"_a, "v"_a, "t"_a = 0.0)
      .def("motion", &motion, "Return (q, v) in the inertial frame.")
      .def(
          "step",
          [](Scheme& self, const SolverState& x, const Ports& efforts, double t, double dt) {
            SolverState next = x;
            const StepResult result = self.stepper->step(x, efforts, t, dt, next);
            return py::make_tuple(std::move(next), result);
          },
          "solver_state"_a, "ports"_a, "t"_a, "dt"_a,
          "Return the solver state after the step, and its result.")
      .def(
          "run",
          [](Scheme& self, const SolverState& x, const Ports& efforts, double t0, double dt,
             long first, long steps) {
            SolverState here = x, scratch = x;
            vms_ph::MultiStepResult total;
            {
              const py::gil_scoped_release others;
              total = self.stepper->run(here, efforts, t0, dt, first, steps, scratch);
            }
            return py::make_tuple(std::move(here), total.result, total.steps);
          },
          "solver_state"_a, "ports"_a, "t0"_a, "dt"_a, "first"_a, "steps"_a,
          "Take steps from t0 + first * dt on; return the solver state at the end, the result of "
          "all, "
          "and how many were taken: fewer where the next one fails.");
  module.def("pinocchio_rk4", &vms_ph::pinocchio_rk4, "model"_a, "q"_a, "v"_a, "dt"_a, "steps"_a);
}
