// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0
// The models of Pinocchio themselves, for those that look inside one.
#pragma once

#include <string>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio.hpp"

#if __has_include(<pinocchio/multibody.hpp>)
#include <pinocchio/multibody.hpp>
#else
#include <pinocchio/multibody/data.hpp>
#include <pinocchio/multibody/model.hpp>
#endif

namespace vms_ph {

// Limits and friction of the joints.
#if PINOCCHIO_MAJOR_VERSION >= 4
constexpr auto kEffortLimit = &pinocchio::Model::upperEffortLimit;
constexpr auto kVelocityLimit = &pinocchio::Model::upperVelocityLimit;
constexpr auto kDryFriction = &pinocchio::Model::upperDryFrictionLimit;
#else
constexpr auto kEffortLimit = &pinocchio::Model::effortLimit;
constexpr auto kVelocityLimit = &pinocchio::Model::velocityLimit;
constexpr auto kDryFriction = &pinocchio::Model::friction;
#endif

inline ModelError multi_dof_error(const std::string& joint, int dofs) {
  return ModelError(
      "the joint '" + joint + "' has " + std::to_string(dofs) +
      " degrees of freedom; besides the base only revolute, continuous and prismatic joints are "
      "covered: split it into single ones");
}

inline ModelError moving_axis_error(const std::string& joint, const std::string& kind) {
  return ModelError("the joint '" + joint + "' (" + kind +
                    ") is neither a rotation about nor a translation along a fixed axis");
}

}  // namespace vms_ph
