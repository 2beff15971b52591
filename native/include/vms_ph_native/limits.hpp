// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Limits of joint torques: effort, rate of effort, and power.
#pragma once

#include <optional>

#include "vms_ph_native/gain_table.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The limits that a user sets, for all laws.
struct LimitGains {
  double max_torque_rate = 0.0, max_power = 0.0, delay = 1.0;  ///< N m/s; W; samples, see table()

  static const GainTable<LimitGains>& table();
};

/// Characters that a sentence may have which names every joint of a robot.
std::size_t max_reason_length(const Model& model);

/// Clip torques (n,) to the effort limits of a robot's joints.
void clip_to_max_effort(const Model& model, Eigen::Ref<Eigen::VectorXd> torque) noexcept;

/// Applies the effort limits of the joints and those set by a user. The model must outlive it.
class TorqueLimits {
 public:
  explicit TorqueLimits(const Model& model);

  /// Forget the last torque: the next one may jump.
  void restart() noexcept { last_dt_.reset(); }

  /// Note that other torques (n,) are sent instead of those returned last.
  void set_last_torque(const ConstVector& torque) noexcept { last_torque_ = torque; }

  /// The share, in [0, 1], of `torque - static_effort` (n,) that the effort limits admit.
  double allowed_share(const ConstVector& static_effort, const ConstVector& torque) const noexcept;

  /// Torques (n,) within the limits.
  ///
  /// @param desired_torque  (n,) torques of the law.
  /// @param static_effort  (n,) torques that compensate gravity; only the difference to them is
  ///                       scaled down to meet the power limit.
  /// @param joint_velocities  (n,) rad/s or m/s.
  /// @param max_torque_rate  of change of a torque, N m/s; 0 for none. A late sample may change a
  ///                         torque by no more than the one before it, and the command period.
  /// @param max_power  into the joints, W; 0 for none.
  /// @param dt       time since the last torques, s.
  const VectorV& apply(const ConstVector& desired_torque, const ConstVector& static_effort,
                       const ConstVector& joint_velocities, double max_torque_rate,
                       double max_power, double dt) noexcept;

  /// What the last call limited; empty when nothing was limited.
  const Reason& reason() const noexcept { return reason_; }

  LimitGains limit_demand;  ///< rate and power of the last torques before these limits

 private:
  const Model& model_;
  VectorV last_torque_;            // that was sent
  std::optional<double> last_dt_;  // s, of the last torques; none at first
  Reason reason_;
};

}  // namespace vms_ph
