// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Driving and reaching of a robot on two wheels with one axle, in the velocities they allow.
#pragma once

#include <string>
#include <vector>

#include "vms_ph_native/drive_reference.hpp"
#include "vms_ph_native/joint_reference.hpp"
#include "vms_ph_native/wheeled_controller.hpp"

namespace vms_ph {

/// Gains of driving.
struct DriveGains : LimitGains {
  double rate = 25.0, rate_base = 2.0, rate_joints = 5.0, lateral = 8.0, friction = 1.0;
  double speed = 0.4, turn = 0.6, acceleration = 0.5, turn_acceleration = 1.0, joint_speed = 0.3;

  static const GainTable<DriveGains>& table();
};

/// The base comes to a pose by turning and driving, while the joints go to their positions; it is
/// described in vms_ph_controllers/laws/differential_drive.py.
class DifferentialDrive final : public WheeledController {
 public:
  /// Control base and joints of a robot, which must outlive the controller.
  ///
  /// @param wheels       two of them, or more that leave a base its speed and turn.
  /// @throws ModelError  the wheels are not of that kind, or on an axle beside the base's origin.
  DifferentialDrive(const Model& model, const std::vector<Wheel>& wheels);

  bool reset(const RobotState& state) noexcept override;

  std::vector<Gain> gains() const override { return DriveGains::table().list(gains_); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return DriveGains::table().set(gains_, name, value);
  }

 private:
  const char* drive(const Reference& reference, double dt) noexcept override;
  void follow(const Reference& reference, double dt) noexcept;
  void take_outputs(const MatrixV& basis, MatrixV& result) const noexcept;
  bool wanted() noexcept;

  DriveGains gains_;
  DriveReference base_;
  JointReference joints_;
  std::vector<Eigen::Index> arm_;  // joints that are no wheels
  VectorV fastest_, viscous_, coulomb_;
  // Speed, turn and the rates of the arm for independent velocities, (m,m), and their derivative.
  MatrixV map_, map_rate_, copy_, right_;
  VectorV nu_, nu_rate_, reference_;  // wanted (m,), their rates, and those of the reference
  VectorV positions_;
};

}  // namespace vms_ph
