// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The wrench that actuators of a base can apply, where components have an order of importance.
#pragma once

#include "vms_ph_native/actuation.hpp"
#include "vms_ph_native/allocation.hpp"
#include "vms_ph_native/bounded_least_squares.hpp"

namespace vms_ph {

/// Maps desired wrenches to the nearest that the actuators can apply within their limits; forces
/// are given up before moments, see vms_ph_controllers/safety/prioritised_actuation.py.
class PrioritisedActuation final : public Actuation {
 public:
  /// @param weights      (b,) of the components of a wrench; when (0,), a force has the weight 1
  /// and
  ///                     a moment ten over the actuators' mean lever arm.
  /// @throws ModelError  more actuators than kMaxVelocities, or weights of another size.
  explicit PrioritisedActuation(const Allocation& allocation, const Eigen::VectorXd& weights = {});

  bool actuated() const noexcept override { return true; }
  const VectorB& apply(const ConstVector& wanted, const ConstVector& resting) noexcept override;
  const Reason& reason() const noexcept override { return reason_; }

  /// The inputs (m,) that make the last wrench, N or N m.
  const Eigen::VectorXd& inputs() const noexcept { return inputs_; }

 private:
  bool within() const noexcept;

  Allocation allocation_;
  VectorB weights_;
  Eigen::MatrixXd weighted_;  // diag(weights) B
  Eigen::MatrixXd reach_;     // onto the weighted wrenches that inputs can make
  Eigen::MatrixXd inverse_;   // of the weighted map of the inputs that are not held, (m,b)
  Eigen::VectorXd held_;      // (m,) inputs whose bounds leave no room, else zero
  Eigen::VectorXd inputs_;
  BoundedLeastSquares search_;
  VectorB wrench_, goal_, rest_;
  Reason reason_;
};

}  // namespace vms_ph
