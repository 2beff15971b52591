// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The wrench that the actuators of a base can apply.
#pragma once

#include <optional>

#include "vms_ph_native/actuation.hpp"
#include "vms_ph_native/allocation.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Maps desired wrenches of a base to those that its actuators can apply.
/// A wrench beyond the limits is moved towards the one that compensates gravity, keeping the
/// direction of the difference: clipping every rotor separately would turn the vehicle over. If
/// the actuators do not span a direction, the nearest wrench that they span is applied.
class BaseActuation final : public Actuation {
 public:
  /// Serve a base with these actuators. Without an allocation it can apply any wrench; a base that
  /// is not actuated applies none.
  ///
  /// @throws ModelError  an allocation for another kind of base.
  BaseActuation(const Model& model, std::optional<Allocation> allocation, bool actuated);

  bool actuated() const noexcept override { return actuated_; }

  const VectorB& apply(const ConstVector& wanted, const ConstVector& resting) noexcept override;
  const Reason& reason() const noexcept override { return reason_; }

 private:
  void clip_thrusts() noexcept;
  bool is_outside() const noexcept;
  double share_within_limits() const noexcept;

  bool actuated_;
  std::optional<Allocation> allocation_;
  Eigen::MatrixXd inverse_, reach_;
  Eigen::VectorXd held_;  // (m,) inputs whose bounds leave no room, else zero
  Eigen::VectorXd thrusts_, least_, step_;
  VectorB offset_;  // (b,) wrench of the held inputs
  VectorB wrench_, missing_;
  Reason reason_;
};

}  // namespace vms_ph
