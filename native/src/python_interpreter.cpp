// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "python_interpreter.hpp"

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include <dlfcn.h>
#include <pybind11/embed.h>

namespace py = pybind11;
namespace fs = std::filesystem;

namespace vms_ph {
namespace {

bool ours = false;  // created here, so that its settings may be changed

// Extension modules such as numpy's are not linked to libpython: they expect its symbols among the
// global ones of the program, where those of a plugin's libraries are not by default.
void promote_libpython() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(&Py_IsInitialized), &found) != 0 &&
      found.dli_fname != nullptr) {
    dlopen(found.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
  void* global =
      dlopen(nullptr, RTLD_NOW);  // the program and its global symbols, without this library
  if (dlsym(global, "PyObject_Call") == nullptr) {
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
fs::path packages(const fs::path& given) {
  const fs::path inside = fs::path("lib") / ("python" + version()) / "site-packages";
  for (fs::path folder :
       {given, given.parent_path().parent_path()}) {  // the folder, or that of its bin/python
    if (fs::is_directory(folder / inside)) return folder / inside;
  }
  return given.filename() == "site-packages" && fs::is_directory(given) ? given : fs::path();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path environment(const std::string& option) {
  const std::string asked = option.empty() ? variable("VMS_PH_PYTHON") : option;
  if (asked.empty()) {
    const std::string active = variable("VIRTUAL_ENV");
    return active.empty() ? fs::path() : packages(active);
  }
  const fs::path found = packages(asked);
  if (found.empty()) {
    throw PythonError("'" + asked + "' is no virtual environment of Python " + version() +
                      ", which this library was built with: it has no lib/python" + version() +
                      "/site-packages; give the folder of one as the environment, or in "
                      "VMS_PH_PYTHON");
  }
  return found;
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

WithoutLock::WithoutLock()
    : thread_(Py_IsInitialized() != 0 && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}

WithoutLock::~WithoutLock() {
  if (thread_ != nullptr) PyEval_RestoreThread(thread_);
}

void start_python() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  static bool ready = false;
  if (ready) return;
  promote_libpython();
  if (Py_IsInitialized() == 0) {
    // Signals, arguments and standard streams belong to the program and are not changed.
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = config.install_signal_handlers = config.configure_c_stdio = 0;
    py::initialize_interpreter(&config, 0, nullptr, /*add_program_dir_to_path=*/false);
    ours = true;
    PyEval_SaveThread();
  }
  ready = true;
}

void enter(const PythonOptions& options) {
  // One thread at a time changes the path. The others wait without the GIL, which the thread that
  // changes it may need.
  static std::mutex mutex;
  std::unique_lock<std::mutex> turn(mutex, std::defer_lock);
  {
    const py::gil_scoped_release waiting;
    turn.lock();
  }
  const fs::path folder = environment(options.environment);
  if (!folder.empty()) add_packages(folder.string());
  py::list path = py::module_::import("sys").attr("path");
  for (auto k = options.folders.size(); k-- > 0;) {
    const std::string name = options.folders[k];
    if (!path.contains(name)) path.insert(0, name);
  }
  if (ours) {
    py::module_::import("vms_ph_controllers.hosting.hosted_controller").attr("settle")();
    ours = false;
  }
}

}  // namespace vms_ph
