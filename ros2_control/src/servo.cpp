// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "servo.hpp"

#include <cmath>
#include <optional>

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "vms_ph_native/dynamics.hpp"

namespace vms_ph_ros2_control {

struct Servo::Workspace {
  explicit Workspace(const vms_ph::Model& model)
      : data(model.pinocchio()),
        target(pinocchio::neutral(model.pinocchio())),
        moved(target),
        error(model.nv()),
        acceleration(model.nv()),
        torque(model.nv()) {}
  pinocchio::Data data;
  Eigen::VectorXd target, moved, error, acceleration, torque;
  std::optional<vms_ph::Dynamics> robot;  ///< in a fluid
  vms_ph::MatrixV mass, coriolis;
  vms_ph::VectorV force;
};

Servo::Servo(const vms_ph::Model& model, double frequency)
    : held(static_cast<std::size_t>(model.nv()), true),
      rate(Eigen::VectorXd::Zero(model.nv())),
      model_(model),
      frequency_(frequency),
      fluid_(model_),
      workspace_(std::make_unique<Workspace>(model_)) {
  if (fluid_.exist()) workspace_->robot.emplace(model_);
  for (const auto& name : model_.joint_names()) {
    joints_.push_back(model_.pinocchio().getJointId(name));
  }
}

Servo::~Servo() = default;

void Servo::rest_at(const Eigen::VectorXd& q) noexcept {
  workspace_->target = q;
  rate.setZero();
}

void Servo::rest_at(const Eigen::VectorXd& q, int freedom) noexcept {
  const auto& robot = model_.pinocchio();
  const int b = model_.b();
  if (freedom < b) {
    const int base = b == 3 ? 4 : 7;
    workspace_->target.head(base) = q.head(base);
    rate.head(b).setZero();
    return;
  }
  const auto& joint = robot.joints[joints_[static_cast<std::size_t>(freedom - b)]];
  workspace_->target.segment(joint.idx_q(), joint.nq()) = q.segment(joint.idx_q(), joint.nq());
  rate[freedom] = 0.0;
}

void Servo::go_to(int joint, double position) noexcept {
  const auto& robot = model_.pinocchio();
  const auto& known = robot.joints[joints_[static_cast<std::size_t>(joint)]];
  if (known.nq() == 2) {
    workspace_->target.segment<2>(known.idx_q()) << std::cos(position), std::sin(position);
  } else {
    workspace_->target[known.idx_q()] = position;
  }
  rate[model_.b() + joint] = 0.0;
}

void Servo::advance(double dt) noexcept {
  workspace_->error = dt * rate;
  pinocchio::integrate(model_.pinocchio(), workspace_->target, workspace_->error,
                       workspace_->moved);
  workspace_->target = workspace_->moved;
}

void Servo::fill(const vms_ph::RobotState& state, Eigen::VectorXd& effort) noexcept {
  Workspace& w = *workspace_;
  const auto& robot = model_.pinocchio();
  pinocchio::difference(robot, state.q, w.target, w.error);
  w.acceleration = frequency_ * frequency_ * w.error + 2.0 * frequency_ * (rate - state.v);
  for (int i = 0; i < model_.nv(); ++i) {
    if (!held[static_cast<std::size_t>(i)]) w.acceleration[i] = 0.0;
  }
  // Inertia, Coriolis and gravity terms in one sweep.
  w.torque = pinocchio::rnea(robot, w.data, state.q, state.v, w.acceleration);
  if (fluid_.exist()) add_fluid(state);
  for (int i = 0; i < model_.nv(); ++i) {
    if (held[static_cast<std::size_t>(i)]) effort[i] = w.torque[i];
  }
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
