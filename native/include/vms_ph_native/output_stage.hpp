// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The output stage between a law and the robot: actuators, tank and limits; and the safe output.
#pragma once

#include <memory>
#include <optional>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/limits.hpp"

namespace vms_ph {

/// The gains of the output stage.
struct OutputGains : LimitGains {
  double limit_margin = 0.05, limit_frequency = 10.0;
  double tank_capacity = 0.0, tank_initial = 1.0;

  static const GainTable<OutputGains>& table();
};

/// Maps the generalised force computed by a law to one that the robot can apply; see
/// vms_ph_controllers.safety.output_stage.
class OutputStage {
 public:
  /// Serve a robot with a map to the wrenches that its base can apply. The model must outlive it.
  OutputStage(const Model& model, std::unique_ptr<Actuation> actuation);

  /// Whether the base has actuators.
  bool base_is_actuated() const noexcept { return actuation_->is_actuated(); }

  /// Hold a further weight (nv,), such as of a payload, from now on: within all limits.
  bool carry(const Eigen::VectorXd& load) noexcept {
    if (load.size() != load_.size()) return false;
    load_ = load;
    return true;
  }

  /// The further weight (nv,).
  const VectorV& load() const noexcept { return load_; }

  /// Energy in the tank, J; zero without a tank.
  double tank_level() const noexcept { return tank_.level(); }

  /// Restart: torques may jump, the tank is at its initial level.
  void restart(Evaluation& d) noexcept;

  /// Continue at another pose: torques may jump, the tank keeps its level.
  void resume(Evaluation& d) noexcept;

  /// Note that the safe output has acted since the last update.
  void note_missed_updates() noexcept;

  /// The safe output at a state for which the law computed no finite effort.
  const Command& reject_effort(Evaluation& d) noexcept;

  /// The efforts (nv,) sent for a desired force (nv,) without the load; base wrench first.
  const VectorV& apply(Evaluation& d, const VectorV& desired_effort, const OutputGains& gains,
                       double dt) noexcept;

  /// What the last call limited; empty when nothing was changed.
  const Reason& reason() const noexcept { return reason_; }
  /// Rate and power of the torques of that call, before their limits.
  const LimitGains& limit_demand() const noexcept { return torque_limits_.limit_demand; }

  /// The efforts that compensate gravity as far as the base can.
  const Command& safe_command() const noexcept { return safe_command_; }

 private:
  // Write the efforts (nv,) within the limits of the base for desired ones to `result`.
  void realise_wrench(Evaluation& d, const VectorV& effort, VectorV& result) noexcept;
  void update_safe_command(Evaluation& d) noexcept;

  const int b_, n_;
  std::unique_ptr<Actuation> actuation_;
  TorqueLimits torque_limits_;
  SampledTank tank_;
  VectorV loaded_effort_, effort_, static_effort_, total_weight_, brake_, load_;
  Reason reason_;
  Command safe_command_, rejected_command_;
};

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
  /// @param payload_weight  (nv,) efforts that hold a payload not in the model; null for none.
  void compute(const ConstVector& q, const ConstVector& v, double dt, double age = 0.0,
               const Eigen::VectorXd* payload_weight = nullptr) noexcept;

  /// Whether the weight can be held at a configuration (nq,) over a horizon, s.
  bool holds_weight(const ConstVector& q, double h) noexcept;

  const VectorB& wrench_base() const noexcept { return wrench_; }
  const VectorV& torque() const noexcept { return torque_; }

 private:
  const Model& model_;
  BaseActuation actuation_;
  Evaluation d_;
  VectorB static_wrench_, wrench_;
  VectorV braking_effort_, weight_, holding_torque_, braking_torque_, torque_;
  Eigen::VectorXd displaced_q_;  // (nq,)
};

}  // namespace vms_ph
