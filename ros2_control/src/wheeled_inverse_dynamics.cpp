// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "wheeled_inverse_dynamics.hpp"

#include "vms_ph_native/cholesky.hpp"

namespace vms_ph_ros2_control {

WheeledInverseDynamics::WheeledInverseDynamics(const vms_ph::Model& model,
                                               const std::vector<vms_ph::Wheel>& wheels)
    : terms_(model, wheels), resting_(model), rest_(Eigen::VectorXd::Zero(model.nv())) {}

void WheeledInverseDynamics::solve(const vms_ph::RobotState& state,
                                   Eigen::VectorXd& values) noexcept {
  const Eigen::Index n = resting_.model().n();
  if (terms_.compute(state)) {
    // Joint rates are S_j nu: their accelerations S_j nudot + Sdot_j nu, and S_j^T tau = f.
    const auto drives = terms_.basis.bottomRows(n);
    squares_ = drives.transpose().lazyProduct(drives);
    const vms_ph::Cholesky squares(squares_);
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
  resting_.set(state.q, rest_);
  values.setZero();
  values.tail(n) = resting_.g().tail(n);
}

}  // namespace vms_ph_ros2_control
