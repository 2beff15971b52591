// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "python_task.hpp"

#include <pybind11/numpy.h>

#include "python_interpreter.hpp"

namespace py = pybind11;

namespace vms_ph {
namespace {

// The message of an exception from Python; the GIL is held.
std::string message_of(py::error_already_set& error) {
  try {
    if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
    const auto hosting = py::module_::import("vms_ph_controllers.hosting.hosted_controller");
    return py::cast<std::string>(hosting.attr("describe")(error.value()));
  } catch (const std::exception&) {
    return std::string(error.what()) +
           "\nThe packages of this project and their dependencies must be importable: give the "
           "virtual "
           "environment they are in, or name it in VMS_PH_PYTHON.";
  }
}

}  // namespace

void PythonTask::begin() {
  before_ = PyGILState_Ensure();
  try {
    locked(
        [](PythonTask& task, int) {
          enter(task.options_);
          task.load();
        },
        0);
  } catch (...) {
    locked([](PythonTask& task, int) { task.unload(); }, 0);
    PyGILState_Release(before_);
    throw;
  }
  thread_ = PyEval_SaveThread();
}

void PythonTask::run(int job) {
  PyEval_RestoreThread(thread_);
  try {
    locked([](PythonTask& task, int asked) { task.work(asked); }, job);
  } catch (...) {
    thread_ = PyEval_SaveThread();
    throw;
  }
  thread_ = PyEval_SaveThread();
}

void PythonTask::end() noexcept {
  PyEval_RestoreThread(thread_);
  unload();
  PyGILState_Release(before_);
}

// An exception from Python is read and released before the GIL is.
void PythonTask::locked(void (*action)(PythonTask&, int), int job) {
  std::string raised;
  try {
    action(*this, job);
    return;
  } catch (py::error_already_set& error) {
    raised = message_of(error);
  }
  throw PythonError(raised);
}

namespace {

py::list list_of(const Eigen::Ref<const Eigen::MatrixXd>& values) {
  py::list found;
  for (Eigen::Index i = 0; i < values.size(); ++i) found.append(values(i, 0));
  return found;
}

/// A matrix row by row.
py::list rows_of(const Eigen::Ref<const Eigen::MatrixXd>& matrix) {
  py::list found;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    found.append(list_of(matrix.row(i).transpose()));
  }
  return found;
}

}  // namespace

PythonSizes sizes_of(const py::object& model) {
  PythonSizes sizes{model.attr("b").cast<int>(),
                    model.attr("n").cast<int>(),
                    model.attr("nq").cast<int>(),
                    model.attr("nv").cast<int>(),
                    {}};
  for (const auto& name : model.attr("joint_names")) {
    sizes.joint_names.push_back(py::cast<std::string>(name));
  }
  return sizes;
}

double* numbers_of(const py::object& array) { return py::array_t<double>(array).mutable_data(); }

py::tuple arguments(const PythonRobot& robot) {
  py::tuple locked(robot.locked_joints.size());
  for (std::size_t k = 0; k < robot.locked_joints.size(); ++k) locked[k] = robot.locked_joints[k];
  const auto& g = robot.gravity;
  py::list immersed;
  for (const auto& body : robot.immersed) {
    immersed.append(py::make_tuple(body.link, rows_of(body.added_mass), body.volume,
                                   list_of(body.centre_of_buoyancy), list_of(body.linear_drag),
                                   list_of(body.quadratic_drag)));
  }
  return py::make_tuple(robot.urdf, robot.base, robot.end_effector, locked,
                        py::make_tuple(g[0], g[1], g[2]), immersed, robot.density);
}

py::object allocation_of(const PythonRobot& robot) {
  const PythonAllocation& given = robot.allocation;
  if (given.matrix.cols() == 0) return py::none();
  return py::make_tuple(rows_of(given.matrix), list_of(given.lower), list_of(given.upper));
}

}  // namespace vms_ph
