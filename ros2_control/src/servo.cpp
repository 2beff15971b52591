// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "servo.hpp"

#include <cmath>
#include <optional>

#include <pinocchio/algorithm/rnea.hpp>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph_ros2_control {

struct Servo::Workspace {
  explicit Workspace(const vms_ph::Model& model)
      : data(model.pinocchio()),
        target(model.neutral_configuration()),
        moved(target),
        error(model.nv()),
        acceleration(model.nv()),
        torque(model.nv()),
        full_q(model.pinocchio().nq),
        full_v(model.pinocchio().nv),
        full_a(full_v) {}
  pinocchio::Data data;
  Eigen::VectorXd target, moved, error, acceleration, torque;
  Eigen::VectorXd full_q, full_v, full_a;  ///< with the joints that mimic others
  std::optional<vms_ph::Dynamics> robot;   ///< in a fluid
  vms_ph::MatrixV mass, coriolis;
  vms_ph::VectorV force;
};

Servo::Servo(const vms_ph::Model& model, double frequency, const std::vector<vms_ph::Wheel>& wheels)
    : held(static_cast<std::size_t>(model.nv()), true),
      rate(Eigen::VectorXd::Zero(model.nv())),
      model_(model),
      frequency_(frequency),
      fluid_(model_),
      workspace_(std::make_unique<Workspace>(model_)) {
  if (fluid_.exist()) workspace_->robot.emplace(model_);
  if (!wheels.empty()) rolling_.emplace(model_, wheels);
}

Servo::~Servo() = default;

void Servo::rest_at(const Eigen::VectorXd& q) noexcept {
  workspace_->target = q;
  rate.setZero();
}

void Servo::rest_at(const Eigen::VectorXd& q, int freedom) noexcept {
  const int b = model_.b();
  if (freedom < b) {
    const int base = model_.base_size();
    workspace_->target.head(base) = q.head(base);
    rate.head(b).setZero();
    return;
  }
  const int at = model_.position_index(freedom - b), size = model_.is_pair(freedom - b) ? 2 : 1;
  workspace_->target.segment(at, size) = q.segment(at, size);
  rate[freedom] = 0.0;
}

void Servo::go_to(int joint, double position) noexcept {
  const int at = model_.position_index(joint);
  if (model_.is_pair(joint)) {
    workspace_->target.segment<2>(at) << std::cos(position), std::sin(position);
  } else {
    workspace_->target[at] = position;
  }
  rate[model_.b() + joint] = 0.0;
}

void Servo::advance(double dt) noexcept {
  workspace_->error = dt * rate;
  model_.integrate(workspace_->target, workspace_->error, workspace_->moved);
  workspace_->target = workspace_->moved;
}

void Servo::fill(const vms_ph::RobotState& state, Eigen::VectorXd& effort) noexcept {
  Workspace& w = *workspace_;
  model_.difference(state.q, w.target, w.error);
  w.acceleration = frequency_ * frequency_ * w.error + 2.0 * frequency_ * (rate - state.v);
  for (int i = 0; i < model_.nv(); ++i) {
    if (!held[static_cast<std::size_t>(i)]) w.acceleration[i] = 0.0;
  }
  if (rolling_) {
    w.torque = w.acceleration;
    rolling_->solve(state, w.torque);
  } else {
    solve(state);
  }
  for (int i = 0; i < model_.nv(); ++i) {
    if (held[static_cast<std::size_t>(i)]) effort[i] = w.torque[i];
  }
}

/// Compute the efforts of the accelerations, with Coriolis and gravity terms in one sweep.
void Servo::solve(const vms_ph::RobotState& state) noexcept {
  Workspace& w = *workspace_;
  model_.fill_configuration(state.q, w.full_q);
  model_.fill_velocity(state.v, w.full_v);
  model_.fill_velocity(w.acceleration, w.full_a);
  model_.project_force(pinocchio::rnea(model_.pinocchio(), w.data, w.full_q, w.full_v, w.full_a),
                       w.torque);
  if (fluid_.exist()) add_fluid(state);
}

/// Add what the fluid takes at the acceleration: by added mass, buoyancy and drag.
void Servo::add_fluid(const vms_ph::RobotState& state) noexcept {
  Workspace& w = *workspace_;
  const int size = model_.nv();
  w.mass.setZero(size, size);
  w.coriolis.setZero(size, size);
  w.force.setZero(size);
  w.robot->place(state.q.data());
  w.robot->move(state.v.data());
  fluid_.place(*w.robot);
  fluid_.move(*w.robot, state.v);
  fluid_.add_mass(w.mass);
  fluid_.add_coriolis(w.coriolis);
  fluid_.add_drag(w.force);
  w.force = -w.force;
  fluid_.add_gravity(w.force);
  w.force += w.mass.lazyProduct(w.acceleration);
  w.force += w.coriolis.lazyProduct(state.v);
  w.torque += w.force;
}

}  // namespace vms_ph_ros2_control
