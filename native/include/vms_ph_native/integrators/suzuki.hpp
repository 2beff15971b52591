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
