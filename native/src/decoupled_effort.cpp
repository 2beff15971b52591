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

#include "vms_ph_native/decoupled_effort.hpp"

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

DecoupledEffort::DecoupledEffort(const Model& model)
    : error(VectorV::Zero(model.nv())),
      wanted(error),
      sent(error),
      b_(model.b()),
      n_(model.n()),
      joint_limits_(model),
      positions_(VectorV::Zero(model.n())),
      held_(model) {
  demand.gradient = demand.stiffness = demand.velocity = demand.acceleration = error;
}

double DecoupledEffort::spring(const Evaluation& d, const Springs& springs,
                               const PosePotential& potential, const Pose& pose,
                               const VectorV& offset) noexcept {
  d.model().joint_positions(d.q(), positions_);
  const LimitSprings limits =
      joint_limits_.springs(positions_, d.v().tail(n_), springs.limit, springs.margin, demand.h);
  const double position = springs.position, rotation = springs.rotation;
  demand.gradient.head(b_) = components(potential.gradient(pose, position, rotation));
  demand.gradient.tail(n_) = springs.shape.cwiseProduct(offset) + limits.force;
  Twist base;
  base << position, position, position, rotation, rotation, rotation;
  demand.stiffness.head(b_) = components(base);
  demand.stiffness.tail(n_) = springs.shape + limits.stiffness;
  return potential.value(pose, position, rotation) + 0.5 * springs.shape.dot(offset.cwiseAbs2()) +
         limits.energy;
}

void DecoupledEffort::lead(const Evaluation& d, const Pose& pose, const Twist& twist,
                           const Twist& acceleration, const ConstVector& rates,
                           const ConstVector& accelerations) noexcept {
  const se3::Adjoint to_body = se3::Ad(se3::inverse(pose));
  const Twist velocity = to_body * twist;
  demand.is_resting = false;
  demand.velocity.head(b_) = components(velocity);
  demand.velocity.tail(n_) = rates;
  const VectorB slip = d.v().head(b_) - demand.velocity.head(b_);
  Twist relative = Twist::Zero();
  if (b_ == 6) {
    relative = slip;
  } else {
    relative << slip[0], slip[1], 0.0, 0.0, 0.0, slip[2];
  }
  const Twist turning = to_body * acceleration - se3::ad(relative) * velocity;
  demand.acceleration.head(b_) = components(turning);
  demand.acceleration.tail(n_) = accelerations;
}

void DecoupledEffort::rest() noexcept {
  demand.is_resting = true;
  demand.velocity.setZero();
  demand.acceleration.setZero();
}

VectorB DecoupledEffort::components(const Twist& twist) const noexcept {
  if (b_ == 6) return twist;
  return Eigen::Vector3d(twist[0], twist[1], twist[5]);
}

VMS_PH_WIDE void DecoupledEffort::compute(Evaluation& d) noexcept {
  const double base = demand.base, shape = demand.shape, h = demand.h;
  const MatrixV &mass = d.M(), &shape_inertia = d.M_hat_m();
  const MatrixBN& connection = d.A();
  error = d.v() - demand.velocity;
  VectorB locked = error.head(b_);
  locked.noalias() += connection.lazyProduct(error.tail(n_));
  const VectorB momentum_base = d.M_b().lazyProduct(locked);
  const VectorV momentum_shape = shape_inertia.lazyProduct(error.tail(n_));
  damping_ = base * mass;
  damping_.bottomRightCorner(n_, n_) = shape * shape_inertia;
  damping_.bottomRightCorner(n_, n_) += base * connection.transpose().lazyProduct(d.M_bm());
  stiffness_.setZero(b_ + n_, b_ + n_);
  stiffness_.diagonal() = demand.stiffness;
  held_.compute(mass, damping_, stiffness_, demand.gradient, error, h);

  const VectorV& left = held_.velocity;
  VectorB left_locked = left.head(b_);
  left_locked.noalias() += connection.lazyProduct(left.tail(n_));
  const VectorB force_base = base * d.M_b().lazyProduct(left_locked);
  const VectorV force_shape = shape * shape_inertia.lazyProduct(left.tail(n_));
  wanted = d.g();
  if (!demand.is_resting) {
    wanted.noalias() += mass.lazyProduct(demand.acceleration);
    wanted.noalias() += d.C().lazyProduct(demand.velocity);
  }
  wanted -= demand.gradient + held_.ahead;
  wanted.head(b_) -= force_base;
  // The damping of the locked motion also acts on the joints; its potential does not.
  wanted.tail(n_) -= force_shape;
  wanted.tail(n_).noalias() -= connection.transpose().lazyProduct(force_base);
  sent = wanted + demand.gradient - held_.spring;
  sent += held_.brake(d, h);
  kinetic_base = 0.5 * locked.dot(momentum_base);
  kinetic_shape = 0.5 * error.tail(n_).dot(momentum_shape);
  damping_base = force_base.dot(locked) + held_.ahead.head(b_).dot(error.head(b_));
  damping_shape = force_shape.dot(error.tail(n_)) + held_.ahead.tail(n_).dot(error.tail(n_));
}

}  // namespace vms_ph
