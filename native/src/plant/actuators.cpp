// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/actuators.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {
namespace {

// Squares of singular values below this share of the largest are those of wrenches that no inputs
// make.
constexpr double kSquareRank = 1e-13;

// Forces below this define no tilt angle, N.
constexpr double kMinForce = 1e-9;

// Added to the squares of the errors of a wrench: those of the forces by which tilts are found, as
// a share of the trace of their map. Each round leaves this share of what it has made wrong.
constexpr double kForceWeight = 1e-6;
constexpr int kRefinements = 3;

std::vector<Eigen::Index> tilting(const TurningColumns& columns) {
  std::vector<Eigen::Index> indices;
  for (Eigen::Index i = 0; i < columns.largest_tilt_rate.size(); ++i) {
    if (columns.tilts(i)) indices.push_back(i);
  }
  return indices;
}

/// The columns of all inputs, tilting rotors in the middle of their angles, then those of the
/// latter at the limits; times the weights.
Eigen::MatrixXd parts_of(const BaseActuators& actuators, const std::vector<Eigen::Index>& tilting) {
  const TurningColumns& columns = actuators.columns;
  Eigen::MatrixXd parts = actuators.allocation.matrix();
  const Eigen::Index m = parts.cols(), t = static_cast<Eigen::Index>(tilting.size());
  if (m + 2 * t > kMaxVelocities) {
    throw ModelError("a base with " + std::to_string(m) + " actuators, of which " +
                     std::to_string(t) + " tilt, has more than the " +
                     std::to_string(kMaxVelocities) + " directions that the C++ core serves");
  }
  parts.conservativeResize(Eigen::NoChange, m + 2 * t);
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting[static_cast<std::size_t>(k)];
    parts.col(m + k) = columns.at(i, columns.lower[i]);
    parts.col(m + t + k) = columns.at(i, columns.upper[i]);
  }
  return actuators.weights.asDiagonal() * parts;
}

}  // namespace

bool TurningColumns::any() const {
  return std::any_of(angle_input.begin(), angle_input.end(), [](Eigen::Index i) { return i >= 0; });
}

VectorB TurningColumns::at(Eigen::Index i, double angle) const noexcept {
  return fixed.col(i) + std::cos(angle) * cosine.col(i) + std::sin(angle) * sine.col(i);
}

void NearestInputs::replace(const Eigen::MatrixXd& weighted) noexcept {
  weighted_ = weighted;
  search_.replace(weighted);
}

bool NearestInputs::solve_freely(const VectorB& goal, const Eigen::VectorXd& lower,
                                 const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept {
  const Eigen::Index b = weighted_.rows(), m = weighted_.cols();
  gram_.setZero(b, b);
  residual_ = goal;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (lower[i] < upper[i]) {
      gram_.noalias() += weighted_.col(i).lazyProduct(weighted_.col(i).transpose());
    } else {
      residual_ -= lower[i] * weighted_.col(i);
    }
  }
  eigen_.compute(gram_);
  const auto& squares = eigen_.values();
  coordinates_.noalias() = eigen_.vectors().transpose().lazyProduct(residual_);
  for (Eigen::Index k = 0; k < b; ++k) {
    coordinates_[k] = squares[k] > kSquareRank * squares[b - 1] ? coordinates_[k] / squares[k] : 0.0;
  }
  residual_.noalias() = eigen_.vectors().lazyProduct(coordinates_);
  for (Eigen::Index i = 0; i < m; ++i) {
    inputs[i] = lower[i] < upper[i] ? weighted_.col(i).dot(residual_) : lower[i];
    if (!(inputs[i] >= lower[i] && inputs[i] <= upper[i])) return false;
  }
  return true;
}

void NearestInputs::solve(const VectorB& goal, const Eigen::VectorXd& lower,
                          const Eigen::VectorXd& upper, Eigen::VectorXd& inputs) noexcept {
  if (!solve_freely(goal, lower, upper, inputs)) search_.solve(goal, lower, upper, inputs);
}

ActuatorMap::ActuatorMap(const BaseActuators& actuators)
    : columns_(actuators.columns),
      spinning_(actuators.spinning),
      matrix_(actuators.allocation.matrix()),
      has_turning_(columns_.any()),
      has_spin_((spinning_.inertia.array() > 0.0).any()) {}

