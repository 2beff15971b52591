// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A control in the loop of a scheme, for many steps without returning to Python.
#include "vms_ph_native/closed_loop.hpp"

#include <exception>
#include <utility>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/controller.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace vms_ph {
namespace {

using Eigen::VectorXd;

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

}  // namespace

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

}  // namespace vms_ph
