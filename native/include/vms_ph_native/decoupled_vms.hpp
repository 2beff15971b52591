// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Decoupled control of vehicle-manipulator systems: one energy for each of vehicle and shape.
#pragma once

#include <optional>
#include <vector>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/decoupled_effort.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of the decoupled law.
struct DecoupledVmsGains : OutputGains {
  double frequency_base = 1.5, frequency_shape = 4.0, damping_ratio = 0.8;
  double base_speed = 0.3, base_turn = 0.5, joint_speed = 0.5;
  double integral = 0.0;

  static const GainTable<DecoupledVmsGains>& table();
};

/// Energy shaping and damping in the inertially decoupled coordinates of [A (59)].
/// The storage function H_cl = 1/2 e^T M e + V_b(h) + V_m(q) with the velocity error e decreases by
/// the damping of the locked velocity error e_b + A e_m and of the shape part e_m. The law is
/// described in vms_ph_controllers/laws/decoupled_vms.py.
class DecoupledVMSController final : public RampedGains<StagedController, DecoupledVmsGains> {
 public:
  /// Control the pose of the base and the joints of a robot, which must outlive the controller.
  ///
  /// @param allocation     the actuators of the base; without them it can apply any wrench.
  /// @param base_actuated  false for a base without actuators; its pose is then not controlled.
  /// @throws ModelError    a fixed base, or an allocation for another base.
  explicit DecoupledVMSController(const Model& model, std::optional<Allocation> allocation = {},
                                  bool base_actuated = true);

 private:
  void hold() noexcept override;
  const Command& control(const Reference& reference, double dt) noexcept override;
  bool is_resting() const noexcept { return base_.is_resting() && joints_.is_resting(); }
  void follow(const Reference& reference, double dt) noexcept;
  void integrate(const Pose& pose, const Eigen::Vector3d& position_error, double dt) noexcept;
  double integral_power(const Pose& pose, const Pose& error) const noexcept;
  void update_springs() noexcept;

  PosePotential potential_;
  PoseReference base_;
  JointReference joints_;
  IntegralAction integral_;
  const double active_;           // 1 for an actuated base, else 0
  std::vector<bool> continuous_;  // (n,) whether a joint is continuous
  double mass_ = 0.0, inertia_ = 0.0;
  VectorV shape_inertia_, positions_, offset_;
  DecoupledEffort::Springs springs_;
  DecoupledEffort effort_;
};

}  // namespace vms_ph
