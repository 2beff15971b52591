// Time-stepping schemes: steps, and long loops of them without returning to Python.
#include <memory>
#include <optional>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "vms_ph_native/integrators/discrete_gradient.hpp"
#include "vms_ph_native/integrators/projected_rk4.hpp"
#include "vms_ph_native/integrators/rk4.hpp"
#include "vms_ph_native/integrators/suzuki.hpp"
#include "vms_ph_native/model.hpp"

namespace py = pybind11;
using namespace py::literals;
using Eigen::VectorXd;
using vms_ph::CompensatedSum;
using vms_ph::Fall;
using vms_ph::Model;
using vms_ph::Past;
using vms_ph::Ports;
using vms_ph::SolverState;
using vms_ph::Stepper;
using vms_ph::StepResult;

namespace {

/// A scheme with its robot, which it refers to.
struct Scheme {
  std::shared_ptr<Model> model;
  std::unique_ptr<Stepper> stepper;
};

Scheme make(const std::shared_ptr<Model>& model, const std::string& name, bool gravity) {
  if (name == "projected_rk4") {
    return {model, std::make_unique<vms_ph::ProjectedRK4>(*model, gravity)};
  }
  if (name == "rk4") return {model, std::make_unique<vms_ph::RK4>(*model, gravity)};
  if (name == "discrete_gradient" || name == "discrete_gradient_4") {
    std::unique_ptr<Stepper> one = std::make_unique<vms_ph::DiscreteGradient>(*model, gravity);
    if (name == "discrete_gradient") return {model, std::move(one)};
    return {model, std::make_unique<vms_ph::Suzuki>(std::move(one))};
  }
  throw vms_ph::ModelError(
      "there is no compiled scheme '" + name +
      "'; there are projected_rk4, discrete_gradient, discrete_gradient_4, rk4");
}

VectorXd sized(const std::optional<VectorXd>& value, int size, const char* what) {
  if (!value) return {};
  // Numbers that are not finite are for the step to report: it fails.
  if (value->size() != size) {
    throw vms_ph::ModelError(std::string(what) + " must be " + std::to_string(size) +
                             " numbers; given: " + std::to_string(value->size()));
  }
  return *value;
}

Ports ports(const Model& model, const std::optional<VectorXd>& torque,
            const std::optional<VectorXd>& wrench_base,
            const std::optional<VectorXd>& wrench_end_effector,
            const std::optional<VectorXd>& viscous, const std::optional<VectorXd>& coulomb,
            double slip) {
  Ports held;
  held.any = torque || wrench_base || wrench_end_effector || viscous;
  held.torque = sized(torque, model.n(), "torque");
  held.wrench_base = sized(wrench_base, model.b(), "wrench_base");
  held.viscous = sized(viscous, model.n(), "viscous");
  held.coulomb = sized(coulomb, model.n(), "coulomb");
  if (held.coulomb.size() != held.viscous.size()) {
    throw vms_ph::ModelError("viscous and coulomb friction must be given together");
  }
  held.slip = slip;
  held.has_tool = wrench_end_effector.has_value();
  if (held.has_tool) {
    const VectorXd tool = sized(wrench_end_effector, 6, "wrench_end_effector");
    held.tool = {tool.head<3>(), tool.tail<3>()};
  }
  return held;
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

}  // namespace

void bind_integrators(py::module_& module) {
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
            for (const auto& [t, value] : points) x.past.take(t, value);
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
      .def(py::init(&make), "model"_a, "name"_a, "gravity"_a = true)
      .def_property_readonly("order", [](const Scheme& self) { return self.stepper->order(); })
      .def("begin", &begin, "q"_a, "v"_a, "t"_a = 0.0)
      .def("motion", &motion, "Return (q, v) in the inertial frame.")
      .def(
          "step",
          [](Scheme& self, const SolverState& x, const Ports& held, double t, double dt) {
            SolverState next = x;
            const StepResult result = self.stepper->step(x, held, t, dt, next);
            return py::make_tuple(std::move(next), result);
          },
          "solver_state"_a, "ports"_a, "t"_a, "dt"_a,
          "Return the solver state after the step, and its result.")
      .def(
          "run",
          [](Scheme& self, const SolverState& x, const Ports& held, double t0, double dt,
             long first, long steps) {
            SolverState here = x, room = x;
            vms_ph::MultiStepResult total;
            {
              const py::gil_scoped_release others;
              total = self.stepper->run(here, held, t0, dt, first, steps, room);
            }
            return py::make_tuple(std::move(here), total.result, total.steps);
          },
          "solver_state"_a, "ports"_a, "t0"_a, "dt"_a, "first"_a, "steps"_a,
          "Take steps from t0 + first * dt on; return the solver state at the end, the result of "
          "all, "
          "and how many were taken: fewer where the next one fails.");
}
