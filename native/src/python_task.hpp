// A worker's task that is done in Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "vms_ph_native/python_host.hpp"
#include "vms_ph_native/worker.hpp"

namespace vms_ph {

/// Holds the interpreter's lock while it works, and never while it waits for work.
class PythonTask : public Task {
 public:
  explicit PythonTask(PythonOptions options) : options_(std::move(options)) {}
  void begin() final;
  void run(int job) final;
  void end() noexcept final;

 protected:
  virtual void load() = 0;         ///< import and construct
  virtual void work(int job) = 0;  ///< may throw what Python raises
  virtual void unload() = 0;       ///< drop every Python object

 private:
  void locked(void (*action)(PythonTask&, int), int job);

  PythonOptions options_;
  PyGILState_STATE before_{};
  PyThreadState* thread_ = nullptr;
};

/// The sizes of a vms_ph_dynamics.VMSModel.
struct PythonSizes {
  int b = 0, n = 0, nq = 0, nv = 0;
  std::vector<std::string> joint_names;
};
PythonSizes sizes_of(const pybind11::object& model);

/// The numbers of an array that Python and C++ share, which must not be resized.
double* numbers_of(const pybind11::object& array);

/// What VMSModel.from_urdf takes, as vms_ph_controllers.hosting.hosted_controller.make_model takes
/// it.
pybind11::tuple arguments(const PythonRobot& robot);

}  // namespace vms_ph
