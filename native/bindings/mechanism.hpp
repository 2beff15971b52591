// Mechanisms in the Python module, and the steps that they are compared with.
#pragma once

#include <pybind11/pybind11.h>

void bind_mechanism(pybind11::module_& module);
void bind_pinocchio_rk4(pybind11::module_& module);
