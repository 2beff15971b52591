// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
