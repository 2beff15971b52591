// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_effort.hpp"

#include "vms_ph_native/products.hpp"

namespace vms_ph {

void TaskEffort::split(Evaluation& d, const Matrix3V& jacobian, double singular_below) noexcept {
  svd.compute(jacobian);
  motion.compute(d.M(), d.v(), d.momentum(), jacobian, svd, singular_below);
}

void TaskEffort::damp(Evaluation& d, const Matrix3V& jacobian, const VectorV& spring,
                      const MatrixV& stiffness, double task, double null, double h) noexcept {
  damping_matrix_ = motion.damping_matrix(jacobian, task, null);
  held.compute(d.M(), damping_matrix_, stiffness, spring, d.v(), h);
  multiply(jacobian, held.velocity, damping_task);
  damping_task *= task;
  multiply(motion.null_map, held.velocity, damping_null);
  damping_null *= null;
  damping = held.ahead;
  add_product(transposed(jacobian), damping_task, damping);
  add_product(transposed(motion.null_map), damping_null, damping);
}

}  // namespace vms_ph
