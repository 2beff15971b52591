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

#include "vms_ph_native/gravity_compensating_fallback.hpp"

#include <utility>

namespace vms_ph {

GravityCompensatingFallback::GravityCompensatingFallback(const Model& model,
                                                         std::unique_ptr<PythonController> law,
                                                         std::optional<Allocation> allocation,
                                                         bool base_actuated)
    : model_(model), law_(std::move(law)), safe_(model, std::move(allocation), base_actuated) {
  if (law_->b() != model.b() || law_->joint_names() != model.joint_names()) {
    throw ModelError("Python finds other joints in this robot description than Pinocchio");
  }
  fallback_.wrench_base = Eigen::VectorXd::Zero(model.b());
  fallback_.torque = Eigen::VectorXd::Zero(model.n());
}

const Command& GravityCompensatingFallback::update(const RobotState& state,
                                                   const Reference& reference, double dt) noexcept {
  const auto before = law_->late() + law_->failed();
  const auto& command = law_->update(state, reference, dt);
  if (law_->late() + law_->failed() == before || !state.is_usable(model_)) return command;
  safe_.compute(state.q, state.v, dt);
  fallback_.wrench_base = safe_.wrench_base();
  fallback_.torque = safe_.torque();
  fallback_.status = command.status;
  fallback_.reason = command.reason;
  fallback_.task_error = command.task_error;
  fallback_.smallest_singular_value = command.smallest_singular_value;
  return fallback_;
}

}  // namespace vms_ph
