// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
