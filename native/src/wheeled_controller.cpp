// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/wheeled_controller.hpp"

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/texts.hpp"

namespace vms_ph {
namespace {

const char* const kUnusable = reasons::unusable_state;
const char* const kFar = reasons::reference_too_large;

}  // namespace

WheeledController::WheeledController(const Model& model, const std::vector<Wheel>& wheels)
    : model_(model),
      b_(model.b()),
      n_(model.n()),
      rest_(VectorV::Zero(model.nv())),
      t_(model, wheels),
      limits_(model),
      torque_(VectorV::Zero(n_)),
      at_rest_(model) {
  command_.wrench_base.setZero(b_);
  command_.torque.setZero(n_);
  last_command_ = command_;
  last_command_.status = Status::holding;
  hold(model.neutral_configuration(), kUnusable);
  unusable_ = last_command_.torque;
}

const Command& WheeledController::update(const RobotState& state, const Reference& reference,
                                         double dt) noexcept {
  if (!(state.is_usable(model_) && is_usable_step(dt))) {
    last_command_.torque = unusable_;
    last_command_.reason = kUnusable;
    return last_command_;
  }
  if (!t_.compute(state)) return hold(state.q, t_.reason());
  const char* const obstacle = drive(reference, dt);
  return obstacle ? hold(state.q, obstacle) : command_;
}

/// Compensate gravity by the joints.
const Command& WheeledController::hold(const ConstVector& q, const char* why) noexcept {
  at_rest_.set(q, rest_);
  last_command_.torque = at_rest_.g().tail(n_);
  clip_to_effort(model_, last_command_.torque);
  last_command_.reason = why;
  return last_command_;
}

const char* WheeledController::send(const VectorV& force, const LimitGains& gains,
                                    double dt) noexcept {
  if (!torque_for(force) || !torque_.allFinite()) return kFar;
  Evaluation& d = t_.d();
  command_.torque =
      limits_.apply(torque_, d.g().tail(n_), d.v().tail(n_), gains.torque_rate, gains.power, dt);
  command_.status = limits_.reason().empty() ? Status::ok : Status::saturated;
  command_.reason = limits_.reason().text();
  return nullptr;
}

bool WheeledController::drives_all(const Eigen::VectorXd& q) noexcept {
  RobotState home;
  home.q = q;
  home.v.setZero(model_.nv());
  return t_.compute(home) && torque_for(VectorV::Zero(t_.dimension()));
}

/// Compute the smallest torques S_j^T tau = f; false where there are none.
bool WheeledController::torque_for(const VectorV& force) noexcept {
  const MatrixView drives = MatrixView(t_.basis).bottom_rows(n_);
  multiply(transposed(drives), drives, squares_);
  const Cholesky squares(squares_);
  if (!squares.is_positive()) return false;
  VectorV left = force;
  squares.solve(left.data());
  multiply(drives, left, torque_);
  return true;
}

}  // namespace vms_ph
