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
  Eigen::VectorXd q_stage = q, v_stage = v, v_mean = v, a_mean = v, a = v, increment = v;
  for (int k = 0; k < steps; ++k) {
    v_mean.setZero();
    a_mean.setZero();
    for (const auto& [fraction, weight, displacement_weight] : kRK4Stages) {
      increment = fraction * dt * v_stage;
      pinocchio::integrate(m, q, increment, q_stage);
      v_stage = v + fraction * dt * a;
      // As references, for which Pinocchio's library holds the compiled function.
      a = pinocchio::aba(m, data, ConstVector(q_stage), ConstVector(v_stage), ConstVector(tau));
      v_mean += weight * v_stage;
      a_mean += weight * a;
    }
    increment = dt * v_mean;
    pinocchio::integrate(m, q, increment, q_stage);
    q = q_stage;
    v += dt * a_mean;
  }
}

}  // namespace vms_ph
