// What every law's efforts pass before they leave: bounds on effort, its rate, and power.
#pragma once

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The limits of a robot's joints, and those its user sets. The model must outlive it.
class TorqueLimits {
 public:
  explicit TorqueLimits(const Model& model);

  /// Forget the last torque: the next one may jump.
  void restart() noexcept { has_last_ = false; }

  /// Torques (n,) within the limits.
  ///
  /// @param wanted   (n,) by the law.
  /// @param resting  (n,) that hold the robot against gravity; only what goes beyond them is
  ///                 weakened for the sake of power.
  /// @param rates    (n,) of the joints.
  /// @param rate     bound of the change of a torque in a second, N m/s; 0 for none.
  /// @param power    bound of the power into the joints, W; 0 for none.
  /// @param dt       since the last torques, s.
  const VectorV& apply(const ConstVector& wanted, const ConstVector& resting,
                       const ConstVector& rates, double rate, double power, double dt) noexcept;

  /// What the last call limited, in words; empty when nothing was.
  const Reason& reason() const noexcept { return reason_; }

 private:
  const Model& model_;
  VectorV torque_;  // the last ones, between two calls
  bool has_last_ = false;
  Reason reason_;
};

}  // namespace vms_ph
