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

// Solver for the velocity in the middle of a step: fixed point where it contracts, else Newton.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/integrators/stepper.hpp"

namespace vms_ph {

/// Finds the fixed point of a sweep; see vms_ph_dynamics/integrators/implicit.py.
class FixedPoint {
 public:
  /// Evaluates one sweep from a guess of the unknown; false when the result is not finite.
  class Sweep {
   public:
    virtual ~Sweep() = default;
    virtual bool sweep(const Eigen::VectorXd& unknown, Eigen::VectorXd& following) noexcept = 0;
  };

  explicit FixedPoint(int size);

  Eigen::VectorXd unknown;  ///< the guess, then the solution

  /// Solve; the last sweep made is that of the solution. Writes iterations and failure.
  bool solve(Sweep& sweep, StepResult& result) noexcept;

 private:
  bool newton(Sweep& sweep, StepResult& result) noexcept;

  Eigen::VectorXd y_, following_, residual_, step_, moved_, left_;
  Eigen::MatrixXd slope_;
};

}  // namespace vms_ph
