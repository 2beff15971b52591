// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/servo.hpp"

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

Servo::Servo(const Model& model, double frequency, const std::vector<Wheel>& wheels)
    : is_held(static_cast<std::size_t>(model.nv()), true),
      desired_rate(Eigen::VectorXd::Zero(model.nv())),
      model_(model),
      frequency_(frequency),
      d_(model_),
      target_(model.neutral_configuration()),
      next_target_(target_),
      error_(desired_rate),
      acceleration_(desired_rate),
      torque_(desired_rate) {
  if (!wheels.empty()) wheel_terms_.emplace(model_, wheels);
}

void Servo::hold_position(const Eigen::VectorXd& q) noexcept {
  target_ = q;
  desired_rate.setZero();
}

void Servo::hold_position(const Eigen::VectorXd& q, int dof) noexcept {
  const int b = model_.b();
  if (dof < b) {
    const int base_size = model_.base_size();
    target_.head(base_size) = q.head(base_size);
    desired_rate.head(b).setZero();
    return;
  }
  const int index = model_.position_index(dof - b), size = model_.is_continuous(dof - b) ? 2 : 1;
  target_.segment(index, size) = q.segment(index, size);
  desired_rate[dof] = 0.0;
}

void Servo::set_target(int joint, double position) noexcept {
  model_.set_joint(joint, position, target_);
  desired_rate[model_.b() + joint] = 0.0;
}

void Servo::advance(double dt) noexcept {
  error_ = dt * desired_rate;
  model_.integrate(target_, error_, next_target_);
  target_ = next_target_;
}

void Servo::compute_effort(const RobotState& state, Eigen::VectorXd& effort) noexcept {
  model_.difference(state.q, target_, error_);
  acceleration_ = frequency_ * frequency_ * error_ + 2.0 * frequency_ * (desired_rate - state.v);
  for (int i = 0; i < model_.nv(); ++i) {
    if (!is_held[static_cast<std::size_t>(i)]) acceleration_[i] = 0.0;
  }
  if (wheel_terms_) {
    solve_on_wheels(state);
  } else {
    d_.set(state);
    multiply(d_.M(), acceleration_, torque_);
    add_product(d_.C(), state.v, torque_);
    torque_ += d_.g() - d_.drag();
  }
  for (int i = 0; i < model_.nv(); ++i) {
    if (is_held[static_cast<std::size_t>(i)]) effort[i] = torque_[i];
  }
}

/// Write the smallest torques, of wheels and arm, that give the joints their accelerations under
/// the constraints of the wheels, with no effort at the base. A wheel so feels the mass of the
/// robot. Where the wheels leave the accelerations undetermined, write those that hold the weight.
void Servo::solve_on_wheels(const RobotState& state) noexcept {
  const Eigen::Index n = model_.n();
  torque_.setZero();
  if (wheel_terms_->compute(state, WheeledTerms::Partition::best)) {
    // Joint rates are S_j nu: their accelerations S_j nudot + Sdot_j nu, and S_j^T tau = f.
    const auto joint_basis = wheel_terms_->basis.bottomRows(n);
    gram_ = joint_basis.transpose().lazyProduct(joint_basis);
    const Cholesky gram_factor(gram_);
    if (gram_factor.is_positive()) {
      force_ = acceleration_.tail(n);
      force_ -= wheel_terms_->basis_rate.bottomRows(n).lazyProduct(wheel_terms_->nu);
      nu_rate_ = joint_basis.transpose().lazyProduct(force_);
      gram_factor.solve(nu_rate_.data());
      force_ = wheel_terms_->mass.lazyProduct(nu_rate_);
      force_ += wheel_terms_->coriolis.lazyProduct(wheel_terms_->nu);
      force_ += wheel_terms_->basis.transpose().lazyProduct(wheel_terms_->evaluation().g());
      gram_factor.solve(force_.data());
      torque_.tail(n) = joint_basis.lazyProduct(force_);
      return;
    }
  }
  d_.set(state);
  torque_.tail(n) = d_.g().tail(n);
}

}  // namespace vms_ph
