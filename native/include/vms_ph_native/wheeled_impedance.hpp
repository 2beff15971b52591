// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Impedance of the end effector of a robot on wheels, in the velocities that its wheels allow.
#pragma once

#include <string>
#include <vector>

#include "vms_ph_native/joint_limit_potential.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/wheeled_controller.hpp"

namespace vms_ph {

/// Gains of the impedance on wheels.
struct WheeledGains : LimitGains {
  double stiffness = 100.0, stiffness_rotation = 5.0, damping = 40.0, damping_rotation = 1.0;
  double damping_null = 1.0, limit_margin = 0.05, limit_frequency = 10.0;
  double speed = 0.2, turn = 0.5;

  static const GainTable<WheeledGains>& table();
};

/// A spring and a damper hold the end effector, and all joints follow as the wheels allow; the law
/// is described in vms_ph_controllers/laws/wheeled_impedance.py.
class WheeledImpedance final : public WheeledController {
 public:
  /// Control the end effector of a robot, which must outlive the controller.
  ///
  /// @throws ModelError  wheels that no joint moves, or a mistake in the wheels.
  WheeledImpedance(const Model& model, const std::vector<Wheel>& wheels);

  bool reset(const RobotState& state) noexcept override;

  std::vector<Gain> gains() const override { return WheeledGains::table().list(gains_); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return WheeledGains::table().set(gains_, name, value);
  }

 private:
  const char* drive(const Reference& reference, double dt) noexcept override;
  void rest() noexcept;

  WheeledGains gains_;
  JointLimitPotential joint_limits_;
  PoseReference tool_;
  PoseEffort effort_;
  Evaluation beginning_;
  VectorV limit_inertia_, positions_, wanted_;
  Matrix6V jacobian_, momentum_;
  Reason reason_;
};

}  // namespace vms_ph
