// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Rotors and thrusters: from actuator inputs to the wrench on the base.
#pragma once

#include <limits>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// A rotor or thruster fixed to the base.
struct Rotor {
  Eigen::Vector3d position;  ///< in the base frame, m
  Eigen::Vector3d axis;      ///< direction of its thrust in the base frame; scaled to length one
  double drag_ratio = 0.0;   ///< reaction torque on the base about the axis over thrust, m
  double lower = -std::numeric_limits<double>::infinity();  ///< thrust, N
  double upper = std::numeric_limits<double>::infinity();   ///< thrust, N
};

/// The map w = B u from actuator thrusts to the base wrench.
class Allocation {
 public:
  /// Construct the map from the actuators of a robot on a floating or planar base.
  ///
  /// @throws ModelError  no actuator, a fixed base, or an actuator with an entry that is not
  /// finite,
  ///                     an axis of length zero, or limits in the wrong order.
  explicit Allocation(const std::vector<Rotor>& rotors, Base base = Base::floating);

  /// Construct it from B itself, (6,m) or (3,m), and the limits of the thrusts, (m,) each, N.
  ///
  /// @throws ModelError  wrong shapes, entries that are not finite, limits in the wrong order.
  Allocation(Eigen::MatrixXd matrix, Eigen::VectorXd lower, Eigen::VectorXd upper);

  /// B, linear first; for a planar base the rows (x, y, rotation about z).
  const Eigen::MatrixXd& matrix() const { return matrix_; }
  const Eigen::VectorXd& lower() const { return lower_; }
  const Eigen::VectorXd& upper() const { return upper_; }

  /// Whether every wrench can be produced, apart from limits.
  bool is_fully_actuated() const;

 private:
  Eigen::MatrixXd matrix_;
  Eigen::VectorXd lower_, upper_;
};

}  // namespace vms_ph
