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
