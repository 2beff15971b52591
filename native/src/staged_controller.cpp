// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

StagedController::StagedController(const Model& model, std::unique_ptr<Actuation> actuation)
    : model_(model),
      b_(model.b()),
      n_(model.n()),
      zero_velocity_(VectorV::Zero(model.nv())),
      d_(model),
      stage_(model, std::move(actuation)),
      joint_limits_(model),
      reason_(2048) {
  command_.wrench_base.setZero(b_);
  command_.torque.setZero(n_);
}

bool StagedController::reset(const RobotState& state) noexcept {
  if (!restart_at(state.q)) return false;
  stage_.restart(d_);
  return true;
}

bool StagedController::resume(const RobotState& state) noexcept {
  if (!restart_at(state.q)) return false;
  stage_.resume(d_);
  return true;
}

bool StagedController::restart_at(const Eigen::VectorXd& q) noexcept {
  if (!model_.is_configuration(q)) return false;
  d_.set(q, zero_velocity_);
  follow_gains(nullptr);
  is_limited_ = false;
  start_holding();
  return true;
}

const Command& StagedController::update(const RobotState& state, const Reference& reference,
                                        double dt) noexcept {
  if (!(state.is_usable(model_) && is_usable_step(dt))) {
    note_missed_updates();
    return stage_.safe_command();
  }
  d_.set(state);
  age_ = state.age;
  wrench_ = state.wrench;
  follow_gains(&dt);
  return control(reference, dt);
}

const Command& StagedController::make_command(const VectorV& effort,
                                              std::initializer_list<const char*> reasons) noexcept {
  command_.wrench_base = effort.head(b_) + stage_.load().head(b_);
  command_.torque = effort.tail(n_) + stage_.load().tail(n_);
  command_.energy.tank_level = stage_.tank_level();
  is_limited_ = !stage_.reason().empty();
  command_.status = is_limited_ ? Status::saturated : Status::ok;
  reason_.set("%s", stage_.reason().text());
  for (const char* cause : reasons) reason_.add_sentence(cause);
  command_.reason = reason_.text();
  return command_;
}

}  // namespace vms_ph
