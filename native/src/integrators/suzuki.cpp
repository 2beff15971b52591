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
