// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/suzuki.hpp"

#include <cmath>

namespace vms_ph {

SolverState Suzuki::begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) {
  other_ = inner_->begin(q, v, t);
  return other_;
}

StepResult Suzuki::step(const SolverState& x, const Ports& ports, double t, double dt,
                        SolverState& next) noexcept {
  static const double outer = 1.0 / (4.0 - std::cbrt(4.0));
  const double fractions[] = {outer, outer, 1.0 - 4.0 * outer, outer, outer};
  StepResult result;
  const SolverState* from = &x;
  SolverState* to = &next;
  for (const double fraction : fractions) {
    const StepResult part = inner_->step(*from, ports, t, fraction * dt, *to);
    if (part.failure != Failure::none) return part;
    result.add(part);
    result.iterations += part.iterations;
    t += fraction * dt;
    // Five steps: the last one ends in `next`, as the first one did.
    from = to;
    to = to == &next ? &other_ : &next;
  }
  return result;
}

}  // namespace vms_ph
