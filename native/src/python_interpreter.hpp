// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
