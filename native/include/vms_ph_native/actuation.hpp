// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
