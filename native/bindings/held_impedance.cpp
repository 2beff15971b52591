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

// The algebra of sampled laws, for laws in Python.
#include "vms_ph_native/held_impedance.hpp"

#include <algorithm>
#include <memory>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/split_motion.hpp"
#include "vms_ph_native/task_svd.hpp"

namespace py = pybind11;
using namespace py::literals;
using Vector = Eigen::VectorXd;
using vms_ph::Array;
using vms_ph::HeldImpedance;
using vms_ph::MatrixV;
using vms_ph::VectorV;

namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMajor> matrix_of(const Array& array, py::ssize_t rows, py::ssize_t columns) {
  if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
    throw vms_ph::ModelError("a matrix of " + std::to_string(rows) + " rows and " +
                             std::to_string(columns) + " columns is needed");
  }
  return {array.data(), rows, columns};
}

Eigen::Map<const Vector> vector_of(const Array& array, py::ssize_t size, const char* name) {
  vms_ph::check_size(array, size, name);
  return {array.data(), size};
}

py::ssize_t size_of(const Array& velocity) {
  if (velocity.size() > vms_ph::kMaxVelocities) {
    throw vms_ph::ModelError("at most " + std::to_string(vms_ph::kMaxVelocities) + " velocities");
  }
  return velocity.size();
}

template <class Values>
Array array_of(const Values& values) {
  Array out = vms_ph::empty({values.size()});
  std::copy(values.data(), values.data() + values.size(), out.mutable_data());
  return out;
}

template <class Values>
Array rows_of(const Values& values) {
  Array out = vms_ph::empty({values.rows(), values.cols()});
  Eigen::Map<RowMajor>(out.mutable_data(), values.rows(), values.cols()) = values;
  return out;
}

/// The workspace of laws in Python, one thread at a time.
struct Algebra {
  HeldImpedance held;
  vms_ph::TaskSvd svd;
  vms_ph::SplitMotion motion;
  MatrixV mass, damping, stiffness;
  vms_ph::Matrix3V jacobian;
};

py::tuple hold(Algebra& self, const Array& mass, const Array& damping, const Array& stiffness,
               const Array& gradient, const Array& velocity, double h) {
  const py::ssize_t nv = size_of(velocity);
  // Symmetric: the order of the entries does not matter.
  self.mass = matrix_of(mass, nv, nv);
  self.damping = matrix_of(damping, nv, nv);
  self.stiffness = matrix_of(stiffness, nv, nv);
  self.held.compute(self.mass, self.damping, self.stiffness,
                    VectorV(vector_of(gradient, nv, "gradient")),
                    VectorV(vector_of(velocity, nv, "velocity")), h);
  return py::make_tuple(array_of(self.held.spring), array_of(self.held.velocity),
                        array_of(self.held.ahead), self.held.reason());
}

py::tuple split(Algebra& self, const Array& mass, const Array& velocity, const Array& momentum,
                const Array& jacobian, double singular_below) {
  const py::ssize_t nv = size_of(velocity);
  self.mass = matrix_of(mass, nv, nv);
  self.jacobian = matrix_of(jacobian, 3, nv);
  self.svd.compute(self.jacobian);
  vms_ph::SplitMotion& motion = self.motion;
  motion.compute(self.mass, vector_of(velocity, nv, "velocity"),
                 vector_of(momentum, nv, "momentum"), self.jacobian, self.svd, singular_below);
  return py::make_tuple(array_of(motion.eta), rows_of(motion.null_map), array_of(motion.nu),
                        array_of(motion.null_velocity), motion.kinetic_null, motion.smallest,
                        motion.is_regular, rows_of(self.svd.pseudo_inverse(singular_below)));
}

}  // namespace

void bind_held_impedance(py::module_& module) {
  py::class_<Algebra>(module, "LawAlgebra",
                      "The algebra of sampled laws; a workspace of one thread.")
      .def(py::init([](const vms_ph::Model& model) {
             return std::unique_ptr<Algebra>(
                 new Algebra{HeldImpedance(model), {}, {}, {}, {}, {}, {}});
           }),
           py::keep_alive<1, 2>(), "model"_a)
      .def_property_readonly_static("largest",
                                    [](const py::object&) { return vms_ph::kMaxVelocities; })
      .def("hold", &hold, "mass"_a, "damping"_a, "stiffness"_a, "gradient"_a, "velocity"_a, "h"_a,
           "Return spring, velocity, ahead and reason of a HeldImpedance.")
      .def("split", &split, "mass"_a, "velocity"_a, "momentum"_a, "jacobian"_a, "singular_below"_a,
           "Return the parts of a SplitMotion after J.");
}
