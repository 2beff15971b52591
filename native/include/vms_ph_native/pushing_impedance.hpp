// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Pushing with a desired force, with bounded energy and bounded speed where contact is lost.
#pragma once

#include <optional>

#include "vms_ph_native/cartesian_impedance.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/observers/external_wrench.hpp"
#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// Gains of the impedance that pushes.
struct PushGains : ImpedanceGains {
  double push_force = 50.0, push_speed = 0.05, push_energy = 2.0;
  double push_routing = 0.5, push_rate = 100.0, push_feedback = 1.0;

  static const GainTable<PushGains>& table();
};

/// The impedance of the end effector, and along one direction a force instead; it is described in
/// vms_ph_controllers/laws/pushing_impedance.py.
class PushingImpedance final : public PostureGains<PushGains> {
 public:
  /// Control the end effector of a robot, which must outlive the controller.
  ///
  /// @param allocation     the actuators of the base; without them it can apply any wrench.
  /// @param base_actuated  false for a base without actuators; it is then not held.
  /// @throws ModelError    the allocation is for another base.
  explicit PushingImpedance(const Model& model, std::optional<Allocation> allocation = {},
                            bool base_actuated = true);

  bool reset(const RobotState& state) noexcept override;
  void missed_updates() noexcept override;

  /// Energy that is left for pushing, J.
  double push_level() const noexcept { return tank_ ? tank_->level : gains_now().push_energy; }

  /// Force on the surroundings along the direction of the push, as observed, N.
  double observed_force() const noexcept { return observed_force_; }

 private:
  // A force that was held over the last sample.
  struct AppliedForce {
    Eigen::Vector3d position;  // of the end effector, m
    double force;              // N
    Eigen::Vector3d direction;
  };

  void hold() noexcept override;
  const Push* push(const Reference& reference, double dt) noexcept override;
  void update_tank(double dt) noexcept;
  bool update_direction(const Reference& reference, double dt) noexcept;
  void displace() noexcept;
  double force_correction(double dt) noexcept;

  ImpulseBalance balance_;
  MomentumObserver observer_;
  WrenchMap wrenches_;
  Push push_;
  std::optional<EnergyTank> tank_;
  std::optional<AppliedForce> applied_;
  Matrix6V tool_jacobian_;         // (6,nv) of the end effector, in its axes
  Eigen::Matrix3d tool_rotation_;  // its rotation
  Eigen::Vector3d tool_position_;  // its position, m
  Eigen::Vector3d desired_force_ = Eigen::Vector3d::Zero(), normal_ = Eigen::Vector3d::UnitX();
  double force_ = 0.0, correction_ = 0.0, observed_force_ = 0.0, routable_ = 0.0;
};

}  // namespace vms_ph
