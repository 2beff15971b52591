// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

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
