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
  const Eigen::MatrixXd weighted = actuators_->weights.asDiagonal() * allocation.matrix();
  search_.emplace(weighted);
  lower_ = allocation.lower();
  upper_ = allocation.upper();
  goal_ = twist_ = Eigen::VectorXd::Zero(model.b());
  sent_ = Eigen::VectorXd::Zero(allocation.matrix().cols());
  thrusts_ = rates_ = moving_ = friction_ = spun_ = sent_;
  health_.assign(static_cast<std::size_t>(sent_.size()), Health::good);
}

/// Set the limits of the inputs; whether they are others than those of the allocation.
bool ActuatedBase::limit() noexcept {
  const auto& a = *actuators_;
  lower_ = a.allocation.lower();
  upper_ = a.allocation.upper();
  bool other = false;
  for (Eigen::Index i = 0; i < lower_.size(); ++i) {
    const bool failed = health_[static_cast<std::size_t>(i)] == Health::failed;
    const bool fast = moving_[i] >= a.largest_rate[i], back = moving_[i] <= -a.largest_rate[i];
    if (failed || fast) upper_[i] = 0.0;
    if (failed || back) lower_[i] = 0.0;
    other = other || failed || fast || back;
  }
  return other;
}

void ActuatedBase::allocate(const Eigen::VectorXd& wanted) noexcept {
  if (limit()) {
    goal_ = actuators_->weights.cwiseProduct(wanted);
    search_->solve(goal_, lower_, upper_, sent_);
  } else {
    nearest_->apply(wanted, wanted);
    sent_ = nearest_->inputs();
  }
  for (Eigen::Index i = 0; i < sent_.size(); ++i) {
    const bool fails = health_[static_cast<std::size_t>(i)] != Health::good;
    if (fails || std::abs(sent_[i]) < actuators_->dead_zone[i]) sent_[i] = 0.0;
  }
}

void ActuatedBase::settle(const Eigen::VectorXd& wanted) noexcept {
  wrench_ = wanted;
  if (!nearest_) return;
  moving_.setZero();
  allocate(wanted);
  thrusts_ = sent_;
  for (Eigen::Index i = 0; i < sent_.size(); ++i) {
    const double k = actuators_->thrust_constant[i];
    rates_[i] = k > 0.0 ? std::copysign(std::sqrt(std::abs(sent_[i]) / k), sent_[i]) : 0.0;
  }
  wrench_.noalias() = actuators_->allocation.matrix().lazyProduct(thrusts_);
}

const Eigen::VectorXd& ActuatedBase::hold(const Eigen::VectorXd& wanted,
                                          const Eigen::VectorXd& twist, double dt) noexcept {
  wrench_ = wanted;
  if (!nearest_) return wrench_;
  const auto& matrix = actuators_->allocation.matrix();
  twist_ = twist;
  moving_.noalias() = matrix.transpose().lazyProduct(twist);
  allocate(wanted);
  for (Eigen::Index i = 0; i < sent_.size(); ++i) {
    const double lag = actuators_->time_constant[i], k = actuators_->thrust_constant[i];
    const double left = lag > 0.0 ? std::exp(-dt / lag) : 0.0;
    if (k > 0.0) {
      // The rate of the shaft lags; the thrust is that of its mean over the step.
      const double goal = std::copysign(std::sqrt(std::abs(sent_[i]) / k), sent_[i]);
      const double end = goal + left * (rates_[i] - goal), mean = 0.5 * (rates_[i] + end);
      rates_[i] = end;
      spun_[i] = mean;
      thrusts_[i] = k * mean * std::abs(mean);
    } else {
      thrusts_[i] = sent_[i] + left * (thrusts_[i] - sent_[i]);
    }
  }
  friction_ = -actuators_->friction.cwiseProduct(moving_);
  wrench_.noalias() = matrix.lazyProduct(thrusts_ + friction_);
  return wrench_;
}

void ActuatedBase::commit(double work, const Eigen::VectorXd& twist, double dt) noexcept {
  if (!nearest_) return;
  const auto& a = *actuators_;
  twist_ = 0.5 * (twist_ + twist);
  moving_.noalias() = a.allocation.matrix().transpose().lazyProduct(twist_);
  double lost = 0.0;
  for (Eigen::Index i = 0; i < moving_.size(); ++i) {
    const double k = a.thrust_constant[i], speed = std::abs(spun_[i]);
    // The motor of a rotor turns against drag and climb, that of a wheel gives the input itself.
    const double torque =
        k > 0.0 ? k * speed * (a.loss_ratio[i] * spun_[i] + moving_[i]) : thrusts_[i];
    const double current = a.torque_constant[i] > 0.0 ? torque / a.torque_constant[i] : 0.0;
    lost += a.loss_ratio[i] * k * speed * speed * speed - friction_[i] * moving_[i] +
            a.resistance[i] * current * current;
  }
  lost_ += dt * lost;
  electric_ += work + dt * lost;
}

}  // namespace vms_ph_ros2_control
