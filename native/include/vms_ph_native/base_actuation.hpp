// What a base can do of the wrench a law wants of it.
#pragma once

#include <optional>

#include "vms_ph_native/allocation.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Maps wanted wrenches of a base to those it can make.
///
/// A wrench out of reach is drawn towards the one that holds the robot against gravity, direction
/// kept: clipping every rotor by itself would turn the vehicle over. Where the base lacks a
/// direction altogether, the nearest wrench it has is taken.
class BaseActuation {
 public:
  /// Take the actuators of a base: an allocation, any wrench when there is none, or nothing at all.
  ///
  /// @throws ModelError  an allocation for another kind of base.
  BaseActuation(const Model& model, std::optional<Allocation> allocation, bool actuated);

  bool actuated() const noexcept { return actuated_; }

  /// What the base makes of a wanted wrench (b,).
  ///
  /// @param wanted   by the law.
  /// @param resting  (b,) holds the robot against gravity.
  const VectorB& apply(const ConstVector& wanted, const ConstVector& resting) noexcept;

  /// Why the last wrench was not the one wanted, in words; empty when it was.
  const Reason& reason() const noexcept { return reason_; }

 private:
  double share_within_limits() const noexcept;

  bool actuated_;
  std::optional<Allocation> allocation_;
  Eigen::MatrixXd inverse_, reach_;
  Eigen::VectorXd thrusts_, least_, step_;
  VectorB wrench_, missing_;
  Reason reason_;
};

}  // namespace vms_ph
