// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/actuated_base.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {
namespace {

// Smaller shares of the largest squared singular value are of wrenches that no inputs make.
constexpr double kZeroShare = 1e-13;

// Forces below this define no tilt angle, N.
constexpr double kMinForce = 1e-9;

// Weight of forces beside the error of the wrench where tilts are searched, as a share of the trace
// of the map. Each refinement leaves about this share of the error that the weight causes.
constexpr double kForceWeight = 1e-6;
constexpr int kRefinements = 3;

std::vector<Eigen::Index> tilt_inputs(const AngleColumns& columns) {
  std::vector<Eigen::Index> indices;
  for (Eigen::Index i = 0; i < columns.largest_tilt_rate.size(); ++i)
    if (columns.is_tilting(i)) indices.push_back(i);
  return indices;
}

/// The weighted columns of all inputs, with tilting rotors in the middle of their range, then those
/// of tilting rotors at their lower and at their upper limits.
Eigen::MatrixXd weighted_columns(const BaseActuators& actuators,
                                 const std::vector<Eigen::Index>& tilt_inputs) {
  const AngleColumns& columns = actuators.columns;
  Eigen::MatrixXd map_columns = actuators.allocation.matrix();
  const Eigen::Index m = map_columns.cols(), t = static_cast<Eigen::Index>(tilt_inputs.size());
  if (m + 2 * t > kMaxVelocities) {
    throw ModelError("a base with " + std::to_string(m) + " actuators, of which " +
                     std::to_string(t) + " tilt, has more than the " +
                     std::to_string(kMaxVelocities) + " directions that the C++ core serves");
  }
  map_columns.conservativeResize(Eigen::NoChange, m + 2 * t);
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilt_inputs[static_cast<std::size_t>(k)];
    map_columns.col(m + k) = columns.column(i, columns.lower_tilt[i]);
    map_columns.col(m + t + k) = columns.column(i, columns.upper_tilt[i]);
  }
  return actuators.weights.asDiagonal() * map_columns;
}

/// The rate of a shaft at a thrust, with the sign of the thrust.
double shaft_rate(double thrust, double constant) {
  return std::copysign(std::sqrt(std::abs(thrust) / constant), thrust);
}

}  // namespace

bool AngleColumns::has_angle_inputs() const {
  return std::any_of(angle_input.begin(), angle_input.end(), [](Eigen::Index i) { return i >= 0; });
}

bool NearestInputs::solve_freely(const VectorB& goal, const Eigen::VectorXd& lower,
                                 const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept {
  const Eigen::Index b = weighted_map_.rows(), m = weighted_map_.cols();
  gram_.setZero(b, b);
  residual_ = goal;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (lower[i] < upper[i]) {
      gram_.noalias() += weighted_map_.col(i).lazyProduct(weighted_map_.col(i).transpose());
    } else {
      residual_ -= lower[i] * weighted_map_.col(i);
    }
  }
  eigen_.compute(gram_);
  const auto& eigenvalues = eigen_.values();
  coordinates_.noalias() = eigen_.vectors().transpose().lazyProduct(residual_);
  for (Eigen::Index k = 0; k < b; ++k) {
    coordinates_[k] =
        eigenvalues[k] > kZeroShare * eigenvalues[b - 1] ? coordinates_[k] / eigenvalues[k] : 0.0;
  }
  residual_.noalias() = eigen_.vectors().lazyProduct(coordinates_);
  for (Eigen::Index i = 0; i < m; ++i) {
    inputs[i] = lower[i] < upper[i] ? weighted_map_.col(i).dot(residual_) : lower[i];
    if (!(inputs[i] >= lower[i] && inputs[i] <= upper[i])) return false;
  }
  return true;
}

ActuatorMap::ActuatorMap(const BaseActuators& actuators)
    : columns_(actuators.columns),
      spinning_parts_(actuators.spinning_parts),
      matrix_(actuators.allocation.matrix()),
      has_angles_(columns_.has_angle_inputs()),
      has_spin_((spinning_parts_.inertia.array() > 0.0).any()) {}

