# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

# The host of Python controllers.
find_package(Python COMPONENTS Interpreter Development.Module Development.Embed REQUIRED)
find_package(pybind11 CONFIG REQUIRED)
find_package(Threads REQUIRED)

add_library(vms_ph_python_host SHARED
  src/worker.cpp
  src/python_task.cpp
  src/python_controller.cpp)
# One file for the compiler: of each alone nearly all is instantiating pybind11.
set_target_properties(vms_ph_python_host PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
set_source_files_properties(src/worker.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_options(vms_ph_python_host PRIVATE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # there are no other files that could differ
target_include_directories(vms_ph_python_host PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(vms_ph_python_host PUBLIC Eigen3::Eigen
  PRIVATE pybind11::pybind11 Python::Python Threads::Threads ${CMAKE_DL_LIBS} $<BUILD_INTERFACE:vms_ph_warnings>)
# Modules that the interpreter has loaded cannot be unloaded, so neither can what holds it. It uses
# its own copy of inline functions: with those of the plugin that loads it, that would stay as well.
target_link_options(vms_ph_python_host PRIVATE LINKER:-z,nodelete LINKER:-Bsymbolic)

# By itself: what links to Pinocchio could keep the plugin of who needs only the host from being unloaded.
add_library(vms_ph_gravity_compensating_fallback STATIC src/gravity_compensating_fallback.cpp)
target_link_libraries(vms_ph_gravity_compensating_fallback PUBLIC vms_ph_native vms_ph_python_host
  PRIVATE $<BUILD_INTERFACE:vms_ph_warnings>)
vms_ph_precompiled(vms_ph_gravity_compensating_fallback)
