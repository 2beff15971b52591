// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Higher order from a symmetric scheme: Suzuki's composition of five steps.
#pragma once

#include <memory>
#include <utility>

#include "vms_ph_native/integrators/stepper.hpp"

namespace vms_ph {

/// A symmetric scheme of order two, composed of five steps to one of order four; the middle one
/// goes back in time. The invariants of the inner scheme are preserved.
class Suzuki final : public Stepper {
 public:
  explicit Suzuki(std::unique_ptr<Stepper> inner) : inner_(std::move(inner)) {}

  int order() const override { return 4; }
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next) noexcept override;
  void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept override {
    inner_->motion(x, q, v);
  }

 private:
  std::unique_ptr<Stepper> inner_;
  SolverState other_;
};

}  // namespace vms_ph