void ActuatorMap::set_angles(const Eigen::VectorXd& angles) noexcept {
  if (!has_angles_) return;
  for (Eigen::Index i = 0; i < matrix_.cols(); ++i) {
    const Eigen::Index angle_input = columns_.angle_input[static_cast<std::size_t>(i)];
    if (angle_input < 0) continue;
    matrix_.col(i) = columns_.column(i, angles[angle_input]);
  }
}

Eigen::Vector3d ActuatorMap::momentum(const Eigen::VectorXd& angles,
                                      const Eigen::VectorXd& rates) const noexcept {
  Eigen::Vector3d total_momentum = Eigen::Vector3d::Zero();
  for (Eigen::Index i = 0; i < rates.size(); ++i) {
    const double spin_momentum = spinning_parts_.inertia[i] * rates[i];
    if (spin_momentum == 0.0) continue;
    if (columns_.is_tilting(i)) {
      total_momentum +=
          spin_momentum * (std::cos(angles[i]) * spinning_parts_.axis.col(i) +
                           std::sin(angles[i]) * spinning_parts_.quarter_turn_axis.col(i));
    } else {
      total_momentum += spin_momentum * spinning_parts_.axis.col(i);
    }
  }
  return total_momentum;
}

TiltAllocation::TiltAllocation(const BaseActuators& actuators)
    : map_(actuators),
      weights_(actuators.weights),
      tilting_inputs_(tilt_inputs(actuators.columns)),
      force_columns_(weighted_columns(actuators, tilting_inputs_)),
      angles_at_mean_tilt_(actuators.columns.angles),
      lower_(Eigen::VectorXd::Zero(force_columns_.cols())),
      upper_(lower_),
      forces_(lower_),
      unbounded_solver_(force_columns_),
      solver_(force_columns_) {
  const auto t = static_cast<Eigen::Index>(tilting_inputs_.size());
  lower_angles_ = upper_angles_ = largest_tilt_rates_ = Eigen::VectorXd::Zero(t);
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_inputs_[static_cast<std::size_t>(k)];
    lower_angles_[k] = actuators.columns.lower_tilt[i];
    upper_angles_[k] = actuators.columns.upper_tilt[i];
    largest_tilt_rates_[k] = actuators.columns.largest_tilt_rate[i];
  }
  mean_angles_ = 0.5 * (lower_angles_ + upper_angles_);
}

void TiltAllocation::solve_angles(const VectorB& goal, const Eigen::VectorXd& lower,
                                  const Eigen::VectorXd& upper, const Eigen::VectorXd& angles,
                                  double dt, Eigen::VectorXd& end_angles) noexcept {
  const Eigen::Index m = angles.size(), t = lower_angles_.size();
  end_angles = angles;
  angles_at_mean_tilt_ = angles;
  lower_.head(m) = lower;
  upper_.head(m) = upper;
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_inputs_[static_cast<std::size_t>(k)];
    angles_at_mean_tilt_[i] = mean_angles_[k];
    upper_[m + k] = upper_[m + t + k] = upper[i];
  }
  map_.set_angles(angles_at_mean_tilt_);
  force_columns_.leftCols(m) = weights_.asDiagonal() * map_.matrix();
  unbounded_solver_.set_matrix(force_columns_);
  const bool is_within_limits = unbounded_solver_.solve_freely(goal, lower_, upper_, forces_);
  if (!is_within_limits) solver_.set_matrix(force_columns_, kForceWeight);
  residual_goal_ = goal;
  for (int refinement = 0; !is_within_limits && refinement < kRefinements; ++refinement) {
    solver_.solve(residual_goal_, lower_, upper_, forces_);
    residual_goal_ += goal;
    residual_goal_.noalias() -= force_columns_.lazyProduct(forces_);
  }
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_inputs_[static_cast<std::size_t>(k)];
    const double force_at_tilt_lower = forces_[m + k], force_at_tilt_upper = forces_[m + t + k];
    const double half_range = 0.5 * (upper_angles_[k] - lower_angles_[k]),
                 largest_change = dt * largest_tilt_rates_[k];
    const double lateral_force = (force_at_tilt_upper - force_at_tilt_lower) * std::sin(half_range);
    const double axial_force =
        forces_[i] + (force_at_tilt_lower + force_at_tilt_upper) * std::cos(half_range);
    const double desired_angle = std::hypot(lateral_force, axial_force) > kMinForce
                                     ? mean_angles_[k] + std::atan2(lateral_force, axial_force)
                                     : angles[i];
    const double limited_angle = std::clamp(desired_angle, lower_angles_[k], upper_angles_[k]);
    end_angles[i] =
        std::clamp(limited_angle, angles[i] - largest_change, angles[i] + largest_change);
  }
}

