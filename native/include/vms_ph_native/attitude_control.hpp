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

// The attitude of a base in space by reaction wheels, with an arm that moves.
#pragma once

#include <optional>

#include "vms_ph_native/attitude_and_shape.hpp"

namespace vms_ph {

/// Gains of the attitude in space.
struct AttitudeControlGains : AttitudeGains {
  AttitudeControlGains() {
    frequency_attitude = 0.3;
    frequency_shape = 4.0;
  }

  static const GainTable<AttitudeControlGains>& table();
};

/// Holds the attitude of a base by moments alone, and its joints; the position is free. The law is
/// described in vms_ph_controllers/laws/attitude_control.py.
class AttitudeControl final : public RampedGains<AttitudeAndShape, AttitudeControlGains> {
 public:
  /// Control attitude and joints of a robot, which must outlive the controller.
  ///
  /// @param allocation   its actuators, which can turn the base about all axes.
  /// @throws ModelError  the base does not float without gravity, or nothing turns it.
  AttitudeControl(const Model& model, const std::optional<Allocation>& allocation,
                  bool base_actuated = true);

 private:
  BaseMotion base_motion(Evaluation& d, const LockedBody& body, double h) noexcept override;
  Eigen::Matrix3d attitude_of(const Eigen::Matrix3d& rotation) const noexcept override {
    return rotation;
  }
  Twist twist_of(const Twist& twist) const noexcept override { return twist; }
  double bandwidth() const noexcept override { return gains_now().frequency_attitude; }
};

}  // namespace vms_ph
