// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Resolved motion of a free-floating robot: the tool by its joints alone, the base held or free.
#pragma once

#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/prioritised_rates.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of resolved motion.
struct ResolvedGains : OutputGains {
  double bandwidth = 1.0, bandwidth_attitude = 2.0, bandwidth_rates = 20.0;
  double least_singular_value = 0.02;
  bool hold_attitude = true;
  double joint_speed = 0.5, speed = 0.1, turn = 0.2;

  static const GainTable<ResolvedGains>& table();
};

/// Joint rates by the generalised Jacobian and the reaction null space, and the torques that give
/// them; the law is described in vms_ph_controllers/laws/resolved_motion.py.
class ResolvedMotion final : public RampedGains<StagedController, ResolvedGains> {
 public:
  /// Control the tool of a robot, which must outlive the controller.
  ///
  /// @throws ModelError  the base is not floating.
  explicit ResolvedMotion(const Model& model);

  void missed_updates() noexcept override;

 private:
  void hold() noexcept override;
  const Command& control(const Reference& reference, double dt) noexcept override;
  Twist away() noexcept;
  void want_rates(const Twist& error) noexcept;
  void shape_force() noexcept;

  PoseReference tool_;
  PrioritisedRates wanted_rates_;
  Eigen::Matrix3d attitude_ = Eigen::Matrix3d::Identity();  // of the base, at the reset
  bool has_last_ = false;
  VectorV last_, acceleration_, limit_inertia_, positions_, wanted_, velocity_terms_;
  MatrixBN jacobian_;
};

}  // namespace vms_ph
