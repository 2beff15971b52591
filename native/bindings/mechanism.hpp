// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Mechanisms in the Python module, and the steps that they are compared with.
#pragma once

#include <pybind11/pybind11.h>

void bind_mechanism(pybind11::module_& module);
