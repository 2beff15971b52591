// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/wheeled_controller.hpp"

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/texts.hpp"

namespace vms_ph {
namespace {

const char* const kUnusableState = reasons::unusable_state;
const char* const kReferenceTooLarge = reasons::reference_too_large;

}  // namespace

WheeledController::WheeledController(const Model& model, const std::vector<Wheel>& wheels)
    : model_(model),
      b_(model.b()),
      n_(model.n()),
      zero_velocity_(VectorV::Zero(model.nv())),
      t_(model, wheels),
      limits_(model),
      torque_(VectorV::Zero(n_)),
      static_state_(model) {
  command_.wrench_base.setZero(b_);
  command_.torque.setZero(n_);
  last_command_ = command_;
  last_command_.status = Status::holding;
  hold(model.neutral_configuration(), kUnusableState);
  fallback_torque_ = last_command_.torque;
}

const Command& WheeledController::update(const RobotState& state, const Reference& reference,
                                         double dt) noexcept {
  if (!(state.is_usable(model_) && is_usable_step(dt))) {
    last_command_.torque = fallback_torque_;
    last_command_.reason = kUnusableState;
    return last_command_;
  }
  if (!t_.compute(state)) return hold(state.q, t_.reason());
  age_ = state.age;
  const char* const obstacle = drive(reference, dt);
  return obstacle ? hold(state.q, obstacle) : command_;
}

/// Compensate gravity by the joints.
const Command& WheeledController::hold(const ConstVector& q, const char* reason) noexcept {
  static_state_.set(q, zero_velocity_);
  last_command_.torque = static_state_.g().tail(n_);
  clip_to_effort(model_, last_command_.torque);
  last_command_.reason = reason;
  return last_command_;
}

const char* WheeledController::send(const VectorV& force, const LimitGains& gains,
                                    double dt) noexcept {
  if (!torque_for(force) || !torque_.allFinite()) return kReferenceTooLarge;
  Evaluation& d = t_.d();
  command_.torque =
      limits_.apply(torque_, d.g().tail(n_), d.v().tail(n_), gains.torque_rate, gains.power, dt);
  command_.status = limits_.reason().empty() ? Status::ok : Status::saturated;
  command_.reason = limits_.reason().text();
  return nullptr;
}

bool WheeledController::drives_all(const Eigen::VectorXd& q) noexcept {
  RobotState initial;
  initial.q = q;
  initial.v.setZero(model_.nv());
  return t_.compute(initial) && torque_for(VectorV::Zero(t_.dimension()));
}

/// Compute the smallest torques S_j^T tau = f; false where there are none.
bool WheeledController::torque_for(const VectorV& force) noexcept {
  const MatrixView drives = MatrixView(t_.basis).bottom_rows(n_);
  multiply(transposed(drives), drives, gram_);
  const Cholesky gram_factor(gram_);
  if (!gram_factor.is_positive()) return false;
  VectorV multipliers = force;
  gram_factor.solve(multipliers.data());
  multiply(drives, multipliers, torque_);
  return true;
}

}  // namespace vms_ph
