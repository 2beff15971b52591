// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// An end effector that is held or moved while the base drives.
#pragma once

#include <optional>

#include "vms_ph_native/end_effector_impedance.hpp"

namespace vms_ph {

/// Gains of the impedance on a base that drives.
struct MobileGains : ImpedanceGains {
  MobileGains() {
    stiffness = 800.0;
    stiffness_rotation = 40.0;
    damping = 120.0;
    damping_rotation = 6.0;
    frequency_base = 1.5;
  }
  double base_speed = 0.2, base_turn = 0.3, base_share = 0.0;

  static const GainTable<MobileGains>& table();
};

/// The impedance of an end effector, on a base with a reference of its own; it is described in
/// vms_ph_controllers/laws/mobile_manipulation.py.
class MobileManipulation final : public RampedGains<PoseImpedance, MobileGains> {
 public:
  /// Control end effector and base of a robot, which must outlive the controller.
  ///
  /// @param allocation     the actuators of the base; without them it can apply any wrench.
  /// @param base_actuated  must be true.
  /// @throws ModelError    the base is fixed, has no actuators, or cannot apply every wrench.
  explicit MobileManipulation(const Model& model, const std::optional<Allocation>& allocation = {},
                              bool base_actuated = true);

  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;

 private:
  void hold() noexcept override;
  void follow(const Reference& reference, double dt) noexcept override;
  void hold_base(double dt) noexcept override;

  PoseReference vehicle_;
  Pose goal_ = Pose::Identity();                         // of the base, without what it takes over
  Eigen::Vector3d tool_home_ = Eigen::Vector3d::Zero();  // of the end effector, at the reset
};

}  // namespace vms_ph
