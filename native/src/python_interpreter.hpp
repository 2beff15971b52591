// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The one Python interpreter of the process.
#pragma once

#include <pybind11/pybind11.h>

#include "vms_ph_native/python_host.hpp"

namespace vms_ph {

/// Create the interpreter, unless the process has one already; it is never finalised. Not real
/// time. The calling thread does not keep the GIL. @throws PythonError  its library is not
/// available.
void start_python();

/// Releases the GIL within a scope, if the calling thread holds it.
class WithoutLock {
 public:
  WithoutLock();
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* thread_;
};

/// Make the modules of an environment and of folders importable; with the GIL held.
///
/// @throws PythonError  there is no such environment, or it is one of another Python version.
void enter(const PythonOptions& options);

}  // namespace vms_ph
