// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The map of a base's actuators where they turn, and the momentum of what they spin.
#pragma once

#include <Eigen/Core>

#include "description_tags.hpp"
#include "nearest_inputs.hpp"
#include "vms_ph_native/bounded_least_squares.hpp"

namespace vms_ph_ros2_control {

/// The map w = B u (b,m) at the angles of its inputs.
///
/// A workspace: after construction nothing allocates or throws.
class ActuatorMap {
 public:
  explicit ActuatorMap(const BaseActuators& actuators);

  bool turns() const noexcept { return turns_; }
  bool spins() const noexcept { return spins_; }

  /// B at the angles set last, those of the start before.
  const Eigen::MatrixXd& matrix() const noexcept { return matrix_; }

  /// Set the angles (m,) of tilts and of steering, rad.
  void turn(const Eigen::VectorXd& angles) noexcept;

  /// Angular momentum of what spins with rates (m,), rad/s, in the base frame, kg m^2/s.
  Eigen::Vector3d momentum(const Eigen::VectorXd& angles,
                           const Eigen::VectorXd& rates) const noexcept;

 private:
  TurningColumns columns_;
  SpinningParts spinning_;
  Eigen::MatrixXd matrix_;
  bool turns_, spins_;
};

/// Where rotors that tilt are to point, as ActuatorDynamics._tilted_commands in
/// vms_ph_dynamics/actuation/actuator_dynamics.py: by forces that are not negative, at
/// the limits of their angles and in the middle between them.
///
/// A workspace: after construction nothing allocates or throws.
class TiltAllocation {
 public:
  /// @throws vms_ph::ModelError  more columns than the C++ core serves.
  explicit TiltAllocation(const BaseActuators& actuators);

  /// Whether there are such rotors.
  bool exist() const noexcept { return !tilting_.empty(); }

  /// Write the angles (m,) at the end of a step, rad.
  ///
  /// @param goal          (b,) wanted wrench times the weights.
  /// @param lower, upper  (m,) limits of the inputs.
  /// @param angles        (m,) at its start.
  /// @param step          its length, s.
  void aim(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
           const Eigen::VectorXd& angles, double step, Eigen::VectorXd& out) noexcept;

 private:
  ActuatorMap map_;
  Eigen::VectorXd weights_;
  Eigen::VectorXd least_, most_, middle_;  ///< limits of the angles and their mean, (t,)
  Eigen::VectorXd fastest_;                ///< rad/s, (t,)
  std::vector<Eigen::Index> tilting_;
  Eigen::MatrixXd parts_;  ///< (b,m+2t), times the weights
  Eigen::VectorXd at_middle_, lower_, upper_, forces_;
  vms_ph::VectorB sought_;
  NearestInputs free_;  ///< where limits do not matter
  vms_ph::BoundedLeastSquares search_;
};

}  // namespace vms_ph_ros2_control
