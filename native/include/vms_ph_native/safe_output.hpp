// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The safe output of a moving robot: it holds against gravity and damps the motion.
#pragma once

#include <optional>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/evaluation.hpp"

namespace vms_ph {

/// Gravity compensation plus damping, within the limits of joints and base actuators.
/// The damping -k M v of locked motion and shape has the rate of braking_rate(). What exceeds a
/// limit is scaled down as a whole, so that it always takes energy out of the robot.
class SafeOutput {
 public:
  /// Serve a robot with the actuators of its base; see BaseActuation. The model must outlive it.
  ///
  /// @throws ModelError  an allocation for another kind of base.
  SafeOutput(const Model& model, std::optional<Allocation> allocation, bool base_actuated);

  /// Compute the efforts for a finite state (nq,) and (nv,) of an age (s), to be held for dt (s).
  ///
  /// @param further  (nv,) efforts that hold a payload that is not part of the model; null for
  /// none.
  void compute(const ConstVector& q, const ConstVector& v, double dt, double age = 0.0,
               const Eigen::VectorXd* further = nullptr) noexcept;

  /// Whether the weight can be held at a configuration (nq,) over a horizon, s.
  bool holds_weight(const ConstVector& q, double h) noexcept;

  const VectorB& wrench_base() const noexcept { return wrench_; }
  const VectorV& torque() const noexcept { return torque_; }

 private:
  const Model& model_;
  BaseActuation actuation_;
  Evaluation d_;
  VectorB base_, wrench_;
  VectorV braking_, weight_, rest_, step_, torque_;
  Eigen::VectorXd q_ahead_;  // (nq,)
};

}  // namespace vms_ph
