// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energies of a state and their split; see vms_ph/msg/Energy.
#pragma once

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// Energies in J; base and shape, and task and null space, each add up to the kinetic energy.
struct Energies {
  double kinetic = 0.0, potential = 0.0;
  double kinetic_base = 0.0, kinetic_shape = 0.0;
  double kinetic_task = 0.0, kinetic_null = 0.0;  ///< NaN at a singular configuration
  double total() const { return kinetic + potential; }
};

/// Computes the energies of a state in its own workspace. The task is the end-effector position.
class EnergySplit {
 public:
  explicit EnergySplit(const Model& model);
  EnergySplit(const EnergySplit&) = delete;
  EnergySplit& operator=(const EnergySplit&) = delete;

  /// @param state     of the robot; if it is not finite, the energies are NaN.
  /// @param is_split  whether more than the total is needed.
  const Energies& compute(const RobotState& state, bool is_split = true) noexcept;

 private:
  Model model_;
  Evaluation d_;
  Matrix3V jacobian_;
  Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3> jt_columns_;  ///< J^T, M^-1 J^T
  Cholesky mass_factor_;
  Cholesky task_mobility_factor_;
  Energies energies_;
};

/// Power through the ports in W and the energy balance in J; positive power flows into the robot.
struct PowerBalance {
  double torque_power = 0.0, wrench_base_power = 0.0, dissipated_power = 0.0;
  double torque_energy = 0.0, wrench_base_energy = 0.0, dissipated_energy = 0.0;
  double stored_energy = 0.0;      ///< total energy less that of the first sample
  double unaccounted_power = 0.0;  ///< W, since the last sample
  double unaccounted_energy() const {
    return stored_energy - torque_energy - wrench_base_energy + dissipated_energy;
  }
};

/// Integrates powers of samples by the trapezoidal rule, as vms_ph_dynamics/energy/audit.py does.
class PowerAudit {
 public:
  /// @param has_friction  whether the viscous friction of the URDF acts.
  PowerAudit(const Model& model, bool has_friction);

  /// Restart the balance with the next sample.
  void reset() noexcept;

  /// Add a sample to the balance.
  /// Efforts are held between samples: each side of a jump is integrated with the efforts that act
  /// there, and the powers reported are the mean of both sides.
  /// A sample that is not finite has no powers; its time is added to the next finite sample.
  /// @param energy  total, J.
  /// @param dt      since the last sample, s.
  const PowerBalance& add(const RobotState& state, const Command& held_command,
                          const Command& new_command, double energy, double dt) noexcept;

 private:
  struct PortPowers {
    double torque, wrench_base;  // W
  };
  PortPowers port_powers(const RobotState& state, const Command& command) const noexcept;

  int b_, n_;
  Eigen::VectorXd damping_;
  bool is_started_ = false;
  double initial_energy_ = 0.0, last_dissipated_power_ = 0.0;
  double skipped_time_ = 0.0;  // time of samples that were not finite, s
  PortPowers last_powers_{0.0, 0.0};
  PowerBalance balance_;
};

}  // namespace vms_ph
