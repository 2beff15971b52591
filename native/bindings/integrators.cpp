// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Time-stepping schemes: steps, long loops of them without returning to Python, and loops with a
// control in them.
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/integrators/stepper.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace vms_ph {
namespace {

using Eigen::VectorXd;

Scheme make_scheme(const Model& model, const std::string& name, bool gravity,
                   const py::dict& wheels) {
  return {model, make_stepper(name, model, gravity, wheels_of(wheels)), gravity,
          name == "discrete_gradient"};
}

VectorXd sized(const MaybeNumbers& numbers, int size, const char* name) {
  // Numbers that are not finite are for the step to report: it fails.
  return numbers ? VectorXd(numbers->vector(size, name)) : VectorXd();
}

KeptPorts ports(const Model& model, const MaybeNumbers& torque, const MaybeNumbers& wrench_base,
                const MaybeNumbers& wrench_end_effector, const MaybeNumbers& viscous,
                const MaybeNumbers& coulomb, double slip) {
  Ports efforts;
  efforts.any = torque || wrench_base || wrench_end_effector || viscous;
  efforts.torque = sized(torque, model.n(), "torque");
  efforts.wrench_base = sized(wrench_base, model.b(), "wrench_base");
  efforts.viscous = sized(viscous, model.n(), "viscous");
  efforts.coulomb = sized(coulomb, model.n(), "coulomb");
  if (efforts.coulomb.size() != efforts.viscous.size()) {
    throw ModelError("viscous and coulomb friction must be given together");
  }
  efforts.slip = slip;
  efforts.has_tool = wrench_end_effector.has_value();
  if (efforts.has_tool) {
    const auto tool = wrench_end_effector->vector(6, "wrench_end_effector");
    efforts.tool = {tool.head<3>(), tool.tail<3>()};
  }
  return KeptPorts(std::move(efforts));
}

/// Many runs of one robot under held efforts, divided among threads. A run ends before a step that
/// fails; the records after it are left as they are.
py::dict run_batch(const Model& model, const std::string& name, bool gravity, const Numbers& Q,
                   const Numbers& V, const std::vector<KeptPorts>& ports, double t0, double dt,
                   long steps, long every, std::size_t threads) {
  const auto q = Q.rows(model.nq(), "Q");
  const Eigen::Index runs = q.rows(), nq = model.nq(), nv = model.nv();
  const auto v = V.matrix(runs, nv, "V");
  std::vector<const Ports*> efforts;
  for (const KeptPorts& kept : ports) efforts.push_back(&kept.of(model));
  const auto count = static_cast<std::size_t>(runs);
  constexpr double kMostRecords = 1e10;
  if ((efforts.size() != 1 && efforts.size() != count) || every < 1 || steps < 0 ||
      static_cast<double>(steps / every) * static_cast<double>(runs) > kMostRecords) {
    throw ModelError("states, efforts or steps do not fit each other");
  }
  const Eigen::Index records = steps / every + (steps % every > 0 ? 1 : 0) + 1;
  const auto filled = [](std::initializer_list<py::ssize_t> shape) {
    Array out = empty(shape);
    std::fill_n(out.mutable_data(), out.size(), std::numeric_limits<double>::quiet_NaN());
    return out;
  };
  Array q_out = filled({runs, records, nq}), v_out = filled({runs, records, nv});
  Array energy = filled({runs, records}), supplied = filled({3, runs, records - 1});
  Array dissipated = filled({runs, records - 1});
  py::array_t<long> done(runs);
  struct Worker {
    std::unique_ptr<Stepper> stepper;
    std::unique_ptr<Dynamics> robot;
  };
  std::vector<Worker> workers;
  const std::size_t most = std::min(checked_threads(threads), count);
  for (std::size_t k = 0; k < std::max<std::size_t>(1, most); ++k) {
    workers.push_back({make_stepper(name, model, gravity), std::make_unique<Dynamics>(model)});
  }
  {
    double *qs = q_out.mutable_data(), *vs = v_out.mutable_data();
    double *energies = energy.mutable_data(), *losses = dissipated.mutable_data();
    double* works = supplied.mutable_data();
    long* finished = done.mutable_data();
    const py::gil_scoped_release others;
    share(count, workers.size(), [&](std::size_t w, std::size_t run) {
      auto& [stepper, robot] = workers[w];
      const auto i = static_cast<Eigen::Index>(run);
      VectorXd here = q.row(i), rate = v.row(i);
      SolverState x = stepper->begin(here, rate, t0), scratch = x;
      const Ports& acting = *efforts[efforts.size() == 1 ? 0 : run];
      long k = 0;
      for (Eigen::Index at = 0; at < records; ++at) {
        if (at > 0) {
          const long part = std::min(every, steps - k);
          const MultiStepResult result = stepper->run(x, acting, t0, dt, k, part, scratch);
          k += result.steps;
          if (result.steps < part) break;
          const Eigen::Index interval = i * (records - 1) + at - 1;
          for (Eigen::Index port = 0; port < 3; ++port) {
            works[port * runs * (records - 1) + interval] =
                result.result.supplied[static_cast<std::size_t>(port)];
          }
          losses[interval] = result.result.dissipated;
        }
        stepper->motion(x, here, rate);
        std::copy_n(here.data(), nq, qs + (i * records + at) * nq);
        std::copy_n(rate.data(), nv, vs + (i * records + at) * nv);
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

void bind_scheme(py::module_& module) {
  py::class_<Scheme>(module, "Scheme", "A time-stepping scheme for a robot.")
      .def(py::init(&make_scheme), py::keep_alive<1, 2>(), "model"_a, "name"_a, "gravity"_a = true,
           "wheels"_a = py::dict(),
           "On wheels that do not slip: their radii, m, by the names of the joints that turn them.")
      .def_property_readonly("order", [](const Scheme& self) { return self.stepper->order(); })
      .def(
          "begin",
          [](Scheme& self, const Numbers& q, const Numbers& v, double t) {
            return KeptState(self.stepper->begin(q.vector(self.model.nq(), "q"),
                                                 v.vector(self.model.nv(), "v"), t));
          },
          "q"_a, "v"_a, "t"_a = 0.0)
      .def(
          "motion",
          [](Scheme& self, const KeptState& x) {
            VectorXd q, v;
            self.stepper->motion(x.of(self), q, v);
            return py::make_tuple(q, v);
          },
          "solver_state"_a, "Return (q, v) in the inertial frame.")
      .def(
          "step",
          [](Scheme& self, const KeptState& x, const KeptPorts& efforts, double t, double dt) {
            SolverState next = x.of(self);
            const StepResult result =
                self.stepper->step(x.of(self), efforts.of(self.model), t, dt, next);
            return py::make_tuple(KeptState(std::move(next)), result);
          },
          "solver_state"_a, "ports"_a, "t"_a, "dt"_a,
          "Return the solver state after the step, and its result.")
      .def(
          "run",
          [](Scheme& self, const KeptState& x, const KeptPorts& efforts, double t0, double dt,
             long first, long steps) {
            SolverState here = x.of(self), scratch = here;
            const Ports& acting = efforts.of(self.model);
            MultiStepResult total;
            {
              const py::gil_scoped_release others;
              total = self.stepper->run(here, acting, t0, dt, first, steps, scratch);
            }
            return py::make_tuple(KeptState(std::move(here)), total.result, total.steps);
          },
          "solver_state"_a, "ports"_a, "t0"_a, "dt"_a, "first"_a, "steps"_a,
          "Take steps from t0 + first * dt on; return the solver state at the end, the result of "
          "all, and how many were taken: fewer where the next one fails.");
}

}  // namespace

std::size_t checked_threads(std::size_t threads) {
  constexpr std::size_t kMost = 1024;
  if (threads <= kMost) return threads;
  throw ModelError("at most " + std::to_string(kMost) +
                   " threads; given: " + std::to_string(threads));
}

const SolverState& KeptState::of(const Scheme& scheme) const {
  const int nv = scheme.model.nv(), n = scheme.model.n();
  if (state_.q.size() != scheme.model.nq() || state_.v.size() != nv ||
      state_.pi.size() != (scheme.is_implicit ? n : 0) ||
      state_.past.values[0].size() != (scheme.is_implicit ? nv + 1 : 0)) {
    throw ModelError("the solver state is of another robot or of another kind of scheme");
  }
  return state_;
}

const Ports& KeptPorts::of(const Model& model) const {
  const auto fits = [](const VectorXd& part, int size) {
    return part.size() == 0 || part.size() == size;
  };
  if (!fits(ports_.torque, model.n()) || !fits(ports_.wrench_base, model.b()) ||
      !fits(ports_.viscous, model.n())) {
    throw ModelError("the efforts are of a robot of another size");
  }
  return ports_;
}

void KeptState::bind(py::module_& module) {
  // A vector of the state, which keeps its size.
  const auto vector = [](const char* name, VectorXd SolverState::* member) {
    return std::make_pair([member](const KeptState& x) { return VectorXd(x.state_.*member); },
                          [name, member](KeptState& x, const Numbers& numbers) {
                            x.state_.*member = numbers.vector((x.state_.*member).size(), name);
                          });
  };
  const auto q = vector("q", &SolverState::q), v = vector("v", &SolverState::v),
             pi = vector("pi", &SolverState::pi);
  py::class_<KeptState>(module, "SolverState", "State of a scheme between steps.")
      .def("__copy__", [](const KeptState& x) { return KeptState(x); })
      .def_property("q", q.first, q.second)
      .def_property("v", v.first, v.second)
      .def_property("pi", pi.first, pi.second)
      .def_property("fall",
                    py::cpp_function([](KeptState& x) -> Fall& { return x.state_.fall; },
                                     py::return_value_policy::reference_internal),
                    [](KeptState& x, const Fall& fall) { x.state_.fall = fall; })
      .def_property(
          "angular", [](const KeptState& x) { return x.state_.angular; },
          [](KeptState& x, const Eigen::Vector3d& angular) { x.state_.angular = angular; })
      .def_property(
          "energy",
          [](const KeptState& x) {
            return py::make_tuple(x.state_.energy.value, x.state_.energy.rest);
          },
          [](KeptState& x, std::pair<double, double> e) { x.state_.energy = {e.first, e.second}; })
      .def_property(
          "t", [](const KeptState& x) { return x.state_.t; },
          [](KeptState& x, double t) { x.state_.t = t; })
      .def_property(
          "past",
          [](const KeptState& x) {
            py::list points;
            const PastSteps& past = x.state_.past;
            for (int i = 0; i < past.count; ++i) {
              const auto at = static_cast<std::size_t>(i);
              points.append(py::make_tuple(past.times[at], past.values[at]));
            }
            return points;
          },
          [](KeptState& x, const std::vector<std::pair<double, Numbers>>& points) {
            PastSteps past = x.state_.past;
            past.count = 0;
            for (const auto& [t, value] : points) {
              past.append(t, value.vector(past.values[0].size(), "a past step"));
            }
            x.state_.past = std::move(past);
          });
}

void KeptPorts::bind(py::module_& module) {
  py::class_<KeptPorts>(module, "Ports", "Efforts held over a step.")
      .def(py::init(&ports), "model"_a, "torque"_a = py::none(), "wrench_base"_a = py::none(),
           "wrench_end_effector"_a = py::none(), "viscous"_a = py::none(), "coulomb"_a = py::none(),
           "slip"_a = 1.0)
      .def_property_readonly("any", [](const KeptPorts& efforts) { return efforts.ports_.any; });
}

namespace {

/// A function of Python, from q (nq,), v (nv,) and dt to an object with torque and base wrench.
class PythonControl final : public Control {
 public:
  PythonControl(py::object function, const HeldCommand& first) : function_(std::move(function)) {
    command_.torque = first.torque;
    command_.wrench_base = first.wrench_base;
  }

  const Command* update(const RobotState& state, double dt) noexcept override {
    try {
      const py::object answer = function_(state.q, state.v, dt);
      take(answer.attr("torque"), command_.torque, "torque");
      take(answer.attr("wrench_base"), command_.wrench_base, "wrench_base");
      return &command_;
    } catch (...) {
      error = std::current_exception();
      return nullptr;
    }
  }

  std::exception_ptr error;  ///< raised by the last call

 private:
  static void take(const py::object& from, VectorXd& out, const char* name) {
    py::detail::make_caster<Numbers> numbers;
    if (!numbers.load(from, true)) throw ModelError(std::string(name) + " must be numbers");
    out = py::detail::cast_op<const Numbers&>(numbers).vector(out.size(), name);
  }

  py::object function_;
  Command command_;
};

/// A loop with the scheme that it must outlive.
struct KeptLoop {
  Scheme& scheme;
  ClosedLoop loop;

  KeptLoop(Scheme& its_scheme, double floor)
      : scheme(its_scheme),
        loop(its_scheme.model, *its_scheme.stepper, its_scheme.gravity, floor) {}

  HeldCommand first(const Numbers& torque, const Numbers& wrench_base) const {
    return {torque.vector(scheme.model.n(), "torque"),
            wrench_base.vector(scheme.model.b(), "wrench_base")};
  }
};

py::tuple result_of(SolverState&& current, LoopResult&& result, py::object error) {
  return py::make_tuple(KeptState(std::move(current)), result.done.result, result.done.steps,
                        std::move(result.before.torque), std::move(result.before.wrench_base),
                        std::move(result.now.torque), std::move(result.now.wrench_base),
                        std::move(error));
}

/// An exception as an object, to be raised once the steps before it are recorded; or None.
py::object raised(const std::exception_ptr& error) {
  if (!error) return py::none();
  try {
    std::rethrow_exception(error);
  } catch (const py::error_already_set& answer) {
    return answer.value();
  } catch (const std::exception& answer) {
    return py::reinterpret_borrow<py::object>(PyExc_ValueError)(answer.what());
  }
}

using MaybeVector3 = std::optional<Eigen::Vector3d>;
using MaybeVector6 = std::optional<Eigen::Matrix<double, 6, 1>>;

py::tuple run_law(KeptLoop& self, Controller& law, const MaybeVector3& position,
                  const MaybeVector3& velocity, const std::optional<Eigen::Matrix4d>& pose,
                  const MaybeVector6& twist, const MaybeNumbers& joints, const MaybeVector6& wrench,
                  const KeptState& x, const KeptPorts& external_ports, const Numbers& torque,
                  const Numbers& wrench_base, double t0, double dt, long first, long steps) {
  Reference reference{position, velocity, pose, twist, {}, joints.has_value(), wrench};
  if (joints) reference.joints = joints->of_any_size();
  SolverState current = x.of(self.scheme), scratch = current;
  const Ports& outside = external_ports.of(self.scheme.model);
  LoopResult result;
  result.now = result.before = self.first(torque, wrench_base);
  HeldReference control(law, reference);
  {
    const py::gil_scoped_release others;
    self.loop.run(control, current, scratch, outside, t0, dt, first, steps, result);
  }
  if (!result.fits) throw ModelError("the law is for a robot of another size");
  return result_of(std::move(current), std::move(result), py::none());
}

py::tuple run_function(KeptLoop& self, const py::object& function, const KeptState& x,
                       const KeptPorts& external_ports, const Numbers& torque,
                       const Numbers& wrench_base, double t0, double dt, long first, long steps) {
  SolverState current = x.of(self.scheme), scratch = current;
  LoopResult result;
  result.now = result.before = self.first(torque, wrench_base);
  PythonControl control(function, result.now);
  self.loop.run(control, current, scratch, external_ports.of(self.scheme.model), t0, dt, first,
                steps, result);
  return result_of(std::move(current), std::move(result), raised(control.error));
}

void bind_closed_loop(py::module_& module) {
  py::class_<KeptLoop>(module, "ClosedLoop", "A scheme with a control in its loop.")
      .def(py::init<Scheme&, double>(), py::keep_alive<1, 2>(), "scheme"_a, "floor"_a)
      .def("run", &run_law, "law"_a, "position"_a, "velocity"_a, "pose"_a, "twist"_a, "joints"_a,
           "wrench"_a, "solver_state"_a, "outside"_a, "torque"_a, "wrench_base"_a, "t0"_a, "dt"_a,
           "first"_a, "steps"_a,
           "Take steps under a law. Return solver state, result, number of steps, torque "
           "and base wrench of the law over the last step and after it, and None.")
      .def("run_function", &run_function, "function"_a, "solver_state"_a, "outside"_a, "torque"_a,
           "wrench_base"_a, "t0"_a, "dt"_a, "first"_a, "steps"_a,
           "The same under a function of q, v and dt; last is the exception that it has raised.");
}

}  // namespace

void bind_integrators(py::module_& module) {
  py::class_<Fall>(module, "Fall")
      .def_readwrite("since", &Fall::since)
      .def_readwrite("centre", &Fall::centre)
      .def_readwrite("linear", &Fall::linear)
      .def_readonly("mass", &Fall::mass)
      .def_readonly("gravity", &Fall::gravity);
  KeptState::bind(module);
  KeptPorts::bind(module);
  py::class_<StepResult>(module, "StepResult", "Energies and outcome of a step, or of many.")
      .def_readonly("supplied", &StepResult::supplied)
      .def_readonly("dissipated", &StepResult::dissipated)
      .def_readonly("iterations", &StepResult::iterations)
      .def_property_readonly("failed",
                             [](const StepResult& a) { return a.failure != Failure::none; })
      .def_property_readonly("reason", &StepResult::reason);
  bind_scheme(module);
  module.def("run_batch", &run_batch, "model"_a, "scheme"_a, "gravity"_a, "Q"_a, "V"_a, "ports"_a,
             "t0"_a, "dt"_a, "steps"_a, "every"_a, "threads"_a,
             "Return q (N,K,nq), v (N,K,nv), energy (N,K), supplied (3,N,K-1), dissipated (N,K-1) "
             "of N runs recorded at K instants, and the steps that each has taken.");
  module.def(
      "pinocchio_rk4",
      [](const Model& model, const Numbers& q0, const Numbers& v0, double dt, int steps) {
        VectorXd q = q0.vector(model.nq(), "q"), v = v0.vector(model.nv(), "v");
        pinocchio_rk4(model, q, v, dt, steps);
        return py::make_tuple(q, v);
      },
      "model"_a, "q"_a, "v"_a, "dt"_a, "steps"_a);
  bind_closed_loop(module);
}

}  // namespace vms_ph
