// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/servo.hpp"

#include <cmath>
#include <optional>

#include <pinocchio/algorithm/rnea.hpp>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

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

struct Servo::Workspace {
  explicit Workspace(const Model& model)
      : data(model.pinocchio()),
        target(model.neutral_configuration()),
        advanced(target),
        error(model.nv()),
        acceleration(model.nv()),
        torque(model.nv()),
        full_q(model.pinocchio().nq),
        full_v(model.pinocchio().nv),
        full_a(full_v) {}
  pinocchio::Data data;
  Eigen::VectorXd target, advanced, error, acceleration, torque;
  Eigen::VectorXd full_q, full_v, full_a;  ///< with the joints that mimic others
  std::optional<Dynamics> robot;           ///< in a fluid
  MatrixV mass, coriolis;
  VectorV force;
};

Servo::Servo(const Model& model, double frequency, const std::vector<Wheel>& wheels)
    : active(static_cast<std::size_t>(model.nv()), true),
      rate(Eigen::VectorXd::Zero(model.nv())),
      model_(model),
      frequency_(frequency),
      fluid_(model_),
      workspace_(std::make_unique<Workspace>(model_)) {
  if (fluid_.exist()) workspace_->robot.emplace(model_);
  if (!wheels.empty()) wheeled_dynamics_.emplace(model_, wheels);
}

Servo::~Servo() = default;

void Servo::hold_position(const Eigen::VectorXd& q) noexcept {
  workspace_->target = q;
  rate.setZero();
}

void Servo::hold_position(const Eigen::VectorXd& q, int freedom) noexcept {
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

void Servo::set_target(int joint, double position) noexcept {
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
  model_.integrate(workspace_->target, workspace_->error, workspace_->advanced);
  workspace_->target = workspace_->advanced;
}

void Servo::fill(const RobotState& state, Eigen::VectorXd& effort) noexcept {
  Workspace& w = *workspace_;
  model_.difference(state.q, w.target, w.error);
  w.acceleration = frequency_ * frequency_ * w.error + 2.0 * frequency_ * (rate - state.v);
  for (int i = 0; i < model_.nv(); ++i) {
    if (!active[static_cast<std::size_t>(i)]) w.acceleration[i] = 0.0;
  }
  if (wheeled_dynamics_) {
    w.torque = w.acceleration;
    wheeled_dynamics_->solve(state, w.torque);
  } else {
    solve(state);
  }
  for (int i = 0; i < model_.nv(); ++i) {
    if (active[static_cast<std::size_t>(i)]) effort[i] = w.torque[i];
  }
}

/// Compute the efforts of the accelerations, with Coriolis and gravity terms in one sweep.
void Servo::solve(const RobotState& state) noexcept {
  Workspace& w = *workspace_;
  model_.fill_configuration(state.q, w.full_q);
  model_.fill_velocity(state.v, w.full_v);
  model_.fill_velocity(w.acceleration, w.full_a);
  model_.project_force(pinocchio::rnea(model_.pinocchio(), w.data, w.full_q, w.full_v, w.full_a),
                       w.torque);
  if (fluid_.exist()) add_fluid(state);
}

/// Add the forces of the fluid at the acceleration: added mass, buoyancy and drag.
void Servo::add_fluid(const RobotState& state) noexcept {
  Workspace& w = *workspace_;
  const int size = model_.nv();
  w.mass.setZero(size, size);
  w.coriolis.setZero(size, size);
  w.force.setZero(size);
  w.robot->set_configuration(state.q.data());
  w.robot->set_velocity(state.v.data());
  fluid_.set_configuration(*w.robot);
  fluid_.set_velocity(*w.robot, state.v);
  fluid_.add_mass(w.mass);
  fluid_.add_coriolis(w.coriolis);
  fluid_.add_drag(w.force);
  w.force = -w.force;
  fluid_.add_gravity(w.force);
  w.force += w.mass.lazyProduct(w.acceleration);
  w.force += w.coriolis.lazyProduct(state.v);
  w.torque += w.force;
}

}  // namespace vms_ph
