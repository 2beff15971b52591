// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "actuator_map.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph_ros2_control {
namespace {

// Forces below this have no direction to which a rotor turns, N.
constexpr double kNoForce = 1e-9;

// Added to the squares of the errors of a wrench: those of the forces by which tilts are found, as
// a share of the trace of their map. Each round leaves this share of what it has made wrong.
constexpr double kSpread = 1e-6;
constexpr int kRounds = 3;

std::vector<Eigen::Index> tilting(const TurningColumns& columns) {
  std::vector<Eigen::Index> found;
  for (Eigen::Index i = 0; i < columns.fastest.size(); ++i) {
    if (columns.tilts(i)) found.push_back(i);
  }
  return found;
}

/// The columns of all inputs, tilting rotors in the middle of their angles, then those of the
/// latter at the limits; times the weights.
Eigen::MatrixXd parts_of(const BaseActuators& actuators, const std::vector<Eigen::Index>& tilting) {
  const TurningColumns& columns = actuators.columns;
  Eigen::MatrixXd parts = actuators.allocation.matrix();
  const Eigen::Index m = parts.cols(), t = static_cast<Eigen::Index>(tilting.size());
  if (m + 2 * t > vms_ph::kMaxVelocities) {
    throw vms_ph::ModelError("a base with " + std::to_string(m) + " actuators, of which " +
                             std::to_string(t) + " tilt, has more than the " +
                             std::to_string(vms_ph::kMaxVelocities) +
                             " directions that the C++ core serves");
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
  return std::any_of(by.begin(), by.end(), [](Eigen::Index i) { return i >= 0; });
}

vms_ph::VectorB TurningColumns::at(Eigen::Index i, double angle) const noexcept {
  return fixed.col(i) + std::cos(angle) * cosine.col(i) + std::sin(angle) * sine.col(i);
}

ActuatorMap::ActuatorMap(const BaseActuators& actuators)
    : columns_(actuators.columns),
      spinning_(actuators.spinning),
      matrix_(actuators.allocation.matrix()),
      turns_(columns_.any()),
      spins_((spinning_.inertia.array() > 0.0).any()) {}

void ActuatorMap::turn(const Eigen::VectorXd& angles) noexcept {
  if (!turns_) return;
  for (Eigen::Index i = 0; i < matrix_.cols(); ++i) {
    const Eigen::Index by = columns_.by[static_cast<std::size_t>(i)];
    if (by < 0) continue;
    matrix_.col(i) = columns_.at(i, angles[by]);
  }
}

Eigen::Vector3d ActuatorMap::momentum(const Eigen::VectorXd& angles,
                                      const Eigen::VectorXd& rates) const noexcept {
  Eigen::Vector3d total = Eigen::Vector3d::Zero();
  for (Eigen::Index i = 0; i < rates.size(); ++i) {
    const double own = spinning_.inertia[i] * rates[i];
    if (own == 0.0) continue;
    if (columns_.tilts(i)) {
      total += own * (std::cos(angles[i]) * spinning_.axis.col(i) +
                      std::sin(angles[i]) * spinning_.quarter.col(i));
    } else {
      total += own * spinning_.axis.col(i);
    }
  }
  return total;
}

TiltAllocation::TiltAllocation(const BaseActuators& actuators)
    : map_(actuators),
      weights_(actuators.weights),
      tilting_(tilting(actuators.columns)),
      parts_(parts_of(actuators, tilting_)),
      at_middle_(actuators.columns.start),
      lower_(Eigen::VectorXd::Zero(parts_.cols())),
      upper_(lower_),
      forces_(lower_),
      free_(parts_),
      search_(parts_) {
  const auto t = static_cast<Eigen::Index>(tilting_.size());
  least_ = most_ = fastest_ = Eigen::VectorXd::Zero(t);
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    least_[k] = actuators.columns.lower[i];
    most_[k] = actuators.columns.upper[i];
    fastest_[k] = actuators.columns.fastest[i];
  }
  middle_ = 0.5 * (least_ + most_);
}

void TiltAllocation::aim(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower,
                         const Eigen::VectorXd& upper, const Eigen::VectorXd& angles, double step,
                         Eigen::VectorXd& out) noexcept {
  const Eigen::Index m = angles.size(), t = least_.size();
  out = angles;
  at_middle_ = angles;
  lower_.head(m) = lower;
  upper_.head(m) = upper;
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    at_middle_[i] = middle_[k];
    upper_[m + k] = upper_[m + t + k] = upper[i];
  }
  map_.turn(at_middle_);
  parts_.leftCols(m) = weights_.asDiagonal() * map_.matrix();
  free_.replace(parts_);
  const bool found = free_.solve_freely(goal, lower_, upper_, forces_);
  if (!found) search_.replace(parts_, kSpread);
  sought_ = goal;
  for (int round = 0; !found && round < kRounds; ++round) {
    search_.solve(sought_, lower_, upper_, forces_);
    sought_ += goal;
    sought_.noalias() -= parts_.lazyProduct(forces_);
  }
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    const double left = forces_[m + k], right = forces_[m + t + k];
    const double half = 0.5 * (most_[k] - least_[k]), reach = step * fastest_[k];
    const double across = (right - left) * std::sin(half);
    const double ahead = forces_[i] + (left + right) * std::cos(half);
    const double wanted =
        std::hypot(across, ahead) > kNoForce ? middle_[k] + std::atan2(across, ahead) : angles[i];
    const double within = std::clamp(wanted, least_[k], most_[k]);
    out[i] = std::clamp(within, angles[i] - reach, angles[i] + reach);
  }
}

}  // namespace vms_ph_ros2_control
