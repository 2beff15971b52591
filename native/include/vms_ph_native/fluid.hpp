// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A fluid around the robot: added mass, buoyancy and drag.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

namespace vms_ph {

/// The coefficients of one link in a fluid, in the axes and about the origin of its frame; linear
/// parts first. See vms_ph_dynamics/actuation/fluid.py.
struct ImmersedBody {
  std::string link;
  Eigen::Matrix<double, 6, 6> added_mass = Eigen::Matrix<double, 6, 6>::Zero();
  double volume = 0.0;                                           ///< of the displaced fluid, m^3
  Eigen::Vector3d centre_of_buoyancy = Eigen::Vector3d::Zero();  ///< m
  Eigen::Matrix<double, 6, 1> linear_drag = Eigen::Matrix<double, 6, 1>::Zero();  ///< N s/m, N m s
  Eigen::Matrix<double, 6, 1> quadratic_drag =
      Eigen::Matrix<double, 6, 1>::Zero();  ///< N s^2/m^2, N m s^2
};

/// A fluid at rest, and the links that are in it.
struct Fluid {
  std::vector<ImmersedBody> bodies;
  double density = 1000.0;  ///< kg/m^3

  /// @throws ModelError  a coefficient that is not finite or not physically possible.
  void check() const;
};

}  // namespace vms_ph
