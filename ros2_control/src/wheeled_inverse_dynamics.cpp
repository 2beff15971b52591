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
