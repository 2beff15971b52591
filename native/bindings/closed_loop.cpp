// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A control in the loop of a scheme, for many steps without returning to Python.
#include "vms_ph_native/closed_loop.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/controller.hpp"

namespace py = pybind11;
using namespace py::literals;
using Eigen::VectorXd;
using vms_ph::ClosedLoop;
using vms_ph::Scheme;

namespace {

vms_ph::Array copied(const VectorXd& values) {
  vms_ph::Array out = vms_ph::empty({values.size()});
  std::copy(values.data(), values.data() + values.size(), out.mutable_data());
  return out;
}

/// A function of Python, from q (nq,), v (nv,) and dt to an object with torque and base wrench.
class PythonControl final : public vms_ph::Control {
 public:
  PythonControl(py::object function, int n, int b) : function_(std::move(function)) {
    command_.torque.resize(n);
    command_.wrench_base.resize(b);
  }

  const vms_ph::Command* update(const vms_ph::RobotState& state, double dt) noexcept override {
    try {
      const py::object answer = function_(copied(state.q), copied(state.v), dt);
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
  static void take(const py::object& values, VectorXd& out, const char* name) {
    const auto array = vms_ph::Array::ensure(values);
    if (!array) throw py::error_already_set();
    vms_ph::check_size(array, out.size(), name);
    std::copy(array.data(), array.data() + out.size(), out.data());
  }

  py::object function_;
  vms_ph::Command command_;
};

py::tuple result_of(vms_ph::SolverState&& current, vms_ph::LoopResult&& result, py::object error) {
  return py::make_tuple(std::move(current), result.done.result, result.done.steps,
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

}  // namespace

void bind_closed_loop(py::module_& module) {
  py::class_<ClosedLoop>(module, "ClosedLoop", "A scheme with a control in its loop.")
      .def(py::init([](Scheme& scheme, double floor) {
             return std::make_unique<ClosedLoop>(*scheme.model, *scheme.stepper, scheme.gravity,
                                                 floor);
           }),
           py::keep_alive<1, 2>(), "scheme"_a, "floor"_a)
      .def(
          "run",
          [](ClosedLoop& self, vms_ph::Controller& law,
             const std::optional<Eigen::Vector3d>& position,
             const std::optional<Eigen::Vector3d>& velocity,
             const std::optional<Eigen::Matrix4d>& pose,
             const std::optional<Eigen::Matrix<double, 6, 1>>& twist,
             const std::optional<VectorXd>& joints,
             const std::optional<Eigen::Matrix<double, 6, 1>>& wrench, const vms_ph::SolverState& x,
             const vms_ph::Ports& external_ports, const VectorXd& torque,
             const VectorXd& wrench_base, double t0, double dt, long first, long steps) {
            vms_ph::Reference reference{position, velocity,           pose,  twist,
                                        {},       joints.has_value(), wrench};
            if (joints) reference.joints = *joints;
            vms_ph::SolverState current = x, scratch = x;
            vms_ph::LoopResult result;
            result.now = result.before = {torque, wrench_base};
            vms_ph::HeldReference control(law, reference);
            {
              const py::gil_scoped_release others;
              self.run(control, current, scratch, external_ports, t0, dt, first, steps, result);
            }
            return result_of(std::move(current), std::move(result), py::none());
          },
          "law"_a, "position"_a, "velocity"_a, "pose"_a, "twist"_a, "joints"_a, "wrench"_a,
          "solver_state"_a, "outside"_a, "torque"_a, "wrench_base"_a, "t0"_a, "dt"_a, "first"_a,
          "steps"_a,
          "Take steps under a law. Return solver state, result, number of steps, torque "
          "and base wrench of the law over the last step and after it, and None.")
      .def(
          "run_function",
          [](ClosedLoop& self, const py::object& function, const vms_ph::SolverState& x,
             const vms_ph::Ports& external_ports, const VectorXd& torque,
             const VectorXd& wrench_base, double t0, double dt, long first, long steps) {
            vms_ph::SolverState current = x, scratch = x;
            vms_ph::LoopResult result;
            result.now = result.before = {torque, wrench_base};
            PythonControl control(function, static_cast<int>(torque.size()),
                                  static_cast<int>(wrench_base.size()));
            self.run(control, current, scratch, external_ports, t0, dt, first, steps, result);
            return result_of(std::move(current), std::move(result), raised(control.error));
          },
          "function"_a, "solver_state"_a, "outside"_a, "torque"_a, "wrench_base"_a, "t0"_a, "dt"_a,
          "first"_a, "steps"_a,
          "The same under a function of q, v and dt; last is the exception that it has raised.");
}
