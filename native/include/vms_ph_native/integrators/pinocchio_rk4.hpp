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

// Steps of Pinocchio alone, beside which the cost of ours is measured.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

class Model;

/// The configuration reached by Runge-Kutta steps of order 4 on Pinocchio's aba, without efforts.
///
/// @throws ModelError  q or v has a wrong size.
Eigen::VectorXd pinocchio_rk4(const Model& model, const Eigen::VectorXd& q0,
                              const Eigen::VectorXd& v0, double dt, int steps);

}  // namespace vms_ph
