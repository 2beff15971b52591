// A worker's task that is done in Python.
#pragma once

#include <string>

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

/// What VMSModel.from_urdf takes, as vms_ph_controllers.hosting.make_model takes it.
pybind11::tuple arguments(const PythonRobot& robot);

}  // namespace vms_ph
