// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What maps the wrenches that a law wants to those that a base can apply.
#pragma once

#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The actuators of a base; after construction they do not allocate or throw.
class Actuation {
 public:
  virtual ~Actuation() = default;

  /// Whether the base has actuators.
  virtual bool actuated() const noexcept = 0;

  /// The wrench (b,) that the base applies for a desired one.
  ///
  /// @param wanted   (b,) wrench of the law.
  /// @param resting  (b,) wrench that compensates gravity.
  virtual const VectorB& apply(const ConstVector& wanted, const ConstVector& resting) noexcept = 0;

  /// Why the last wrench differs from the desired one, in words; empty when it does not.
  virtual const Reason& reason() const noexcept = 0;
};

}  // namespace vms_ph
