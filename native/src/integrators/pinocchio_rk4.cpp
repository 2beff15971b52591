// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Steps of Pinocchio alone.
#include "vms_ph_native/integrators/pinocchio_rk4.hpp"

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
Eigen::VectorXd pinocchio_rk4(const Model& model, const Eigen::VectorXd& q0,
                              const Eigen::VectorXd& v0, double dt, int steps) {
  const auto& m = model.pinocchio();
  if (q0.size() != m.nq || v0.size() != m.nv) throw ModelError("q or v has a wrong size");
  pinocchio::Data data(m);
  const Eigen::VectorXd tau = Eigen::VectorXd::Zero(m.nv);
  Eigen::VectorXd q = q0, v = v0, at = q0, u = v0, sum = v0, total = v0, a = v0, reach = v0;
  const double fractions[4] = {0.5, 0.5, 1.0, 0.0}, weights[4] = {1.0, 2.0, 2.0, 1.0};
  for (int k = 0; k < steps; ++k) {
    at = q;
    u = v;
    sum.setZero();
    total.setZero();
    for (int stage = 0; stage < 4; ++stage) {
      // As references, for which Pinocchio's library holds the compiled function.
      a = pinocchio::aba(m, data, ConstVector(at), ConstVector(u), ConstVector(tau));
      sum += weights[stage] * u;
      total += weights[stage] * a;
      if (stage == 3) break;
      reach = (fractions[stage] * dt) * u;
      pinocchio::integrate(m, q, reach, at);
      u = v + (fractions[stage] * dt) * a;
    }
    reach = (dt / 6.0) * sum;
    pinocchio::integrate(m, q, reach, at);
    q = at;
    v += (dt / 6.0) * total;
  }
  return q;
}

}  // namespace vms_ph
