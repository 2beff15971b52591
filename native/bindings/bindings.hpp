// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the Python module; arrays of numpy are memory of the core, its matrices arrays.
#pragma once

#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <Eigen/Core>

#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/wheels.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace vms_ph {

/// Contiguous doubles.
using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A new array, and its memory.
inline Array empty(std::initializer_list<py::ssize_t> shape) { return Array(shape); }

/// The same array, not to be written to from Python.
inline Array read_only(Array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

/// The numbers of an argument. A binding reads them by naming the size that they must have; there
/// is no other way to them, and bindings take no other arrays of any size. None is refused. They
/// live as long as this object, so they cannot be read from a temporary one.
///
/// @throws ModelError  numbers of another size, by every function that names one.
class Numbers {
 public:
  using Size = py::ssize_t;

  /// (size,)
  const double* data(Size size, const char* name) const& {
    if (array_.ndim() != 1 || array_.size() != size) throw_shape_error({size}, name);
    return array_.data();
  }
  Eigen::Map<const Eigen::VectorXd> vector(Size size, const char* name) const& {
    return {data(size, name), size};
  }

  /// (rows,columns)
  Eigen::Map<const RowMajor> matrix(Size rows, Size columns, const char* name) const& {
    if (array_.ndim() != 2 || array_.shape(0) != rows || array_.shape(1) != columns) {
      throw_shape_error({rows, columns}, name);
    }
    return {array_.data(), rows, columns};
  }

  /// As many rows of this length as there are.
  Eigen::Map<const RowMajor> rows(Size columns, const char* name) const& {
    return matrix(array_.ndim() == 2 ? array_.shape(0) : -1, columns, name);
  }

  Size dimensions() const noexcept { return array_.ndim(); }

  /// (size,); null for another size, and for numbers that are not finite, as the square of a large
  /// one is not either.
  const double* finite_data_of_size(Size size) const& noexcept {
    if (array_.ndim() != 1 || array_.size() != size) return nullptr;
    double sum = 0.0;
    for (Size i = 0; i < size; ++i) sum += array_.data()[i] * array_.data()[i];
    return std::isfinite(sum) ? array_.data() : nullptr;
  }

  /// A vector of any size, for functions that test it; without entries for an array of more axes.
  Eigen::Map<const Eigen::VectorXd> any_vector() const& noexcept {
    return {array_.data(), array_.ndim() == 1 ? array_.size() : 0};
  }
  /// A matrix of any size, for functions that test it; without entries for other arrays.
  Eigen::Map<const RowMajor> any_matrix() const& noexcept {
    return {array_.data(), array_.ndim() == 2 ? array_.shape(0) : 0,
            array_.ndim() == 2 ? array_.shape(1) : 0};
  }

  /// Write a matrix or vector of fixed size; false for numbers of another one.
  template <class Matrix>
  bool write_if_it_fits(Matrix& matrix) const& noexcept {
    const auto values = [this] {
      if constexpr (Matrix::IsVectorAtCompileTime) {
        return any_vector();
      } else {
        return any_matrix();
      }
    }();
    const bool fits = values.rows() == matrix.rows() && values.cols() == matrix.cols();
    if (fits) matrix = values;
    return fits;
  }

 private:
  friend py::detail::type_caster<Numbers>;

  [[noreturn]] void throw_shape_error(std::initializer_list<Size> shape, const char* name) const {
    const auto shape_text = [](const Size* sizes, Size axes) {
      std::string list;
      for (Size i = 0; i < axes; ++i) {
        list += sizes[i] < 0 ? "count" : std::to_string(sizes[i]);
        if (i + 1 < axes || axes == 1) list += ",";
      }
      return "(" + list + ")";
    };
    throw ModelError(std::string(name) + " must have shape " +
                     shape_text(shape.begin(), static_cast<Size>(shape.size())) +
                     "; given: " + shape_text(array_.shape(), array_.ndim()));
  }

  Array array_;
};

using MaybeNumbers = std::optional<Numbers>;

void bind_dynamics(py::module_& module);
void bind_integrators(py::module_& module);
void bind_laws(py::module_& module);
void bind_mechanism(py::module_& module);
void bind_sampled_algebra(py::module_& module);

/// A scheme with its robot, which must outlive it.
struct Scheme {
  const Model& model;
  std::unique_ptr<Stepper> stepper;
  bool has_gravity;
  bool is_implicit;  ///< whether its solver states have joint momenta and past steps
};

/// A solver state that Python keeps. It is read by naming the scheme, whose robot it must fit; its
/// vectors keep their sizes.
class StoredState {
 public:
  explicit StoredState(SolverState state) : state_(std::move(state)) {}

  /// @throws ModelError  it is of another robot, or of another kind of scheme.
  const SolverState& checked_for(const Scheme& scheme) const;

  static void bind(py::module_& module);

 private:
  SolverState state_;
};

/// Efforts that Python keeps, read in the same way.
class StoredPorts {
 public:
  explicit StoredPorts(Ports ports) : ports_(std::move(ports)) {}

  /// @throws ModelError  they are of a robot of another size.
  const Ports& checked_for(const Model& model) const;

  static void bind(py::module_& module);

 private:
  Ports ports_;
};

/// @param robot   a pinocchio.Model of Python: it may be of another version, since it is read by
///                its attributes.
/// @param mimics  name, name of the other, multiplier and offset of the joints that mimic others.
/// @throws ModelError  it is none, or the core does not cover the robot.
Model model_of(const py::object& robot, const std::string& end_effector,
               const std::vector<std::tuple<std::string, std::string, double, double>>& mimics);

/// The wheels with radii, m, by the names of their joints.
std::vector<Wheel> wheels_of(const py::dict& radii);

/// @throws ModelError  more threads than any machine has, each with a workspace of its own.
std::size_t checked_threads(std::size_t threads);

}  // namespace vms_ph

namespace pybind11::detail {

template <>
struct type_caster<vms_ph::Numbers> {
  PYBIND11_TYPE_CASTER(vms_ph::Numbers, const_name("numpy.ndarray"));

  bool load(handle src, bool convert) {
    if (src.is_none() || (!convert && !vms_ph::Array::check_(src))) return false;
    value.array_ = vms_ph::Array::ensure(src);
    return static_cast<bool>(value.array_);
  }
};

/// Matrices of the core, which Python gets as copies. Arguments have a fixed size, tested here.
template <class Matrix>
struct type_caster<Matrix, enable_if_t<std::is_base_of_v<Eigen::PlainObjectBase<Matrix>, Matrix>>> {
  PYBIND11_TYPE_CASTER(Matrix, const_name("numpy.ndarray"));

  bool load(handle src, bool convert) {
    static_assert(Matrix::SizeAtCompileTime != Eigen::Dynamic,
                  "take vms_ph::Numbers, which are read by naming their size");
    make_caster<vms_ph::Numbers> numbers;
    if (!numbers.load(src, convert)) return false;
    return cast_op<const vms_ph::Numbers&>(numbers).write_if_it_fits(value);
  }

  static handle cast(const Matrix& src, return_value_policy, handle) {
    vms_ph::Array array = Matrix::IsVectorAtCompileTime ? vms_ph::empty({src.size()})
                                                        : vms_ph::empty({src.rows(), src.cols()});
    Eigen::Map<vms_ph::RowMajor>(array.mutable_data(), src.rows(), src.cols()) = src;
    return array.release();
  }
};

}  // namespace pybind11::detail
