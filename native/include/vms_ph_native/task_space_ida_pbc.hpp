// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Task-space IDA-PBC: energy shaping, energy routing and damping injection for redundant arms.
#pragma once

#include <optional>
#include <string>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/gain_table.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/shaped_potential.hpp"
#include "vms_ph_native/springs.hpp"
#include "vms_ph_native/task_space.hpp"

namespace vms_ph {

/// Gains of the law; their table describes each.
struct TaskSpaceGains : LimitGains {
  double stiffness = 30.0, damping_task = 9.0, damping_null = 6.0, max_reference_speed = 0.2;
  double task_stiffness = 0.0, null_stiffness = 10.0;
  double limit_stiffness = 100.0, limit_margin = 0.05;
  bool cancel_coupling = false;
  double tank_capacity = 0.0, tank_initial = 0.5;

  static const GainTable<TaskSpaceGains>& table();
};

/// Interconnection and damping assignment in task-space momenta [D (37)]; described in
/// vms_ph_controllers.TaskSpaceIDAPBC.
class TaskSpaceIDAPBC final : public Controller {
 public:
  /// Smallest singular value of the task Jacobian below which its null space changes fast with the
  /// configuration. The law contains no inverse of J and stays finite and passive.
  static constexpr double kMinSigma = 0.03;

  /// @param model        an arm on a fixed base, of three joints or more; it must outlive the law.
  /// @throws ModelError  a moving base, or too few joints.
  explicit TaskSpaceIDAPBC(const Model& model);

  bool reset(const RobotState& state) noexcept override { return set_minimum(state.q); }
  bool resume(const RobotState& state) noexcept override;
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  Evaluation* evaluation() noexcept override { return &d_; }
  void note_missed_updates() noexcept override {
    tank_potential_.note_missed_updates(safe_torque_);
  }
  std::vector<Gain> gains() const override { return TaskSpaceGains::table().list(gains_); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return TaskSpaceGains::table().set(gains_, name, value);
  }

  /// Set the minimum of the shaped potential to a configuration (nq,), [D (36)]; false if it is not
  /// a configuration of the model.
  bool set_minimum(const ConstVector& q_star) noexcept;

  /// The minimum of the shaped potential, (nq,).
  const VectorQ& q_star() const noexcept { return governor_.current_minimum().q; }

  /// The energy tank, if there is one.
  const std::optional<EnergyTank>& tank() const noexcept { return tank_potential_.tank(); }

 private:
  const Command& hold_gravity() noexcept;
  bool start_at(const ConstVector& q_star) noexcept;
  double follow_reference(const Reference& reference, double dt) noexcept;
  const ShapedPotential& potential(const Minimum& minimum) noexcept;
  void compute_springs_and_damping(double h) noexcept;
  bool has_task_stiffness() const noexcept { return gains_.task_stiffness > 0.0; }
  void update_status() noexcept;

  const Model& model_;
  const PositionTask task_;
  TaskSpaceGains gains_;
  GainRamp<TaskSpaceGains> ramp_;
  SwitchRamp cancel_ramp_, task_stiffness_ramp_;
  EnergyRouting routing_;
  JointLimitPotential joint_limits_;
  TorqueLimits torque_limits_;
  ReferenceGovernor governor_;
  TankPotential tank_potential_;
  Evaluation d_, minimum_state_;
  Eigen::VectorXd zero_velocity_;

  // The weight of a task stiffness, with the minimum and the gains that it was computed for.
  WeightMatrix weight_matrix_;
  std::uint64_t weight_minimum_id_ = 0;
  double weight_stiffness_ = 0.0, weight_null_ = 0.0, weight_share_ = 0.0, weight_iso_ = 0.0;
  ShapedPotential desired_potential_;

  // Of one update.
  Matrix3V jacobian_;
  TaskEffort effort_;
  MatrixV stiffness_;
  VectorV safe_torque_, positions_, depth_, gradient_, desired_torque_, routing_torque_, torque_;
  Reason reason_{1024};
  Command command_;
};

}  // namespace vms_ph
