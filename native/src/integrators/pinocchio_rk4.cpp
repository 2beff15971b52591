// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A baseline on Pinocchio's aba, which the benchmarks compare the schemes with.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {

void pinocchio_rk4(const Model& model, Eigen::VectorXd& q, Eigen::VectorXd& v, double dt,
                   int steps) {
  const auto& m = model.pinocchio();
  pinocchio::Data data(m);
  const Eigen::VectorXd tau = Eigen::VectorXd::Zero(m.nv);
  Eigen::VectorXd q_stage = q, v_stage = v, v_sum = v, a_sum = v, a = v, increment = v;
  const double fractions[4] = {0.5, 0.5, 1.0, 0.0}, weights[4] = {1.0, 2.0, 2.0, 1.0};
  for (int k = 0; k < steps; ++k) {
    q_stage = q;
    v_stage = v;
    v_sum.setZero();
    a_sum.setZero();
    for (int stage = 0; stage < 4; ++stage) {
      // As references, for which Pinocchio's library holds the compiled function.
      a = pinocchio::aba(m, data, ConstVector(q_stage), ConstVector(v_stage), ConstVector(tau));
      v_sum += weights[stage] * v_stage;
      a_sum += weights[stage] * a;
      if (stage == 3) break;
      increment = (fractions[stage] * dt) * v_stage;
      pinocchio::integrate(m, q, increment, q_stage);
      v_stage = v + (fractions[stage] * dt) * a;
    }
    increment = (dt / 6.0) * v_sum;
    pinocchio::integrate(m, q, increment, q_stage);
    q = q_stage;
    v += (dt / 6.0) * a_sum;
  }
}

}  // namespace vms_ph
