// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Inputs of actuators for a wanted wrench, where their map changes.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/bounded_least_squares.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph_ros2_control {

/// The inputs within bounds whose wrench is nearest, of several the smallest; as nearest_inputs in
/// vms_ph_dynamics/actuation/allocation.py. Where bounds do not matter they are the least squares
/// themselves, to rounding, which the search within bounds is not where inputs have no effect.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class NearestInputs {
 public:
  /// @param weighted  (b,m) map from inputs to wrenches, times the weights of their components.
  explicit NearestInputs(const Eigen::MatrixXd& weighted)
      : weighted_(weighted), search_(weighted), eigen_(weighted.rows()) {}

  /// Take another map of the same size.
  void replace(const Eigen::MatrixXd& weighted) noexcept;

  /// Write the inputs (m,).
  ///
  /// @param goal          (b,) wanted wrench times the weights.
  /// @param lower, upper  (m,) bounds; may be infinite.
  void solve(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower,
             const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept;

  /// The same without a search; false, with inputs undefined, where bounds matter.
  bool solve_freely(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower,
                    const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept;

 private:
  Eigen::MatrixXd weighted_;
  vms_ph::BoundedLeastSquares search_;
  vms_ph::MatrixV gram_;  ///< (b,b) of the columns that are free
  vms_ph::SymmetricEigen eigen_;
  vms_ph::VectorB rest_, part_;
};

}  // namespace vms_ph_ros2_control
