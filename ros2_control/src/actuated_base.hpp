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
#include <vector>

#include "description_tags.hpp"
#include "vms_ph_native/bounded_least_squares.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/prioritised_actuation.hpp"

namespace vms_ph_ros2_control {

/// Whether an input works.
enum class Health : unsigned char {
  good,
  failed,  ///< it gives nothing, and the allocation does without it
  hidden,  ///< it gives nothing, and the allocation does not know
};

/// Makes of the wrench that is commanded the one that actuators apply: the nearest within their
/// limits, with the dead zones and the lags of rotors, the friction of wheels and failures; as
/// ActuatorDynamics in vms_ph_dynamics/effects/actuator_dynamics.py, without the inertia of what
/// spins. Without actuators, the commanded one. Of their energy,
///
///     electric = work on the base + lost
///
/// After construction nothing allocates or throws.
class ActuatedBase {
 public:
  /// @throws vms_ph::ModelError  actuators of another kind of base.
  ActuatedBase(const vms_ph::Model& model, std::optional<BaseActuators> actuators);

  /// Begin to count energies at zero; failures remain.
  void reset() noexcept { electric_ = lost_ = 0.0; }

  /// Set the health of an input, from the next step on.
  void set_health(std::size_t input, Health health) noexcept { health_[input] = health; }

  /// Let rotors turn as they do when a wrench (b,) has long been commanded.
  void settle(const Eigen::VectorXd& wanted) noexcept;

  /// The wrench (b,) over a step of `dt` s of a base that moves with `twist` (b,); `wanted` (b,) is
  /// commanded.
  const Eigen::VectorXd& hold(const Eigen::VectorXd& wanted, const Eigen::VectorXd& twist,
                              double dt) noexcept;

  /// Enter the energy of the step that was held.
  ///
  /// @param work   of the wrench during the step, J.
  /// @param twist  (b,) of the base at its end.
  void commit(double work, const Eigen::VectorXd& twist, double dt) noexcept;

  /// The wrench (b,) of the last step, N and N m.
  const Eigen::VectorXd& wrench() const noexcept { return wrench_; }

  double electric() const noexcept { return electric_; }  ///< taken from the supply, J
  double lost() const noexcept { return lost_; }          ///< in fluid, friction and windings, J

 private:
  void allocate(const Eigen::VectorXd& wanted) noexcept;
  bool limit() noexcept;

  std::optional<BaseActuators> actuators_;
  std::optional<vms_ph::PrioritisedActuation> nearest_;
  std::optional<vms_ph::BoundedLeastSquares> search_;  ///< where limits are not the usual ones
  std::vector<Health> health_;
  Eigen::VectorXd lower_, upper_, goal_;
  Eigen::VectorXd sent_, thrusts_, rates_, wrench_;
  Eigen::VectorXd twist_, moving_;   ///< at the start of the step; of the inputs there
  Eigen::VectorXd friction_, spun_;  ///< torques; mean rates of shafts
  double electric_ = 0.0, lost_ = 0.0;
};

}  // namespace vms_ph_ros2_control
