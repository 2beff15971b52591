// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The rates of the momenta of a tree in the coordinates of the port-Hamiltonian forms.
#include "vms_ph_native/tree.hpp"

#include <algorithm>

#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

using Eigen::Vector3d;
using Eigen::VectorXd;

Screw Tree::transported() const noexcept {
  const Screw& p = momentum_;
  return restricted({p.linear.cross(base_.angular),
                     p.angular.cross(base_.angular) + p.linear.cross(base_.linear)});
}

// pi_hat_i = S_i . (h_i - Y_i v_hat), with the momentum h_i and the inertia Y_i of the subtree.
VMS_PH_WIDE void Tree::add_shape_rates(const Screw& rate, double* out) noexcept {
  add_slopes(1.0, out);
  if (b_ == 0) return;
  react();
  const LaneScrew base(base_), v_hat(locked_twist(momentum_));
  for (std::size_t g = 0; g < groups(); ++g) {
    const LaneInertia own(places_[g].own);
    const LaneScrew u = LaneScrew(motions_[g].twist) - base, h = own * v_hat;
    h.keep_in(passing_[g].locked);
    (dual_bracket(u, h) - own * bracket(u, v_hat)).keep_in(passing_[g].drift);
  }
  add_up<6>([this](std::size_t g) VMS_PH_INLINED { return passing_[g].locked; });
  const Screw drift =
      screw_of(add_up<6>([this](std::size_t g) VMS_PH_INLINED { return passing_[g].drift; }));
  // The rate of the locked velocity.
  Screw turn = about_centre({rate.linear - drift.linear, rate.angular - drift.angular});
  turn = {turn.linear / total_.mass, turning_ * turn.angular};
  for (std::size_t g = 0; g < groups(); ++g) {
    const LaneScrew u = LaneScrew(motions_[g].twist) - base, screw(places_[g].screw);
    const Lanes taken = bracket(u, screw).dot(LaneScrew(passing_[g].locked)) +
                        screw.dot(LaneScrew(passing_[g].drift));
    keep(&products_[g * kTogether], taken);
  }
  for (std::size_t i = 0; i < joints_.size(); ++i) out[joints_[i].lead] -= products_[i];
  for (int i = 0; i < n_; ++i) out[i] -= whole(i).dot(turn);
}

}  // namespace vms_ph
