// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/payload_compensation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

// Largest standard deviation of the mass of a payload that is compensated, as a share of the mass.
constexpr double kKnown = 0.2;

// The first moment changes at most as that of a mass this far from the end effector, m.
constexpr double kLever = 0.3;

// Reach of a robot whose joints all lie together, m.
constexpr double kLeastReach = 1.0;

}  // namespace

PayloadCompensation::PayloadCompensation(const Model& model, std::shared_ptr<Controller> law,
                                         double rate)
    : model_(model),
      law_(std::move(law)),
      rate_(rate),
      rest_(Eigen::VectorXd::Zero(model.nv())),
      d_(model),
      weight_(rest_),
      reach_(reach_of(model)),
      reason_(1024) {
  command_.wrench_base.setZero(model.b());
  command_.torque.setZero(model.n());
}

double PayloadCompensation::reach_of(const Model& model) {
  double length = 0.0;
  for (const auto& joint : model.pinocchio().jointPlacements) length += joint.translation().norm();
  return std::max(kLeastReach, length);
}

const Command& PayloadCompensation::update(const RobotState& state, const Reference& reference,
                                           double dt) noexcept {
  if (!(state.is_usable(model_) && is_usable_step(dt))) return law_->update(state, reference, dt);
  follow(dt);
  if (further_weight(state.q) == nullptr) weight_.setZero();
  const bool is_carried = law_->carry_load(weight_);
  const Command& command = law_->update(state, reference, dt);
  const bool fits = command.torque.size() == model_.n() && command.wrench_base.size() == model_.b();
  if (is_carried || carried_.isZero(0.0) || !fits) return command;
  command_ = command;
  command_.wrench_base += weight_.head(model_.b());
  command_.torque += weight_.tail(model_.n());
  if ((command_.torque.cwiseAbs().array() <= model_.effort().array()).all()) return command_;
  clip_to_effort(model_, command_.torque);
  if (command_.status == Status::ok) command_.status = Status::saturated;
  reason_.set("%s", command.reason);
  reason_.add(reason_.empty() ? "%s" : "; %s", "torque at its limit with the payload");
  command_.reason = reason_.text();
  return command_;
}

bool PayloadCompensation::carry(double mass, const Eigen::Vector3d& moment,
                                double deviation) noexcept {
  // A payload that is hardly known is none.
  const bool is_reliable = mass > 0.0 && deviation < kKnown * mass;
  const bool is_possible = mass <= model_.total_mass() && moment.norm() <= mass * reach_;
  if (!std::isfinite(mass + moment.norm()) || (is_reliable && !is_possible)) return false;
  target_ << (is_reliable ? mass : 0.0), (is_reliable ? moment : Eigen::Vector3d::Zero());
  return true;
}

void PayloadCompensation::follow(double dt) noexcept {
  const Eigen::Vector4d remaining = target_ - carried_;
  // The first moment arrives with the mass.
  const double size = std::max({std::abs(remaining[0]), remaining.tail<3>().norm() / kLever, 1e-9});
  carried_ += std::min(1.0, rate_ * dt / size) * remaining;
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
