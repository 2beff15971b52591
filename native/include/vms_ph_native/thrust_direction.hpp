// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Attitudes in which a thrust along one axis of the base points along a wanted force.
#pragma once

#include <string>

#include "vms_ph_native/allocation.hpp"

namespace vms_ph {

/// The axis of the thrusts of a base, and what they reach along it.
struct SingleAxis {
  Eigen::Vector3d axis;  ///< in the frame of the base, length one
  double least = 0.0;    ///< thrust along it, N
  double most = 0.0;     ///< thrust along it, N
};

/// @param name         of the robot, for messages.
/// @throws ModelError  there are several axes, or the base cannot be turned about all axes.
SingleAxis single_axis(const Allocation& allocation, const std::string& name);

/// The attitudes of a base whose thrust has one axis; see
/// vms_ph_controllers/laws/thrust_direction.py.
class ThrustDirection {
 public:
  /// @param axis  of the thrust in the frame of the base, length one.
  explicit ThrustDirection(const Eigen::Vector3d& axis);

  /// The rotation whose thrust is along a force that is not zero, nose near that of a heading.
  Eigen::Matrix3d attitude(const Eigen::Vector3d& force,
                           const Eigen::Matrix3d& heading) const noexcept;

  /// A force, or one per mass, brought into a cone around the vertical.
  ///
  /// @param up      length one.
  /// @param weight  force, or one per mass, that holds the robot.
  /// @param tilt    largest angle from the vertical, rad.
  static Eigen::Vector3d within(const Eigen::Vector3d& force, const Eigen::Vector3d& up,
                                double weight, double tilt) noexcept;

 private:
  Eigen::Matrix3d own_;  // nose, left side and axis
};

}  // namespace vms_ph
