// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Task-space IDA-PBC of a pose, on any base that is fully actuated.
#pragma once

#include <optional>

#include "vms_ph_native/allocation.hpp"
#include "vms_ph_native/base_spring.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_motion.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of the law.
struct PoseIdaPbcGains : OutputGains {
  double stiffness = 200.0, stiffness_rotation = 10.0, damping = 40.0, damping_rotation = 2.0;
  double damping_null = 2.0, frequency_base = 3.0, frequency_posture = 0.0;
  bool hold_base = true, cancel_coupling = false;
  double speed = 0.2, turn = 0.5;

  static const GainTable<PoseIdaPbcGains>& table();
};

/// Interconnection and damping assignment for a pose on SE(3) [D (37)], with the options of
/// vms_ph_controllers/laws/pose_ida_pbc.py at their defaults.
class PoseIDAPBC final : public RampedGains<StagedController, PoseIdaPbcGains> {
 public:
  /// Control the end effector of a robot, which must outlive the controller.
  ///
  /// @param allocation     the actuators of the base; without them it can apply any wrench.
  /// @param base_actuated  whether the base has actuators at all.
  /// @throws ModelError    the base cannot apply every wrench, or the allocation is for another.
  explicit PoseIDAPBC(const Model& model, std::optional<Allocation> allocation = {},
                      bool base_actuated = true);

 private:
  void hold() noexcept override;
  const Command& control(const Reference& reference, double dt) noexcept override;
  void springs(double h, double dt) noexcept;

  SwitchRamp holding_, cancelling_;
  BaseSpring spring_;
  PoseReference tool_;
  PoseMotion motion_;
  PoseEffort effort_;
  VectorV shape_inertia_, positions_, gyroscopic_, wanted_, sent_;
  Eigen::VectorXd posture_, offset_;
};

}  // namespace vms_ph
