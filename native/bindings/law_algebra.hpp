// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The workspace of laws in Python, and arrays as its vectors and matrices.
#pragma once

#include <algorithm>
#include <string>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "vms_ph_native/decoupled_effort.hpp"
#include "vms_ph_native/held_impedance.hpp"
#include "vms_ph_native/joint_limit_potential.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_motion.hpp"
#include "vms_ph_native/pose_potential.hpp"
#include "vms_ph_native/position_task.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/reference_governor.hpp"
#include "vms_ph_native/sample_prediction.hpp"
#include "vms_ph_native/task_effort.hpp"

namespace vms_ph {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Eigen::Map<const RowMajor> matrix_of(const Array& array, pybind11::ssize_t rows,
                                            pybind11::ssize_t columns) {
  if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
    throw ModelError("a matrix of " + std::to_string(rows) + " rows and " +
                     std::to_string(columns) + " columns is needed");
  }
  return {array.data(), rows, columns};
}

inline Eigen::Map<const Eigen::VectorXd> vector_of(const Array& array, pybind11::ssize_t size,
                                                   const char* name) {
  check_size(array, size, name);
  return {array.data(), size};
}

inline pybind11::ssize_t size_of(const Array& velocity) {
  if (velocity.size() > kMaxVelocities) {
    throw ModelError("at most " + std::to_string(kMaxVelocities) + " velocities");
  }
  return velocity.size();
}

template <class Values>
Array array_of(const Values& values) {
  Array out = empty({values.size()});
  std::copy(values.data(), values.data() + values.size(), out.mutable_data());
  return out;
}

template <class Values>
Array rows_of(const Values& values) {
  Array out = empty({values.rows(), values.cols()});
  Eigen::Map<RowMajor>(out.mutable_data(), values.rows(), values.cols()) = values;
  return out;
}

/// The workspace of laws in Python, one thread at a time.
struct LawAlgebra {
  explicit LawAlgebra(const Model& model)
      : held(model),
        decoupled(model),
        task(model),
        pose(model),
        step(model),
        prediction(model),
        d(model),
        limits(model) {}

  HeldImpedance held;
  TaskSvd svd;
  SplitMotion motion;
  DecoupledEffort decoupled;
  TaskEffort task;
  PoseEffort pose;
  Matrix6V pose_jacobian, pose_momentum;
  SymmetricEigen eigen;
  MinimumStep step;
  Minimum minimum;
  SamplePrediction prediction;
  Prediction predicted;
  DecoupledEffort::Springs springs;
  PosePotential potential;
  Evaluation d;
  const JointLimitPotential limits;
  MatrixV mass, damping, stiffness;
  Matrix3V jacobian;
};

inline void set_state(LawAlgebra& self, const Array& q, const Array& v) {
  self.d.set(vector_of(q, self.d.model().nq(), "q"), vector_of(v, self.d.model().nv(), "v"));
}

inline void check_frame(const Model& model, pinocchio::FrameIndex frame) {
  if (frame >= model.frames()) throw pybind11::index_error("no such frame");
}

inline PositionTask task_of(const Model& model, pinocchio::FrameIndex frame) {
  check_frame(model, frame);
  return PositionTask(frame);
}

/// Add the efforts of laws to the class of the workspace.
void bind_law_efforts(pybind11::class_<LawAlgebra>& algebra);

}  // namespace vms_ph
