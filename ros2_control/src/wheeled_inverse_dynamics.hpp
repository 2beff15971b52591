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

// Computed torques of a robot on wheels that do not slip.
#pragma once

#include <vector>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph_ros2_control {

/// The torques of all joints, wheels and arm, under which these have given accelerations, in the
/// reduced equations. A wheel feels the mass of the robot that it drives.
///
/// After construction nothing allocates or throws.
class WheeledInverseDynamics {
 public:
  /// @param model                must outlive this.
  /// @throws vms_ph::ModelError  a mistake in the wheels.
  WheeledInverseDynamics(const vms_ph::Model& model, const std::vector<vms_ph::Wheel>& wheels);

  /// Replace accelerations (nv,), of which those of the joints are taken, by efforts: zero at the
  /// base, and the smallest torques. Where the wheels determine none, those against gravity.
  void solve(const vms_ph::RobotState& state, Eigen::VectorXd& values) noexcept;

 private:
  vms_ph::WheeledTerms terms_;
  vms_ph::Evaluation resting_;
  Eigen::VectorXd rest_;
  vms_ph::MatrixV squares_;
  vms_ph::VectorV rates_, force_;
};

}  // namespace vms_ph_ros2_control
