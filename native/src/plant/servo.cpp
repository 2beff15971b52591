// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/servo.hpp"

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

Servo::Servo(const Model& model, double frequency, const std::vector<Wheel>& wheels)
    : active(static_cast<std::size_t>(model.nv()), true),
      rate(Eigen::VectorXd::Zero(model.nv())),
      model_(model),
      frequency_(frequency),
      d_(model_),
      target_(model.neutral_configuration()),
      next_target_(target_),
      error_(rate),
      acceleration_(rate),
      torque_(rate) {
  if (!wheels.empty()) wheels_.emplace(model_, wheels);
}

void Servo::hold_position(const Eigen::VectorXd& q) noexcept {
  target_ = q;
  rate.setZero();
}

void Servo::hold_position(const Eigen::VectorXd& q, int freedom) noexcept {
  const int b = model_.b();
  if (freedom < b) {
    const int base = model_.base_size();
    target_.head(base) = q.head(base);
    rate.head(b).setZero();
    return;
  }
  const int index = model_.position_index(freedom - b), size = model_.is_pair(freedom - b) ? 2 : 1;
  target_.segment(index, size) = q.segment(index, size);
  rate[freedom] = 0.0;
}

void Servo::set_target(int joint, double position) noexcept {
  model_.set_joint(joint, position, target_);
  rate[model_.b() + joint] = 0.0;
}

void Servo::advance(double dt) noexcept {
  error_ = dt * rate;
  model_.integrate(target_, error_, next_target_);
  target_ = next_target_;
}

void Servo::compute_effort(const RobotState& state, Eigen::VectorXd& effort) noexcept {
  model_.difference(state.q, target_, error_);
  acceleration_ = frequency_ * frequency_ * error_ + 2.0 * frequency_ * (rate - state.v);
  for (int i = 0; i < model_.nv(); ++i) {
    if (!active[static_cast<std::size_t>(i)]) acceleration_[i] = 0.0;
  }
  if (wheels_) {
    solve_on_wheels(state);
  } else {
    d_.set(state);
    multiply(d_.M(), acceleration_, torque_);
    add_product(d_.C(), state.v, torque_);
    torque_ += d_.g() - d_.drag();
  }
  for (int i = 0; i < model_.nv(); ++i) {
    if (active[static_cast<std::size_t>(i)]) effort[i] = torque_[i];
  }
}

/// Write the torques of all joints, wheels and arm, under which these have the accelerations, in
/// the reduced equations: zero at the base, and the smallest torques. A wheel feels the mass of the
/// robot that it drives. Where the wheels determine none, those against gravity.
void Servo::solve_on_wheels(const RobotState& state) noexcept {
  const Eigen::Index n = model_.n();
  torque_.setZero();
  if (wheels_->compute(state, WheeledTerms::Partition::best)) {
    // Joint rates are S_j nu: their accelerations S_j nudot + Sdot_j nu, and S_j^T tau = f.
    const auto joint_basis = wheels_->basis.bottomRows(n);
    gram_ = joint_basis.transpose().lazyProduct(joint_basis);
    const Cholesky gram_factor(gram_);
    if (gram_factor.is_positive()) {
      force_ = acceleration_.tail(n);
      force_ -= wheels_->basis_rate.bottomRows(n).lazyProduct(wheels_->nu);
      nu_rate_ = joint_basis.transpose().lazyProduct(force_);
      gram_factor.solve(nu_rate_.data());
      force_ = wheels_->mass.lazyProduct(nu_rate_);
      force_ += wheels_->coriolis.lazyProduct(wheels_->nu);
      force_ += wheels_->basis.transpose().lazyProduct(wheels_->evaluation().g());
      gram_factor.solve(force_.data());
      torque_.tail(n) = joint_basis.lazyProduct(force_);
      return;
    }
  }
  d_.set(state);
  torque_.tail(n) = d_.g().tail(n);
}

}  // namespace vms_ph
