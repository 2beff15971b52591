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

// A potential on poses without Euler angles, unwinding or undesired equilibria.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/se3.hpp"

namespace vms_ph {

/// 1/2 e^T k_p e + 4 k_r (1 - s eta) of the pose (R, e) of a body in its reference.
///
/// eta is the scalar part of the unit quaternion, s a sign that is switched where s eta falls below
/// minus a margin (C. G. Mayhew, R. G. Sanfelice, A. R. Teel, IEEE Trans. Automatic Control 56(11),
/// 2011); see vms_ph_controllers/potentials/pose_potential.py.
class PosePotential {
 public:
  /// Restart at a pose error with the sign of the shorter rotation.
  void restart(const Pose& error) noexcept;

  /// Continue from a quaternion (x, y, z, w) and a sign of an earlier one.
  void resume(const Eigen::Vector4d& quaternion, double sign) noexcept {
    quaternion_ = quaternion;
    sign_ = sign;
  }

  const Eigen::Vector4d& quaternion() const noexcept { return quaternion_; }
  double sign() const noexcept { return sign_; }

  /// Set the pose error; return whether the sign was switched.
  bool follow(const Pose& error) noexcept;

  /// The potential at the pose error set last, J; k_position in N/m, k_rotation in N m/rad
  /// for small angles.
  double value(const Pose& error, double k_position, double k_rotation) const noexcept;

  /// The gradient as a wrench in the axes of the body, linear first.
  Twist gradient(const Pose& error, double k_position, double k_rotation) const noexcept;

 private:
  Eigen::Vector4d quaternion_ = Eigen::Vector4d::UnitW();  // x, y, z, w
  double sign_ = 1.0;
};

}  // namespace vms_ph
