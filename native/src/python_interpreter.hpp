// The one Python interpreter of the process.
#pragma once

#include <pybind11/pybind11.h>

#include "vms_ph_native/python_host.hpp"

namespace vms_ph {

/// Make the interpreter, unless the process has one already; it is never ended. Not real time.
///
/// The calling thread does not keep its lock. @throws PythonError  its library is not available.
void start_python();

/// Gives the lock back for a while, where the calling thread is one of Python's and has it.
class WithoutLock {
 public:
  WithoutLock();
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* thread_;
};

/// Make the modules of an environment and of folders importable; with the lock held.
///
/// @throws PythonError  no such environment, or one of another Python.
void enter(const PythonOptions& options);

}  // namespace vms_ph
