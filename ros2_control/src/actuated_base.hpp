// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// The actuators of a simulated base in time.
#pragma once

#include <optional>

#include "description_tags.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/prioritised_actuation.hpp"

namespace vms_ph_ros2_control {

/// Makes of the wrench that is commanded the one that actuators apply: the nearest within their
/// limits, with the dead zones and the lags of rotors; as ActuatorDynamics in
/// vms_ph_dynamics/effects/actuator_dynamics.py. Without actuators, the commanded one.
///
/// After construction nothing allocates or throws.
class ActuatedBase {
 public:
  /// @throws vms_ph::ModelError  actuators of another kind of base.
  ActuatedBase(const vms_ph::Model& model, std::optional<BaseActuators> actuators);

  /// Let rotors turn as they do when a wrench (b,) has long been commanded.
  void settle(const Eigen::VectorXd& wanted) noexcept;

  /// The wrench (b,) over a step of `dt` s; `wanted` (b,) is commanded.
  const Eigen::VectorXd& hold(const Eigen::VectorXd& wanted, double dt) noexcept;

  /// The wrench (b,) of the last step, N and N m.
  const Eigen::VectorXd& wrench() const noexcept { return wrench_; }

 private:
  void allocate(const Eigen::VectorXd& wanted) noexcept;

  std::optional<BaseActuators> actuators_;
  std::optional<vms_ph::PrioritisedActuation> nearest_;
  Eigen::VectorXd sent_, thrusts_, rates_, wrench_;
};

}  // namespace vms_ph_ros2_control
