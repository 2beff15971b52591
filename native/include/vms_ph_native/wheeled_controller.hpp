// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What laws have in common whose robots are on wheels that do not slip.
#pragma once

#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// A law in the velocities that wheels allow; the joints compensate gravity where it cannot act.
class WheeledController : public Controller {
 public:
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept final;

 protected:
  /// The largest entry of a Jacobian that counts as zero.
  static constexpr double kRank = 1e-9;

  /// @throws ModelError  no wheels, a base that is not planar, or another mistake in the wheels.
  WheeledController(const Model& model, const std::vector<Wheel>& wheels);

  /// Write the command at the state of `t_`, in which the base wrench stays zero; why there is
  /// none, or null.
  virtual const char* drive(const Reference& reference, double dt) noexcept = 0;

  /// Compute the smallest torques S_j^T tau = f of all joints and send them within the limits; why
  /// they cannot be sent, or null.
  const char* send(const VectorV& force, const LimitGains& gains, double dt) noexcept;

  /// Whether the joints move all motions of the wheels at a configuration (nq,).
  bool drives_all(const Eigen::VectorXd& q) noexcept;

  const Model& model_;
  const int b_, n_;
  const VectorV zero_velocity_;  // (nv,) zeros
  WheeledTerms t_;
  TorqueLimits limits_;
  VectorV torque_;  // (n,) before the limits
  Command command_;
  double age_ = 0.0;  // of the state of t_, s

 private:
  const Command& hold(const ConstVector& q, const char* reason) noexcept;
  bool torque_for(const VectorV& force) noexcept;

  Evaluation static_state_;
  MatrixV gram_;
  Eigen::VectorXd fallback_torque_;  // (n,) the safe output for no state
  Command last_command_;
};

}  // namespace vms_ph
