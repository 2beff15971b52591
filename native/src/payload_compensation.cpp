// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/payload_compensation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Largest standard deviation of the mass of a payload that is compensated, as a share of the mass.
constexpr double kKnown = 0.2;

}  // namespace

PayloadCompensation::PayloadCompensation(const Model& model, std::shared_ptr<Controller> law,
                                         double rate)
    : model_(model),
      law_(std::move(law)),
      rate_(rate),
      rest_(Eigen::VectorXd::Zero(model.nv())),
      d_(model),
      weight_(rest_) {
  command_.wrench_base.setZero(model.b());
  command_.torque.setZero(model.n());
}

const Command& PayloadCompensation::update(const RobotState& state, const Reference& reference,
                                           double dt) noexcept {
  const Command& command = law_->update(state, reference, dt);
  const bool fits = command.torque.size() == model_.n() && command.wrench_base.size() == model_.b();
  if (!(fits && state.is_usable(model_) && is_usable_step(dt))) return command;
  follow(dt);
  const Eigen::VectorXd* weight = further_weight(state.q);
  if (weight == nullptr) return command;
  command_ = command;
  command_.wrench_base += weight->head(model_.b());
  command_.torque += weight->tail(model_.n());
  clip_to_effort(model_, command_.torque);
  return command_;
}

bool PayloadCompensation::carry(double mass, const Eigen::Vector3d& moment,
                                double deviation) noexcept {
  // A payload that is hardly known is none.
  const bool is_reliable = mass > 0.0 && deviation < kKnown * mass;
  target_ << (is_reliable ? mass : 0.0), (is_reliable ? moment : Eigen::Vector3d::Zero());
  return true;
}

void PayloadCompensation::follow(double dt) noexcept {
  if (!std::isfinite(target_.sum())) return;
  const Eigen::Vector4d remaining = target_ - carried_;
  // The first moment arrives with the mass.
  carried_ += std::min(1.0, rate_ * dt / std::max(std::abs(remaining[0]), 1e-9)) * remaining;
}

const Eigen::VectorXd* PayloadCompensation::further_weight(const Eigen::VectorXd& q) noexcept {
  if (carried_.isZero(0.0) || !model_.is_configuration(q)) return nullptr;
  d_.set(q, rest_);
  const auto frame = model_.end_effector();
  const auto field =
      product<Eigen::Vector3d>(transposed(d_.placement(frame).rotation()), model_.gravity());
  const MatrixView jacobian = d_.frame_jacobian(frame, pinocchio::LOCAL);
  const Eigen::Vector3d first_moment = carried_.tail<3>();
  const Eigen::Vector3d force = carried_[0] * field, moment = first_moment.cross(field);
  weight_.setZero();
  add_product(transposed(jacobian.top_rows(3)), force, weight_, -1.0);
  add_product(transposed(jacobian.bottom_rows(3)), moment, weight_, -1.0);
  return &weight_;
}

}  // namespace vms_ph