ActuatedBase::AllocationParts::AllocationParts(const BaseActuators& actuators)
    : fixed_actuation(actuators.allocation, actuators.weights),
      weighted_map(actuators.weights.asDiagonal() * actuators.allocation.matrix()),
      solver(weighted_map),
      map(actuators),
      tilt_allocation(actuators) {}

ActuatedBase::ActuatedBase(const Model& model, std::optional<BaseActuators> base_actuators,
                           double dt)
    : time_step_(dt),
      actuators_(std::move(base_actuators)),
      twist_(Eigen::VectorXd::Zero(model.b())),
      wrench_(twist_) {
  if (!actuators_) return;
  const auto& actuators = *actuators_;
  if (actuators.allocation.matrix().rows() != model.b()) {
    throw ModelError("the actuators of the robot description are those of a base with " +
                     std::to_string(actuators.allocation.matrix().rows()) +
                     " velocities; that of '" + model.name() + "' has " +
                     std::to_string(model.b()));
  }
  allocation_parts_.emplace(actuators);
  const Eigen::Index m = actuators.allocation.matrix().cols();
  lower_ = upper_ = commands_ = inputs_ = friction_ = net_inputs_ = Eigen::VectorXd::Zero(m);
  end_rates_ = end_angles_ = input_velocities_ = mean_rates_ = mean_angles_ = lag_factor_ =
      commands_;
  goal_ = actuators.weights;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (actuators.time_constant[i] > 0.0)
      lag_factor_[i] = std::exp(-dt / actuators.time_constant[i]);
  }
  health_.assign(static_cast<std::size_t>(m), Health::working);
  reset(wrench_);
  saved_state_ = state_;
}

void ActuatedBase::reset(const Eigen::VectorXd& wrench) noexcept {
  if (allocation_parts_) {
    state_.rates = actuators_->start_rate;
    state_.thrusts.setZero(state_.rates.size());
    state_.angles = actuators_->columns.angles;
    set_steady_state(wrench);
  }
  state_.electric_energy = state_.lost_energy = 0.0;
}

double ActuatedBase::stored_energy() const noexcept {
  if (!allocation_parts_) return 0.0;
  return 0.5 * actuators_->spinning_parts.inertia.dot(state_.rates.cwiseAbs2());
}

Eigen::Vector3d ActuatedBase::momentum() const noexcept {
  if (!allocation_parts_) return Eigen::Vector3d::Zero();
  return allocation_parts_->map.momentum(state_.angles, state_.rates);
}

/// Set the limits of the inputs at their velocities `input_velocities_`.
void ActuatedBase::set_limits() noexcept {
  const auto& actuators = *actuators_;
  lower_ = actuators.allocation.lower();
  upper_ = actuators.allocation.upper();
  for (Eigen::Index i = 0; i < lower_.size(); ++i) {
    const double largest_rate = actuators.largest_rate[i];
    if (actuators.is_reaction_wheel[static_cast<std::size_t>(i)]) {
      // A reaction wheel ends no step beyond its largest spin.
      const double inertia_per_step = actuators.spinning_parts.inertia[i] / time_step_,
                   drag = actuators.friction[i] * input_velocities_[i];
      const double upper_bound = inertia_per_step * (largest_rate - state_.rates[i]) + drag;
      const double lower_bound = inertia_per_step * (-largest_rate - state_.rates[i]) + drag;
      const double lower = lower_[i], upper = upper_[i];
      upper_[i] = std::max(std::min(upper, upper_bound), lower);
      lower_[i] = std::min(std::max(lower, lower_bound), upper);
    } else {
      if (input_velocities_[i] >= largest_rate) upper_[i] = 0.0;
      if (input_velocities_[i] <= -largest_rate) lower_[i] = 0.0;
    }
    if (health_[static_cast<std::size_t>(i)] == Health::failed) lower_[i] = upper_[i] = 0.0;
  }
}

