// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The one Python interpreter of the process, and a task of a worker that runs in it.
#pragma once

#include <utility>

#include <pybind11/pybind11.h>

#include "vms_ph_native/python_controller.hpp"
#include "vms_ph_native/worker.hpp"

namespace py = pybind11;

namespace vms_ph {

/// Create the interpreter, unless the process has one already; it is never finalised. Not real
/// time. The calling thread does not keep the GIL. @throws PythonError  its library is not
/// available.
void start_python();

/// Releases the GIL within a scope, if the calling thread holds it.
class GilRelease {
 public:
  GilRelease()
      : state_(Py_IsInitialized() != 0 && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {
  }
  ~GilRelease() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

/// Make the modules of an environment and of folders importable; with the GIL held.
///
/// @throws PythonError  there is no such environment, or it is one of another Python version.
void add_to_path(const PythonOptions& options);

/// Holds the GIL while a job runs, and never while it waits for a job.
class PythonTask : public WorkerTask {
 public:
  explicit PythonTask(PythonOptions options) : options_(std::move(options)) {}
  void begin() final;
  void run(int job) final;
  void end() noexcept final;

 protected:
  virtual void load() = 0;         ///< import and construct
  virtual void work(int job) = 0;  ///< may throw an exception raised in Python
  virtual void unload() = 0;       ///< release every Python object

 private:
  void translate_errors(void (*action)(PythonTask&, int), int job);

  PythonOptions options_;
  PyGILState_STATE gil_state_{};
  PyThreadState* thread_state_ = nullptr;
};

}  // namespace vms_ph
