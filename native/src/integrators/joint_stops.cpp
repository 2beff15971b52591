// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/joint_stops.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

using Eigen::VectorXd;

// Sweeps over the joints, and the change of speed at which they end, rad/s or m/s.
constexpr int kSweeps = 400;
constexpr double kConverged = 1e-12;

}  // namespace

JointStops::JointStops(const Model& model, const std::vector<Wheel>& wheels)
    : model_(model),
      tree_(model_, false),
      fluid_(model_),
      lower_(model.lower()),
      upper_(model.upper()),
      mass_(model.nv(), model.nv()),
      mobility_(model.nv(), model.nv()) {
  if (fluid_.exist()) robot_.emplace(model_);
  if (!wheels.empty()) rolling_.emplace(model_, wheels);
  wheeled_state_.q = VectorXd::Zero(model.nq());
  wheeled_state_.v = VectorXd::Zero(model.nv());
  positions_ = displacement_ = impulse_ = rates_ = lower_rates_ = upper_rates_ = torque_ =
      VectorXd::Zero(model.n());
  for (Eigen::Index i = 0; i < positions_.size(); ++i) {
    exist_ = exist_ || std::isfinite(lower_[i]) || std::isfinite(upper_[i]);
  }
}

bool JointStops::is_stop_reached(const VectorXd& q, const VectorXd& v, double dt) noexcept {
  model_.joint_positions(q, positions_);
  for (Eigen::Index i = 0; i < positions_.size(); ++i) {
    const double half_step = 0.5 * dt * v[model_.b() + i];
    if (positions_[i] - lower_[i] + std::min(half_step, 0.0) < 0.0) return true;
    if (upper_[i] - positions_[i] - std::max(half_step, 0.0) < 0.0) return true;
  }
  return false;
}

/// Compute the mobility: the inverse of the mass matrix.
void JointStops::compute_mobility(const VectorXd& q) noexcept {
  tree_.set_configuration(q);
  tree_.write_mass(mass_.data());
  if (fluid_.exist()) {
    robot_->set_configuration(q.data());
    fluid_.set_configuration(*robot_);
    added_mass_.setZero(model_.nv(), model_.nv());
    fluid_.add_mass(added_mass_);
    mass_ += added_mass_;
  }
  mobility_.setIdentity();
  Cholesky(mass_).solve_columns(mobility_);
}

/// The same in the velocities that the wheels allow, S (S^T M S)^-1 S^T; false where they are not
/// determined.
bool JointStops::compute_wheeled_mobility(const VectorXd& q, const VectorXd& v) noexcept {
  wheeled_state_.q = q;
  wheeled_state_.v = v;
  if (!rolling_->compute(wheeled_state_, WheeledTerms::Velocities::best_here)) return false;
  const Cholesky inertia(rolling_->mass);
  MatrixV columns = rolling_->basis.transpose();
  inertia.solve_columns(columns);
  multiply(rolling_->basis, columns, mobility_);
  return true;
}

const VectorXd& JointStops::torque(const VectorXd& q, const VectorXd& v, const VectorXd& free_q,
                                   const VectorXd& free_v, double dt) noexcept {
  const Eigen::Index b = model_.b(), n = model_.n();
  if (!(rolling_ && compute_wheeled_mobility(free_q, free_v))) compute_mobility(free_q);
  model_.joint_positions(q, positions_);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double half = 0.5 * v[b + i];
    lower_rates_[i] = std::min(0.0, -(positions_[i] - lower_[i]) / dt - half);
    upper_rates_[i] = std::max(0.0, (upper_[i] - positions_[i]) / dt - half);
  }
  // Projected Gauss-Seidel: each impulse is zero unless its rate is at a bound.
  impulse_.setZero();
  rates_ = free_v.tail(n);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double change = 0.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double inverse_mass = mobility_(b + i, b + i);
      const double free_rate = rates_[i] - inverse_mass * impulse_[i];
      const double required =
          (std::min(std::max(free_rate, lower_rates_[i]), upper_rates_[i]) - free_rate) /
          inverse_mass;
      const double added = required - impulse_[i];
      if (added == 0.0) continue;
      impulse_[i] = required;
      for (Eigen::Index k = 0; k < n; ++k) rates_[k] += mobility_(b + k, b + i) * added;
      change = std::max(change, std::abs(inverse_mass * added));
    }
    if (change < kConverged) break;
  }
  torque_ = impulse_ / dt;
  return torque_;
}

const VectorXd& JointStops::displacement(const VectorXd& from, const VectorXd& to) noexcept {
  model_.joint_positions(from, positions_);
  model_.joint_positions(to, displacement_);
  for (Eigen::Index i = 0; i < positions_.size(); ++i) {
    // The angle of a continuous joint may jump, but nothing acts on it.
    displacement_[i] = tree_.is_pair(static_cast<int>(i)) ? 0.0 : displacement_[i] - positions_[i];
  }
  return displacement_;
}

}  // namespace vms_ph
