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

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

void TaskEffort::split(Evaluation& d, const Matrix3V& jacobian, double singular_below) noexcept {
  svd.compute(jacobian);
  motion.compute(d.M(), d.v(), d.momentum(), jacobian, svd, singular_below);
}

VMS_PH_WIDE void TaskEffort::damp(Evaluation& d, const Matrix3V& jacobian, const VectorV& spring,
                                  const MatrixV& stiffness, double task, double null,
                                  double h) noexcept {
  damping_matrix_ = motion.damping_matrix(jacobian, task, null);
  held.compute(d.M(), damping_matrix_, stiffness, spring, d.v(), h);
  damping_task = task * jacobian.lazyProduct(held.velocity);
  damping_null = null * motion.null_map.lazyProduct(held.velocity);
  damping = held.ahead;
  damping.noalias() += jacobian.transpose().lazyProduct(damping_task);
  damping.noalias() += motion.null_map.transpose().lazyProduct(damping_null);
}

}  // namespace vms_ph
