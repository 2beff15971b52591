// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "actuated_base.hpp"

#include <cmath>
#include <utility>

namespace vms_ph_ros2_control {

ActuatedBase::ActuatedBase(const vms_ph::Model& model, std::optional<BaseActuators> actuators)
    : actuators_(std::move(actuators)), wrench_(Eigen::VectorXd::Zero(model.b())) {
  if (!actuators_) return;
  const auto& allocation = actuators_->allocation;
  if (allocation.matrix().rows() != model.b()) {
    throw vms_ph::ModelError("the actuators of the robot description are those of a base with " +
                             std::to_string(allocation.matrix().rows()) + " velocities; that of '" +
                             model.name() + "' has " + std::to_string(model.b()));
  }
  nearest_.emplace(allocation, actuators_->weights);
  sent_ = thrusts_ = rates_ = Eigen::VectorXd::Zero(allocation.matrix().cols());
}

void ActuatedBase::allocate(const Eigen::VectorXd& wanted) noexcept {
  nearest_->apply(wanted, wanted);
  sent_ = nearest_->inputs();
  for (Eigen::Index i = 0; i < sent_.size(); ++i) {
    if (std::abs(sent_[i]) < actuators_->dead_zone[i]) sent_[i] = 0.0;
  }
}

void ActuatedBase::settle(const Eigen::VectorXd& wanted) noexcept {
  wrench_ = wanted;
  if (!nearest_) return;
  allocate(wanted);
  thrusts_ = sent_;
  for (Eigen::Index i = 0; i < sent_.size(); ++i) {
    const double k = actuators_->thrust_constant[i];
    rates_[i] = k > 0.0 ? std::copysign(std::sqrt(std::abs(sent_[i]) / k), sent_[i]) : 0.0;
  }
  wrench_.noalias() = actuators_->allocation.matrix().lazyProduct(thrusts_);
}

const Eigen::VectorXd& ActuatedBase::hold(const Eigen::VectorXd& wanted, double dt) noexcept {
  wrench_ = wanted;
  if (!nearest_) return wrench_;
  allocate(wanted);
  for (Eigen::Index i = 0; i < sent_.size(); ++i) {
    const double lag = actuators_->time_constant[i], k = actuators_->thrust_constant[i];
    const double left = lag > 0.0 ? std::exp(-dt / lag) : 0.0;
    if (k > 0.0) {
      // The rate of the shaft lags; the thrust is that of its mean over the step.
      const double goal = std::copysign(std::sqrt(std::abs(sent_[i]) / k), sent_[i]);
      const double end = goal + left * (rates_[i] - goal), mean = 0.5 * (rates_[i] + end);
      rates_[i] = end;
      thrusts_[i] = k * mean * std::abs(mean);
    } else {
      thrusts_[i] = sent_[i] + left * (thrusts_[i] - sent_[i]);
    }
  }
  wrench_.noalias() = actuators_->allocation.matrix().lazyProduct(thrusts_);
  return wrench_;
}

}  // namespace vms_ph_ros2_control
