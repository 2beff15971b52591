// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/servo.hpp"

#include <cmath>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

WheeledInverseDynamics::WheeledInverseDynamics(const Model& model, const std::vector<Wheel>& wheels)
    : terms_(model, wheels),
      static_state_(model),
      zero_velocity_(Eigen::VectorXd::Zero(model.nv())) {}

void WheeledInverseDynamics::solve(const RobotState& state, Eigen::VectorXd& values) noexcept {
  const Eigen::Index n = static_state_.model().n();
  if (terms_.compute(state, WheeledTerms::Velocities::best_here)) {
    // Joint rates are S_j nu: their accelerations S_j nudot + Sdot_j nu, and S_j^T tau = f.
    const auto drives = terms_.basis.bottomRows(n);
    gram_ = drives.transpose().lazyProduct(drives);
    const Cholesky squares(gram_);
    if (squares.is_positive()) {
      force_ = values.tail(n);
      force_ -= terms_.basis_rate.bottomRows(n).lazyProduct(terms_.nu);
      rates_ = drives.transpose().lazyProduct(force_);
      squares.solve(rates_.data());
      force_ = terms_.mass.lazyProduct(rates_);
      force_ += terms_.coriolis.lazyProduct(terms_.nu);
      force_ += terms_.basis.transpose().lazyProduct(terms_.d().g());
      squares.solve(force_.data());
      values.setZero();
      values.tail(n) = drives.lazyProduct(force_);
      return;
    }
  }
  static_state_.set(state.q, zero_velocity_);
  values.setZero();
  values.tail(n) = static_state_.g().tail(n);
}

Servo::Servo(const Model& model, double frequency, const std::vector<Wheel>& wheels)
    : active(static_cast<std::size_t>(model.nv()), true),
      rate(Eigen::VectorXd::Zero(model.nv())),
      model_(model),
      frequency_(frequency),
      d_(model_),
      target_(model.neutral_configuration()),
      advanced_(target_),
      error_(rate),
      acceleration_(rate),
      torque_(rate) {
  if (!wheels.empty()) wheeled_dynamics_.emplace(model_, wheels);
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
  const int at = model_.position_index(freedom - b), size = model_.is_pair(freedom - b) ? 2 : 1;
  target_.segment(at, size) = q.segment(at, size);
  rate[freedom] = 0.0;
}

void Servo::set_target(int joint, double position) noexcept {
  const int at = model_.position_index(joint);
  if (model_.is_pair(joint)) {
    target_.segment<2>(at) << std::cos(position), std::sin(position);
  } else {
    target_[at] = position;
  }
  rate[model_.b() + joint] = 0.0;
}

void Servo::advance(double dt) noexcept {
  error_ = dt * rate;
  model_.integrate(target_, error_, advanced_);
  target_ = advanced_;
}

void Servo::fill(const RobotState& state, Eigen::VectorXd& effort) noexcept {
  model_.difference(state.q, target_, error_);
  acceleration_ = frequency_ * frequency_ * error_ + 2.0 * frequency_ * (rate - state.v);
  for (int i = 0; i < model_.nv(); ++i) {
    if (!active[static_cast<std::size_t>(i)]) acceleration_[i] = 0.0;
  }
  if (wheeled_dynamics_) {
    torque_ = acceleration_;
    wheeled_dynamics_->solve(state, torque_);
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

}  // namespace vms_ph
