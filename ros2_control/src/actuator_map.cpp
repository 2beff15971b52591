// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "actuator_map.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph_ros2_control {
namespace {

// Forces below this have no direction to which a rotor turns, N.
constexpr double kNoForce = 1e-9;

std::vector<Eigen::Index> tilting(const TurningColumns& columns) {
  std::vector<Eigen::Index> found;
  for (Eigen::Index i = 0; i < columns.fastest.size(); ++i) {
    if (columns.tilts(i)) found.push_back(i);
  }
  return found;
}

Eigen::MatrixXd both_forces(const BaseActuators& actuators,
                            const std::vector<Eigen::Index>& tilting) {
  const auto& flat = actuators.allocation.matrix();
  const auto t = static_cast<Eigen::Index>(tilting.size());
  if (flat.cols() + t > vms_ph::kMaxVelocities) {
    throw vms_ph::ModelError("a base with " + std::to_string(flat.cols()) +
                             " actuators, of which " + std::to_string(t) +
                             " tilt, has more than the " + std::to_string(vms_ph::kMaxVelocities) +
                             " directions that the C++ core serves");
  }
  Eigen::MatrixXd both(flat.rows(), flat.cols() + t);
  both.leftCols(flat.cols()) = flat;
  for (Eigen::Index k = 0; k < t; ++k) {
    both.col(flat.cols() + k) = actuators.columns.sine.col(tilting[static_cast<std::size_t>(k)]);
  }
  return actuators.weights.asDiagonal() * both;
}

/// A limit times the part of a direction; nothing of an infinite limit is nothing.
double part_of(double limit, double part) { return part == 0.0 ? 0.0 : limit * part; }

}  // namespace

bool TurningColumns::any() const {
  return std::any_of(by.begin(), by.end(), [](Eigen::Index i) { return i >= 0; });
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
    const double c = std::cos(angles[by]), s = std::sin(angles[by]);
    matrix_.col(i) = columns_.fixed.col(i) + c * columns_.cosine.col(i) + s * columns_.sine.col(i);
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
      both_(both_forces(actuators, tilting_)),
      flat_(actuators.columns.start),
      lower_(Eigen::VectorXd::Zero(both_.cols())),
      upper_(lower_),
      forces_(lower_),
      search_(both_) {
  const auto t = static_cast<Eigen::Index>(tilting_.size());
  least_ = most_ = fastest_ = Eigen::VectorXd::Zero(t);
  for (Eigen::Index k = 0; k < t; ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    least_[k] = actuators.columns.lower[i];
    most_[k] = actuators.columns.upper[i];
    fastest_[k] = actuators.columns.fastest[i];
  }
}

void TiltAllocation::aim(const vms_ph::VectorB& goal, const Eigen::VectorXd& lower,
                         const Eigen::VectorXd& upper, const Eigen::VectorXd& angles, double step,
                         Eigen::VectorXd& out) noexcept {
  const Eigen::Index m = angles.size();
  out = angles;
  flat_ = angles;
  lower_.head(m) = lower;
  upper_.head(m) = upper;
  for (Eigen::Index k = 0; k < least_.size(); ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    flat_[i] = 0.0;
    // Beyond a quarter turn the force along the axis without tilt may be negative.
    lower_[i] = std::cos(std::max(-least_[k], most_[k])) < 0.0 ? -upper[i] : 0.0;
    lower_[m + k] = part_of(upper[i], std::sin(std::max(least_[k], -M_PI_2)));
    upper_[m + k] = part_of(upper[i], std::sin(std::min(most_[k], M_PI_2)));
  }
  map_.turn(flat_);
  both_.leftCols(m) = weights_.asDiagonal() * map_.matrix();
  search_.replace(both_);
  search_.solve(goal, lower_, upper_, forces_);
  for (Eigen::Index k = 0; k < least_.size(); ++k) {
    const Eigen::Index i = tilting_[static_cast<std::size_t>(k)];
    const double ahead = forces_[i], across = forces_[m + k], reach = step * fastest_[k];
    const double wanted =
        std::hypot(across, ahead) > kNoForce ? std::atan2(across, ahead) : angles[i];
    const double within = std::clamp(wanted, least_[k], most_[k]);
    out[i] = std::clamp(within, angles[i] - reach, angles[i] + reach);
  }
}

}  // namespace vms_ph_ros2_control
