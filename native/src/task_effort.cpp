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
