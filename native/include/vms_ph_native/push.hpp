// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A force along one direction in place of the impedance there.
#pragma once

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// A push of the end effector along one direction.
struct Push {
  Eigen::Vector3d direction = Eigen::Vector3d::UnitX();  ///< in end-effector axes, of length one
  VectorV effort;           ///< (nv,) generalised force that the law adds
  double damping = 0.0;     ///< along the direction, N s/m
  double authority = 1.0;   ///< share of the desired force in force, in [0, 1]
  const char* reason = "";  ///< why it is not the whole, in words; empty otherwise
};

}  // namespace vms_ph
