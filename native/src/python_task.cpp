// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "python_task.hpp"

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include <dlfcn.h>
#include <pybind11/embed.h>

namespace fs = std::filesystem;

namespace vms_ph {
namespace {

bool needs_settling = false;  // created here, with settings that are not made yet

// Extension modules such as numpy's are not linked to libpython: they expect its symbols among the
// global ones of the program, where those of a plugin's libraries are not by default.
void promote_libpython() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&Py_IsInitialized), &library) != 0 &&
      library.dli_fname != nullptr) {
    dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
  void* program_handle = dlopen(nullptr, RTLD_NOW);  // the program's symbols, without this library
  if (dlsym(program_handle, "PyObject_Call") == nullptr) {
    const char* reason = dlerror();
    throw PythonError(
        std::string("the Python library cannot be made visible to its extension modules: ") +
        (reason == nullptr ? "none of its symbols is found" : reason));
  }
}

std::string version() {
  return std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
}

// The folder of the packages of an environment; empty if it is not one of this Python version.
fs::path packages_folder(const fs::path& root_folder) {
  const fs::path site_packages = fs::path("lib") / ("python" + version()) / "site-packages";
  // The folder, or that of its bin/python.
  for (fs::path folder : {root_folder, root_folder.parent_path().parent_path()}) {
    if (fs::is_directory(folder / site_packages)) return folder / site_packages;
  }
  return root_folder.filename() == "site-packages" && fs::is_directory(root_folder) ? root_folder
                                                                                    : fs::path();
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path environment_packages(const std::string& option) {
  const std::string folder_name = option.empty() ? environment_variable("VMS_PH_PYTHON") : option;
  if (folder_name.empty()) {
    const std::string active_environment = environment_variable("VIRTUAL_ENV");
    return active_environment.empty() ? fs::path() : packages_folder(active_environment);
  }
  const fs::path site_packages = packages_folder(folder_name);
  if (site_packages.empty()) {
    throw PythonError("'" + folder_name + "' is no virtual environment of Python " + version() +
                      ", which this library was built with: it has no lib/python" + version() +
                      "/site-packages; give the folder of one as the environment, or in "
                      "VMS_PH_PYTHON");
  }
  return site_packages;
}

// As in a virtual environment: after the standard library, before the packages of the system.
void add_packages(const std::string& folder) {
  py::exec(R"(
import site, sys
if folder not in sys.path:
    before = list(sys.path)
    site.addsitedir(folder)
    new = [p for p in sys.path if p not in before]
    first = next((i for i, p in enumerate(before) if p.endswith(("site-packages", "dist-packages"))),
                 len(before))
    sys.path[:] = before[:first] + new + before[first:]
)",
           py::module_::import("builtins").attr("dict")(py::arg("folder") = folder));
}

}  // namespace

void start_python() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  static bool is_started = false;
  if (is_started) return;
  promote_libpython();
  if (Py_IsInitialized() == 0) {
    // Threads of numpy would only wait for each other (see vms_ph_nodes/__init__.py).
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    // Signals, arguments and standard streams belong to the program and are not changed.
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = config.install_signal_handlers = config.configure_c_stdio = 0;
    py::initialize_interpreter(&config, 0, nullptr, /*add_program_dir_to_path=*/false);
    needs_settling = true;
    PyEval_SaveThread();
  }
  is_started = true;
}

void add_to_path(const PythonOptions& options) {
  // One thread at a time changes the path; the others wait without the GIL, which it may need.
  static std::mutex mutex;
  std::unique_lock<std::mutex> path_lock(mutex, std::defer_lock);
  {
    const py::gil_scoped_release gil_release;
    path_lock.lock();
  }
  const fs::path folder = environment_packages(options.environment);
  if (!folder.empty()) add_packages(folder.string());
  py::list path = py::module_::import("sys").attr("path");
  for (auto k = options.folders.size(); k-- > 0;) {
    const std::string name = options.folders[k];
    if (!path.contains(name)) path.insert(0, name);
  }
  if (needs_settling) {
    py::module_::import("vms_ph_controllers.hosting.hosted_controller").attr("settle")();
    needs_settling = false;
  }
}

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
           "virtual environment they are in, or name it in VMS_PH_PYTHON.";
  }
}

}  // namespace

void PythonTask::begin() {
  gil_state_ = PyGILState_Ensure();
  try {
    translate_errors(
        [](PythonTask& task, int) {
          add_to_path(task.options_);
          task.load();
        },
        0);
  } catch (...) {
    translate_errors([](PythonTask& task, int) { task.unload(); }, 0);
    PyGILState_Release(gil_state_);
    throw;
  }
  thread_state_ = PyEval_SaveThread();
}

void PythonTask::run(int job) {
  PyEval_RestoreThread(thread_state_);
  try {
    translate_errors([](PythonTask& task, int job_number) { task.work(job_number); }, job);
  } catch (...) {
    thread_state_ = PyEval_SaveThread();
    throw;
  }
  thread_state_ = PyEval_SaveThread();
}

void PythonTask::end() noexcept {
  PyEval_RestoreThread(thread_state_);
  unload();
  PyGILState_Release(gil_state_);
}

// An exception from Python is read and released before the GIL is.
void PythonTask::translate_errors(void (*action)(PythonTask&, int), int job) {
  std::string message;
  try {
    action(*this, job);
    return;
  } catch (py::error_already_set& error) {
    message = message_of(error);
  }
  throw PythonError(message);
}

}  // namespace vms_ph
