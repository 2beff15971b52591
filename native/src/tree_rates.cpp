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

// The rates of the momenta of a tree in the coordinates of the port-Hamiltonian forms.
#include "vms_ph_native/tree.hpp"

#include <algorithm>

namespace vms_ph {

using Eigen::Vector3d;
using Eigen::VectorXd;

Screw Tree::transported() const noexcept {
  const Screw& p = momentum_;
  return restricted({p.linear.cross(base_.angular),
                     p.angular.cross(base_.angular) + p.linear.cross(base_.linear)});
}

void Tree::solve_decoupled(const Screw& momentum, const double* pi_hat, VectorXd& out) noexcept {
  factorise();
  right_ = Eigen::Map<const VectorXd>(pi_hat, n_);
  substitute(right_.data());
  if (b_ > 0) {
    Screw p = about_centre(momentum);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const double rate = right_[static_cast<Eigen::Index>(i)];
      p.linear -= rate * columns_[i].whole.linear;
      p.angular -= rate * columns_[i].whole.angular;
    }
    set_base(mobility(p), out);
  }
  out.tail(n_) = right_;
}

// pi_hat_i = S_i . (h_i - Y_i v_hat), with the momentum h_i and the inertia Y_i of the subtree.
void Tree::add_shape_rates(const Screw& rate, double* out) noexcept {
  add_slopes(1.0, out);
  if (b_ == 0) return;
  react();
  const Screw v_hat = locked_twist(momentum_);
  Screw whole_drift;
  for (Body& body : bodies_) {
    const Screw u{body.twist.linear - base_.linear, body.twist.angular - base_.angular};
    const Screw h = body.own * v_hat;
    const Screw turned = body.own * bracket(u, v_hat);
    body.locked = h;
    body.drift = {u.angular.cross(h.linear) - turned.linear,
                  u.angular.cross(h.angular) + u.linear.cross(h.linear) - turned.angular};
  }
  for (std::size_t i = bodies_.size(); i-- > 0;) {
    const int parent = joints_[i].parent;
    if (parent < 0) {
      whole_drift += bodies_[i].drift;
      continue;
    }
    Body& before = bodies_[static_cast<std::size_t>(parent)];
    before.drift += bodies_[i].drift;
    before.locked += bodies_[i].locked;
  }
  // The rate of the locked velocity.
  const Screw left{rate.linear - whole_drift.linear, rate.angular - whole_drift.angular};
  Screw turn = about_centre(left);
  turn = {turn.linear / total_.mass, turning_ * turn.angular};
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const Body& body = bodies_[i];
    const Screw u{body.twist.linear - base_.linear, body.twist.angular - base_.angular};
    out[joints_[i].lead] -= bracket(u, body.screw).dot(body.locked) + body.screw.dot(body.drift);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) out[i] -= columns_[i].whole.dot(turn);
}

}  // namespace vms_ph
