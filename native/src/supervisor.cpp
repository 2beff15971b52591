// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/supervisor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/sampled_impedance.hpp"

namespace vms_ph {
namespace {

// Largest standard deviation of the mass of a payload that is compensated, as a share of the mass.
constexpr double kReliableShare = 0.2;

// The first moment changes at most as that of a mass this far from the end effector, m.
constexpr double kPayloadArm = 0.3;

// Time step of the safe output where the measured one cannot be one, s.
constexpr double kDefaultStep = 1e-3;

void clear(Reference& reference) noexcept {
  reference.position.reset();
  reference.velocity.reset();
  reference.pose.reset();
  reference.twist.reset();
  reference.has_joints = false;
  reference.wrench.reset();
}

}  // namespace

PayloadCompensation::PayloadCompensation(const Model& model, std::shared_ptr<Controller> law,
                                         double max_mass_rate)
    : model_(model),
      law_(std::move(law)),
      max_mass_rate_(max_mass_rate),
      zero_velocity_(Eigen::VectorXd::Zero(model.nv())),
      d_(model),
      weight_(zero_velocity_),
      reach_(model.reach()),
      reason_(1024) {
  command_.wrench_base.setZero(model.b());
  command_.torque.setZero(model.n());
}

const Command& PayloadCompensation::update(const RobotState& state, const Reference& reference,
                                           double dt) noexcept {
  if (!(state.is_usable(model_) && is_usable_step(dt))) return law_->update(state, reference, dt);
  advance_payload(dt);
  if (payload_weight(state.q) == nullptr) weight_.setZero();
  const bool is_compensated = law_->carry_load(weight_);
  const Command& command = law_->update(state, reference, dt);
  const bool sizes_match =
      command.torque.size() == model_.n() && command.wrench_base.size() == model_.b();
  if (is_compensated || payload_.isZero(0.0) || !sizes_match) return command;
  command_ = command;
  command_.wrench_base += weight_.head(model_.b());
  command_.torque += weight_.tail(model_.n());
  if ((command_.torque.cwiseAbs().array() <= model_.max_effort().array()).all()) return command_;
  clip_to_max_effort(model_, command_.torque);
  if (command_.status == Status::ok) command_.status = Status::saturated;
  reason_.set("%s", command.reason);
  reason_.add_sentence("torque at its limit with the payload");
  command_.reason = reason_.text();
  return command_;
}

bool PayloadCompensation::carry(double mass, const Eigen::Vector3d& first_moment,
                                double deviation) noexcept {
  // A payload that is hardly known is none.
  const bool is_reliable = mass > 0.0 && deviation < kReliableShare * mass;
  const bool is_possible = mass <= model_.total_mass() && first_moment.norm() <= mass * reach_;
  if (!std::isfinite(mass + first_moment.norm()) || (is_reliable && !is_possible)) return false;
  target_payload_ << (is_reliable ? mass : 0.0),
      (is_reliable ? first_moment : Eigen::Vector3d::Zero());
  return true;
}

void PayloadCompensation::advance_payload(double dt) noexcept {
  const Eigen::Vector4d payload_gap = target_payload_ - payload_;
  // The first moment arrives with the mass.
  const double mass_gap =
      std::max({std::abs(payload_gap[0]), payload_gap.tail<3>().norm() / kPayloadArm, 1e-9});
  payload_ += std::min(1.0, max_mass_rate_ * dt / mass_gap) * payload_gap;
}

const Eigen::VectorXd* PayloadCompensation::payload_weight(const Eigen::VectorXd& q) noexcept {
  if (payload_.isZero(0.0) || !model_.is_configuration(q)) return nullptr;
  d_.set(q, zero_velocity_);
  const auto frame = model_.end_effector();
  const auto gravity =
      product<Eigen::Vector3d>(transposed(d_.placement(frame).rotation()), model_.gravity());
  const MatrixView jacobian = d_.frame_jacobian(frame, pinocchio::LOCAL);
  const Eigen::Vector3d first_moment = payload_.tail<3>();
  const Eigen::Vector3d force = payload_[0] * gravity, moment = first_moment.cross(gravity);
  weight_.setZero();
  add_product(transposed(jacobian.top_rows(3)), force, weight_, -1.0);
  add_product(transposed(jacobian.bottom_rows(3)), moment, weight_, -1.0);
  return &weight_;
}

Supervisor::Supervisor(const Model& model, std::shared_ptr<Controller> law,
                       const PlausibilityBounds& bounds, std::optional<Allocation> allocation,
                       bool base_actuated)
    : model_(model),
      law_(std::move(law)),
      state_plausibility_(model, bounds),
      reference_plausibility_(model, bounds),
      safe_output_(model, std::move(allocation), base_actuated),
      unknown_q_(Eigen::VectorXd::Constant(model.nq(), kNaN)),
      unknown_v_(Eigen::VectorXd::Constant(model.nv(), kNaN)),
      safe_q_(unknown_q_),
      age_reason_(128),
      reason_(1024) {
  command_.wrench_base = Eigen::VectorXd::Zero(model.b());
  command_.torque = Eigen::VectorXd::Zero(model.n());
  pending_reference_.joints = Eigen::VectorXd::Zero(model.n());
  for (const Gain& gain : law_->gains()) has_delay_ = has_delay_ || gain.name == "delay";
}

bool Supervisor::reset(const RobotState& state) noexcept {
  if (!state.is_usable(model_) || !model_.is_configuration(state.q) || !law_->reset(state)) {
    return false;
  }
  state_plausibility_.restart(state.q, state.v);
  clear(pending_reference_);
  return true;
}

const Command& Supervisor::update(const RobotState& state, const Reference& reference,
                                  double dt) noexcept {
  age_ = std::max(0.0, std::min(state.age, kLongestSample));
  store_reference(reference);
  judgement_ = &state_plausibility_.judge(state.q, state.v, dt);
  if (judgement_->must_hold()) return safe_output("implausible state: ", judgement_->reason, dt);
  if (!holds_weight(state, dt)) {
    age_reason_.set("states %.3g s old come too late to hold the weight", state.age);
    return safe_output("", age_reason_.text(), dt);
  }
  if (state.age > dt && !has_delay_) {
    age_reason_.set("the state is %.3g s old, and the law has no gain 'delay'", state.age);
    return safe_output("", age_reason_.text(), dt);
  }
  if (judgement_->must_reset) {
    clear(pending_reference_);
    if (!law_->resume(state)) return safe_output("", "the law cannot restart at this state", dt);
  }
  reference_plausibility_.check(pending_reference_, state.q);
  const Command& command = law_->update(state, pending_reference_, dt);
  clear(pending_reference_);
  if (command.torque.size() != model_.n() || command.wrench_base.size() != model_.b() ||
      !command.torque.allFinite() || !command.wrench_base.allFinite()) {
    return safe_output("", reasons::no_finite_efforts, dt);
  }
  return bound_efforts(command);
}

/// Whether the weight can be held with states of this age.
bool Supervisor::holds_weight(const RobotState& state, double dt) noexcept {
  if (state.age == 0.0) return true;
  if (!(state.age > 0.0 && state.age <= kLongestSample)) return false;
  const double h = horizon(dt, 1.0, state.age);
  return !state.is_usable(model_) || safe_output_.holds_weight(state.q, h);
}

const Command& Supervisor::hold(const char* cause, double dt) noexcept {
  judgement_ = &state_plausibility_.judge(unknown_q_, unknown_v_, dt);
  return safe_output("", cause, dt);
}

/// Keep the targets that came while the law did not act; velocities act when they come, or never.
void Supervisor::store_reference(const Reference& reference) noexcept {
  if (reference.position) pending_reference_.position = reference.position;
  if (reference.pose) pending_reference_.pose = reference.pose;
  if (reference.has_joints && reference.joints.size() == model_.n()) {
    pending_reference_.joints = reference.joints;
    pending_reference_.has_joints = true;
  }
  if (reference.wrench) pending_reference_.wrench = reference.wrench;
  pending_reference_.velocity = reference.velocity;
  pending_reference_.twist = reference.twist;
}

const Command& Supervisor::safe_output(const char* prefix, const char* cause, double dt) noexcept {
  reason_.set("%s%s; holding against gravity and damping", prefix, cause);
  law_->note_missed_updates();
  safe_q_ = judgement_->q;
  const Eigen::VectorXd* weight = law_->payload_weight(safe_q_);
  if (weight != nullptr && weight->size() != model_.nv()) weight = nullptr;  // of another robot
  safe_output_.compute(judgement_->q, judgement_->v,
                       dt > 0.0 && dt <= kLongestSample ? dt : kDefaultStep, age_, weight);
  command_.wrench_base = safe_output_.wrench_base();
  command_.torque = safe_output_.torque();
  command_.energy = ControlEnergy();
  command_.status = Status::holding;
  command_.reason = reason_.text();
  command_.task_error = 0.0;
  command_.smallest_singular_value = kInfinity;
  command_.authority = 1.0;
  return command_;
}

/// Add what was limited and refused to the law's own command.
const Command& Supervisor::bound_efforts(const Command& command) noexcept {
  const bool exceeds_limit =
      (command.torque.cwiseAbs().array() > model_.max_effort().array()).any();
  if (!exceeds_limit && reference_plausibility_.reason().empty()) return command;
  command_ = command;
  reason_.set("%s", command.reason);
  if (exceeds_limit) {
    clip_to_max_effort(model_, command_.torque);
    reason_.add_sentence(reasons::torque_limited);
  }
  reason_.add_sentence(reference_plausibility_.reason().text());
  command_.reason = reason_.text();
  if (command_.status == Status::ok) command_.status = Status::saturated;
  return command_;
}

}  // namespace vms_ph