void ActuatorMap::turn(const Eigen::VectorXd& angles) noexcept {
  if (!has_turning_) return;
  for (Eigen::Index i = 0; i < matrix_.cols(); ++i) {
    const Eigen::Index angle_input = columns_.angle_input[static_cast<std::size_t>(i)];
    if (angle_input < 0) continue;
    matrix_.col(i) = columns_.at(i, angles[angle_input]);
  }
}

Eigen::Vector3d ActuatorMap::momentum(const Eigen::VectorXd& angles,
                                      const Eigen::VectorXd& rates) const noexcept {
  Eigen::Vector3d total = Eigen::Vector3d::Zero();
  for (Eigen::Index i = 0; i < rates.size(); ++i) {
    const double spin_momentum = spinning_.inertia[i] * rates[i];
    if (spin_momentum == 0.0) continue;
    if (columns_.tilts(i)) {
      total += spin_momentum * (std::cos(angles[i]) * spinning_.axis.col(i) +
                                std::sin(angles[i]) * spinning_.quarter_axis.col(i));
    } else {
      total += spin_momentum * spinning_.axis.col(i);
    }
  }
  return total;
}

TiltAllocation::TiltAllocation(const BaseActuators& actuators)
    : map_(actuators),
      weights_(actuators.weights),
      tilting_(tilting(actuators.columns)),
      parts_(parts_of(actuators, tilting_)),
      mean_inputs_(actuators.columns.start),
      lower_(Eigen::VectorXd::Zero(parts_.cols())),
      upper_(lower_),
      forces_(lower_),
      unbounded_(parts_),
      search_(parts_) {
  const auto t = static_cast<Eigen::Index>(tilting_.size());
  lower_angles_ = upper_angles_ = largest_tilt_rates_ = Eigen::VectorXd::Zero(t);
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    lower_angles_[k] = actuators.columns.lower[i];
    upper_angles_[k] = actuators.columns.upper[i];
    largest_tilt_rates_[k] = actuators.columns.largest_tilt_rate[i];
  }
  mean_angles_ = 0.5 * (lower_angles_ + upper_angles_);
}

void TiltAllocation::aim(const VectorB& goal, const Eigen::VectorXd& lower,
                         const Eigen::VectorXd& upper, const Eigen::VectorXd& angles, double step,
                         Eigen::VectorXd& out) noexcept {
  const Eigen::Index m = angles.size(), t = lower_angles_.size();
  out = angles;
  mean_inputs_ = angles;
  lower_.head(m) = lower;
  upper_.head(m) = upper;
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    mean_inputs_[i] = mean_angles_[k];
    upper_[m + k] = upper_[m + t + k] = upper[i];
  }
  map_.turn(mean_inputs_);
  parts_.leftCols(m) = weights_.asDiagonal() * map_.matrix();
  unbounded_.replace(parts_);
  const bool is_free = unbounded_.solve_freely(goal, lower_, upper_, forces_);
  if (!is_free) search_.replace(parts_, kForceWeight);
  residual_goal_ = goal;
  for (int refinement = 0; !is_free && refinement < kRefinements; ++refinement) {
    search_.solve(residual_goal_, lower_, upper_, forces_);
    residual_goal_ += goal;
    residual_goal_.noalias() -= parts_.lazyProduct(forces_);
  }
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    const double left = forces_[m + k], right = forces_[m + t + k];
    const double half = 0.5 * (upper_angles_[k] - lower_angles_[k]),
                 reach = step * largest_tilt_rates_[k];
    const double lateral = (right - left) * std::sin(half);
    const double axial = forces_[i] + (left + right) * std::cos(half);
    const double desired_angle = std::hypot(lateral, axial) > kMinForce
                                     ? mean_angles_[k] + std::atan2(lateral, axial)
                                     : angles[i];
    const double limited_angle = std::clamp(desired_angle, lower_angles_[k], upper_angles_[k]);
    out[i] = std::clamp(limited_angle, angles[i] - reach, angles[i] + reach);
  }
}

}  // namespace vms_ph
