// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/gravity_compensating_fallback.hpp"

#include <utility>

namespace vms_ph {

GravityCompensatingFallback::GravityCompensatingFallback(const Model& model,
                                                         std::unique_ptr<PythonController> law,
                                                         std::optional<Allocation> allocation,
                                                         bool base_actuated)
    : model_(model), law_(std::move(law)), fallback_(model, std::move(allocation), base_actuated) {
  if (law_->b() != model.b() || law_->joint_names() != model.joint_names()) {
    throw ModelError("Python finds other joints in this robot description than Pinocchio");
  }
  fallback_command_.wrench_base = Eigen::VectorXd::Zero(model.b());
  fallback_command_.torque = Eigen::VectorXd::Zero(model.n());
}

const Command& GravityCompensatingFallback::update(const RobotState& state,
                                                   const Reference& reference, double dt) noexcept {
  const auto last_failures = law_->late_updates() + law_->failed_updates();
  const auto& command = law_->update(state, reference, dt);
  if (law_->late_updates() + law_->failed_updates() == last_failures || !state.is_usable(model_))
    return command;
  fallback_.compute(state.q, state.v, dt, state.age);
  fallback_command_.wrench_base = fallback_.wrench_base();
  fallback_command_.torque = fallback_.torque();
  fallback_command_.status = command.status;
  fallback_command_.reason = command.reason;
  fallback_command_.task_error = command.task_error;
  fallback_command_.smallest_singular_value = command.smallest_singular_value;
  return fallback_command_;
}

}  // namespace vms_ph
