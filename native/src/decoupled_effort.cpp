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
      held_(model) {
  demand.gradient = demand.stiffness = demand.velocity = demand.acceleration = error;
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
