// A law in the loop of a scheme, for many steps without returning to Python.
#include "vms_ph_native/closed_loop.hpp"

#include <utility>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "scheme.hpp"
#include "vms_ph_native/guard.hpp"

namespace py = pybind11;
using namespace py::literals;
using Eigen::VectorXd;
using vms_ph::ClosedLoop;
using vms_ph::Scheme;

void bind_closed_loop(py::module_& module) {
  py::class_<ClosedLoop>(module, "ClosedLoop", "A guarded law and a scheme for the same robot.")
      .def(py::init([](vms_ph::Guard& law, Scheme& scheme, double floor) {
             return std::make_unique<ClosedLoop>(*scheme.model, law, *scheme.stepper,
                                                 scheme.gravity, floor);
           }),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), "guard"_a, "scheme"_a, "floor"_a)
      .def(
          "run",
          [](ClosedLoop& self, const vms_ph::SolverState& x, const vms_ph::Ports& outside,
             const VectorXd& torque, const VectorXd& wrench_base,
             const std::optional<Eigen::Vector3d>& position,
             const std::optional<Eigen::Vector3d>& velocity,
             const std::optional<Eigen::Matrix4d>& pose,
             const std::optional<Eigen::Matrix<double, 6, 1>>& twist,
             const std::optional<VectorXd>& joints, double t0, double dt, long first, long steps) {
            vms_ph::Reference reference{position, velocity, pose, twist, {}, joints.has_value()};
            if (joints) reference.joints = *joints;
            vms_ph::SolverState here = x, room = x;
            vms_ph::LoopResult result;
            result.now = result.before = {torque, wrench_base};
            {
              const py::gil_scoped_release others;
              self.run(here, room, outside, reference, t0, dt, first, steps, result);
            }
            return py::make_tuple(std::move(here), result.done.result, result.done.steps,
                                  result.before.torque, result.before.wrench_base,
                                  result.now.torque, result.now.wrench_base);
          },
          "solver_state"_a, "outside"_a, "torque"_a, "wrench_base"_a, "position"_a, "velocity"_a,
          "pose"_a, "twist"_a, "joints"_a, "t0"_a, "dt"_a, "first"_a, "steps"_a,
          "Return solver state, result, number of steps, and torque and base wrench of the law "
          "over the last step and after it.");
}
