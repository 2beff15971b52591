// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Arrays of numpy as memory of the core.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// Contiguous doubles; other arrays are converted.
using Array = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;
using MaybeArray = std::optional<Array>;

/// A new array, and its memory.
inline Array empty(std::initializer_list<pybind11::ssize_t> shape) { return Array(shape); }

/// The same array, not to be written to from Python.
inline Array frozen(Array array) {
  pybind11::detail::array_proxy(array.ptr())->flags &=
      ~pybind11::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

inline void check_size(const Array& array, pybind11::ssize_t size, const char* name) {
  if (array.size() != size) {
    throw ModelError(std::string(name) + " must have " + std::to_string(size) +
                     " entries; given: " + std::to_string(array.size()));
  }
}

}  // namespace vms_ph