/// Find the inputs that are sent, the tilts at the end of the step and the map in its middle;
/// `input_velocities_`: of the inputs at its start, those of bearings relative to the base.
void ActuatedBase::allocate(const Eigen::VectorXd& wrench, const Eigen::VectorXd& twist) noexcept {
  const auto& actuators = *actuators_;
  auto& [fixed_actuation, weighted_map, solver, map, tilt_allocation] = *allocation_parts_;
  map.set_angles(state_.angles);
  input_velocities_.noalias() = map.matrix().transpose().lazyProduct(twist);
  for (Eigen::Index i = 0; i < input_velocities_.size(); ++i) {
    if (actuators.is_reaction_wheel[static_cast<std::size_t>(i)])
      input_velocities_[i] += state_.rates[i];
  }
  set_limits();
  goal_ = actuators.weights.cwiseProduct(wrench);
  end_angles_ = state_.angles;
  if (map.has_angles()) {
    if (tilt_allocation.has_tilting_inputs()) {
      tilt_allocation.solve_angles(goal_, lower_, upper_, state_.angles, time_step_, end_angles_);
      mean_angles_ = 0.5 * (state_.angles + end_angles_);
      map.set_angles(mean_angles_);
    }
    weighted_map = actuators.weights.asDiagonal() * map.matrix();
    solver.set_matrix(weighted_map);
    solver.solve(goal_, lower_, upper_, commands_);
  } else {
    fixed_actuation.apply(wrench, wrench);
    commands_ = fixed_actuation.inputs();
    if ((commands_.array() < lower_.array()).any() || (commands_.array() > upper_.array()).any()) {
      solver.solve(goal_, lower_, upper_, commands_);
    }
  }
  for (Eigen::Index i = 0; i < commands_.size(); ++i) {
    const bool is_failed = health_[static_cast<std::size_t>(i)] != Health::working;
    if (is_failed || std::abs(commands_[i]) < actuators.dead_zone[i]) commands_[i] = 0.0;
  }
}

void ActuatedBase::set_steady_state(const Eigen::VectorXd& wrench) noexcept {
  if (!allocation_parts_) return;
  const auto& actuators = *actuators_;
  const double last_stored_energy = stored_energy();
  twist_.setZero();
  allocate(wrench, twist_);
  state_.thrusts = commands_;
  for (Eigen::Index i = 0; i < commands_.size(); ++i) {
    const double k = actuators.thrust_constant[i];
    if (k > 0.0) state_.rates[i] = shaft_rate(commands_[i], k);
  }
  state_.electric_energy += stored_energy() - last_stored_energy;
}

/// Find the inputs over a step and the rates of rotors at its end.
void ActuatedBase::apply_lag() noexcept {
  end_rates_ = state_.rates;
  for (Eigen::Index i = 0; i < commands_.size(); ++i) {
    const double k = actuators_->thrust_constant[i];
    if (k > 0.0) {
      // The rate of the shaft lags; the thrust is that of its mean over the step.
      const double desired_rate = shaft_rate(commands_[i], k);
      end_rates_[i] = desired_rate + lag_factor_[i] * (state_.rates[i] - desired_rate);
      const double mean_rate = 0.5 * (state_.rates[i] + end_rates_[i]);
      inputs_[i] = k * mean_rate * std::abs(mean_rate);
    } else {
      inputs_[i] = commands_[i] + lag_factor_[i] * (state_.thrusts[i] - commands_[i]);
    }
  }
}

