// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_split.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// Below this smallest singular value the task inertia, and with it the split, is not meaningful.
constexpr double kSingular = 1e-3;

}  // namespace

EnergySplit::EnergySplit(const Model& model)
    : model_(model), d_(model_), jacobian_(3, model_.nv()), weighted_(model_.nv(), 3) {}

const Energies& EnergySplit::compute(const RobotState& state) noexcept {
  if (!state.q.allFinite() || !state.v.allFinite()) {
    energies_ = {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
    return energies_;
  }
  d_.set(state.q, state.v);
  energies_.kinetic = d_.kinetic_energy();
  energies_.potential = d_.potential_energy();
  energies_.kinetic_base = 0.0;
  if (const int b = model_.b(); b > 0) {
    const VectorB p = d_.momentum().head(b);
    energies_.kinetic_base = 0.5 * p.dot(product<VectorB>(d_.M_b_inverse(), p));
  }
  energies_.kinetic_shape = energies_.kinetic - energies_.kinetic_base;

  jacobian_ = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL_WORLD_ALIGNED).topRows<3>();
  weighted_ = jacobian_.transpose();
  Eigen::Matrix3d rotation;
  make_columns_orthogonal(weighted_, rotation);
  double smallest_value = weighted_.col(0).norm();
  for (int k = 1; k < 3; ++k) smallest_value = std::min(smallest_value, weighted_.col(k).norm());
  if (smallest_value <= kSingular) {
    energies_.kinetic_task = energies_.kinetic_null = kNaN;
    return energies_;
  }
  // eta^T (J M^-1 J^T)^-1 eta / 2 is the energy of the task, the rest of its null space [D (26)].
  factor_.compute(d_.M());
  weighted_ = jacobian_.transpose();
  factor_.solve_columns(weighted_);
  const auto mobility = product<Eigen::Matrix3d>(jacobian_, weighted_);
  const auto rate = product<Eigen::Vector3d>(jacobian_, state.v);
  Eigen::Vector3d momentum = rate;
  mobility_.compute(mobility);
  mobility_.solve(momentum.data());
  energies_.kinetic_task = 0.5 * rate.dot(momentum);
  energies_.kinetic_null = energies_.kinetic - energies_.kinetic_task;
  return energies_;
}

PowerAudit::PowerAudit(const Model& model, bool friction)
    : b_(model.b()), n_(model.n()), damping_(Eigen::VectorXd::Zero(model.n())) {
  if (friction) damping_ = model.damping();
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

const PowerBalance& PowerAudit::add(const RobotState& state, const Command& before,
                                    const Command& after, double energy, double dt) noexcept {
  const PortPowers held = port_powers(state, before), sent = port_powers(state, after);
  const double dissipated = state.v.tail(n_).cwiseAbs2().dot(damping_);
  PowerBalance& r = balance_;
  if (!std::isfinite(energy + sent.torque + sent.wrench_base + held.torque + held.wrench_base)) {
    // A sample that is not finite must not make all later energies not finite.
    if (dt > 0.0) skipped_time_ += dt;
    r.torque = r.wrench_base = r.dissipated = kNaN;
    return r;
  }
  if (!is_started_) {
    is_started_ = true;
    first_energy_ = energy;
  } else if (dt > 0.0) {
    dt += skipped_time_;
    const double last_unaccounted = r.unaccounted_energy();
    r.torque_energy += 0.5 * dt * (last_powers_.torque + held.torque);
    r.wrench_base_energy += 0.5 * dt * (last_powers_.wrench_base + held.wrench_base);
    r.dissipated_energy += 0.5 * dt * (dissipated_ + dissipated);
    r.stored = energy - first_energy_;
    r.residual = (r.unaccounted_energy() - last_unaccounted) / dt;
  }
  skipped_time_ = 0.0;
  r.torque = 0.5 * (held.torque + sent.torque);
  r.wrench_base = 0.5 * (held.wrench_base + sent.wrench_base);
  r.dissipated = dissipated_ = dissipated;
  last_powers_ = sent;
  return r;
}

}  // namespace vms_ph
