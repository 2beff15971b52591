// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_split.hpp"

#include <cmath>

namespace vms_ph {
namespace {

// Below this smallest singular value the task inertia, and with it the split, is not meaningful.
constexpr double kSingularThreshold = 1e-3;

}  // namespace

EnergySplit::EnergySplit(const Model& model)
    : model_(model), d_(model_), jacobian_(3, model_.nv()), jt_columns_(model_.nv(), 3) {}

const Energies& EnergySplit::compute(const RobotState& state, bool is_split) noexcept {
  if (!state.q.allFinite() || !state.v.allFinite()) {
    return energies_ = {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
  }
  d_.set(state.q, state.v);
  energies_.kinetic = d_.kinetic_energy();
  energies_.potential = d_.potential_energy();
  if (!is_split) return energies_;
  energies_.kinetic_base = 0.0;
  if (const int b = model_.b(); b > 0) {
    const VectorB p = d_.momentum().head(b);
    energies_.kinetic_base = 0.5 * p.dot(product<VectorB>(d_.M_b_inverse(), p));
  }
  energies_.kinetic_shape = energies_.kinetic - energies_.kinetic_base;

  jacobian_ = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL_WORLD_ALIGNED).topRows<3>();
  jt_columns_ = jacobian_.transpose();
  Eigen::Matrix3d rotation;
  make_columns_orthogonal(jt_columns_, rotation);
  if (jt_columns_.colwise().norm().minCoeff() <= kSingularThreshold) {
    energies_.kinetic_task = energies_.kinetic_null = kNaN;
    return energies_;
  }
  // eta^T (J M^-1 J^T)^-1 eta / 2 is the energy of the task, the rest of its null space [D (26)].
  mass_factor_.compute(d_.M());
  jt_columns_ = jacobian_.transpose();
  mass_factor_.solve_columns(jt_columns_);
  const auto task_mobility = product<Eigen::Matrix3d>(jacobian_, jt_columns_);
  const auto task_velocity = product<Eigen::Vector3d>(jacobian_, state.v);
  Eigen::Vector3d task_momentum = task_velocity;
  task_mobility_factor_.compute(task_mobility);
  task_mobility_factor_.solve(task_momentum.data());
  energies_.kinetic_task = 0.5 * task_velocity.dot(task_momentum);
  energies_.kinetic_null = energies_.kinetic - energies_.kinetic_task;
  return energies_;
}

PowerAudit::PowerAudit(const Model& model, bool has_friction)
    : b_(model.b()), n_(model.n()), damping_(Eigen::VectorXd::Zero(model.n())) {
  if (has_friction) damping_ = model.damping();
}

void PowerAudit::reset() noexcept {
  is_started_ = false;
  skipped_time_ = 0.0;
  balance_ = {};
}

PowerAudit::PortPowers PowerAudit::port_powers(const RobotState& state,
                                               const Command& command) const noexcept {
  return {command.torque.dot(state.v.tail(n_)), command.wrench_base.dot(state.v.head(b_))};
}

const PowerBalance& PowerAudit::add(const RobotState& state, const Command& held_command,
                                    const Command& new_command, double energy, double dt) noexcept {
  const PortPowers held_powers = port_powers(state, held_command),
                   new_powers = port_powers(state, new_command);
  const double dissipated_power = state.v.tail(n_).cwiseAbs2().dot(damping_);
  PowerBalance& balance = balance_;
  if (!std::isfinite(energy + new_powers.torque + new_powers.wrench_base + held_powers.torque +
                     held_powers.wrench_base)) {
    // A sample that is not finite must not make all later energies not finite.
    if (dt > 0.0) skipped_time_ += dt;
    balance.torque_power = balance.wrench_base_power = balance.dissipated_power = kNaN;
    return balance;
  }
  if (!is_started_) {
    is_started_ = true;
    initial_energy_ = energy;
  } else if (dt > 0.0) {
    dt += skipped_time_;
    const double last_unaccounted = balance.unaccounted_energy();
    balance.torque_energy += 0.5 * dt * (last_powers_.torque + held_powers.torque);
    balance.wrench_base_energy += 0.5 * dt * (last_powers_.wrench_base + held_powers.wrench_base);
    balance.dissipated_energy += 0.5 * dt * (last_dissipated_power_ + dissipated_power);
    balance.stored_energy = energy - initial_energy_;
    balance.unaccounted_power = (balance.unaccounted_energy() - last_unaccounted) / dt;
  }
  skipped_time_ = 0.0;
  balance.torque_power = 0.5 * (held_powers.torque + new_powers.torque);
  balance.wrench_base_power = 0.5 * (held_powers.wrench_base + new_powers.wrench_base);
  balance.dissipated_power = last_dissipated_power_ = dissipated_power;
  last_powers_ = new_powers;
  return balance;
}

}  // namespace vms_ph