const Eigen::VectorXd& ActuatedBase::begin_step(const Eigen::VectorXd& wrench,
                                                const Eigen::VectorXd& twist) noexcept {
  wrench_ = wrench;
  if (!allocation_parts_) return wrench_;
  const auto& actuators = *actuators_;
  const auto& map = allocation_parts_->map;
  twist_ = twist;
  allocate(wrench, twist);
  apply_lag();
  friction_ = -actuators.friction.cwiseProduct(input_velocities_);
  net_inputs_ = inputs_ + friction_;
  for (Eigen::Index i = 0; i < net_inputs_.size(); ++i) {
    if (!actuators.is_reaction_wheel[static_cast<std::size_t>(i)]) continue;
    end_rates_[i] += time_step_ * net_inputs_[i] / actuators.spinning_parts.inertia[i];
    net_inputs_[i] = 0.0;  // its reaction is the change of its momentum
  }
  mean_rates_ = 0.5 * (state_.rates + end_rates_);
  wrench_.noalias() = map.matrix().lazyProduct(net_inputs_);
  if (!map.has_spin()) return wrench_;
  spin_.momentum = map.momentum(state_.angles, state_.rates);
  spin_.rate = (map.momentum(end_angles_, end_rates_) - spin_.momentum) / time_step_;
  if (wrench_.size() == 6) {
    wrench_.tail<3>() -= spin_.rate;
  } else {
    wrench_[2] -= spin_.rate.z();
  }
  return wrench_;
}

const Spin& ActuatedBase::spin(double t) noexcept {
  // A planar base turns about one axis, without gyroscopic moments about it.
  spin_.is_spinning = allocation_parts_ && allocation_parts_->map.has_spin() && wrench_.size() == 6;
  spin_.start_time = t;
  return spin_;
}

void ActuatedBase::end_step(double work, const Eigen::VectorXd& twist) noexcept {
  if (!allocation_parts_) return;
  const auto& actuators = *actuators_;
  twist_ = 0.5 * (twist_ + twist);
  input_velocities_.noalias() = allocation_parts_->map.matrix().transpose().lazyProduct(twist_);
  steer(input_velocities_);
  const double last_stored_energy = stored_energy();
  double loss_power = 0.0;
  for (Eigen::Index i = 0; i < input_velocities_.size(); ++i) {
    const double k = actuators.thrust_constant[i], shaft_speed = std::abs(mean_rates_[i]);
    const double relative_rate = actuators.is_reaction_wheel[static_cast<std::size_t>(i)]
                                     ? input_velocities_[i] + mean_rates_[i]
                                     : input_velocities_[i];
    // A rotor's motor works against drag, climb and inertia; the input is a wheel motor's torque.
    double torque = inputs_[i];
    if (k > 0.0) {
      torque = k * shaft_speed * (actuators.loss_ratio[i] * mean_rates_[i] + input_velocities_[i]) +
               actuators.spinning_parts.inertia[i] * (end_rates_[i] - state_.rates[i]) / time_step_;
    }
    const double current =
        actuators.torque_constant[i] > 0.0 ? torque / actuators.torque_constant[i] : 0.0;
    loss_power += actuators.loss_ratio[i] * k * shaft_speed * shaft_speed * shaft_speed -
                  friction_[i] * relative_rate + actuators.resistance[i] * current * current;
  }
  state_.rates = end_rates_;
  state_.thrusts = inputs_;
  state_.lost_energy += time_step_ * loss_power;
  state_.electric_energy += work + stored_energy() - last_stored_energy + time_step_ * loss_power;
}

/// Set the angles at the end of a step in which the inputs move with mean rates (m,).
void ActuatedBase::steer(const Eigen::VectorXd& rates) noexcept {
  if (!allocation_parts_->map.has_angles()) return;
  state_.angles = end_angles_;
  for (Eigen::Index i = 0; i < rates.size(); ++i)
    if (actuators_->columns.is_steering(i)) state_.angles[i] += time_step_ * rates[i];
}

void ActuatedBase::steer_on_stand(const Eigen::VectorXd& twist_0,
                                  const Eigen::VectorXd& twist_1) noexcept {
  if (!allocation_parts_ || !allocation_parts_->map.has_angles()) return;
  twist_ = 0.5 * (twist_0 + twist_1);
  end_angles_ = state_.angles;
  allocation_parts_->map.set_angles(state_.angles);
  input_velocities_.noalias() = allocation_parts_->map.matrix().transpose().lazyProduct(twist_);
  steer(input_velocities_);
}

}  // namespace vms_ph
