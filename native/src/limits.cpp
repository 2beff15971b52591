// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/limits.hpp"

#include <algorithm>
#include <cmath>

namespace vms_ph {

std::size_t max_reason_length(const Model& model) {
  std::size_t length = 160;
  for (const auto& name : model.joint_names()) length += name.size() + 2;
  return length;
}

const GainTable<LimitGains>& LimitGains::table() {
  using G = LimitGains;
  static const GainTable<G> gains{
      {"torque_rate", gain_text::torque_rate, &G::max_torque_rate, 0.0, 1e6, Ramp::ratio},
      {"power", "largest power into the joints, W; 0: no limit", &G::max_power, 0.0, 1e6,
       Ramp::ratio},
      {"delay", "largest delay at which damping is stable, samples", &G::delay, 0.0, 3.0},
  };
  return gains;
}

void clip_to_max_effort(const Model& model, Eigen::Ref<Eigen::VectorXd> torque) noexcept {
  torque = torque.cwiseMax(-model.max_effort()).cwiseMin(model.max_effort());
}

TorqueLimits::TorqueLimits(const Model& model)
    : model_(model), last_torque_(VectorV::Zero(model.n())), reason_(max_reason_length(model)) {}

double TorqueLimits::allowed_share(const ConstVector& static_effort,
                                   const ConstVector& torque) const noexcept {
  double share = 1.0;
  for (Eigen::Index i = 0; i < torque.size(); ++i) {
    const double effort_change = std::abs(torque[i] - static_effort[i]);
    const double margin = model_.max_effort()[i] - std::abs(static_effort[i]);
    if (effort_change > margin) share = std::min(share, margin / effort_change);
  }
  return std::max(0.0, share);
}

const VectorV& TorqueLimits::apply(const ConstVector& desired_torque,
                                   const ConstVector& static_effort,
                                   const ConstVector& joint_velocities, double max_torque_rate,
                                   double max_power, double dt) noexcept {
  VectorV torque = desired_torque;
  reason_.clear();
  const double desired_power = limit_demand.max_power = desired_torque.dot(joint_velocities);
  if (0.0 < max_power && max_power < desired_power) {
    const double static_power = static_effort.dot(joint_velocities);
    const double share =
        std::max(0.0, max_power - static_power) / std::max(desired_power - static_power, 1e-12);
    torque = static_effort + std::min(1.0, share) * (desired_torque - static_effort);
    reason_.set("power at its limit of %g W", max_power);
  }
  const double span = last_dt_ ? std::min({dt, *last_dt_, model_.command_period()}) : kInfinity;
  const double largest_change = (torque - last_torque_).lpNorm<Eigen::Infinity>();
  limit_demand.max_torque_rate = largest_change / std::max(span, 1e-9);
  const double max_change = max_torque_rate * span;
  if (max_torque_rate > 0.0 && largest_change > max_change + 1e-12) {
    torque = last_torque_ + (torque - last_torque_).cwiseMax(-max_change).cwiseMin(max_change);
    reason_.set(reasons::torque_rate_limited);
  }
  bool is_bounded = false;
  for (Eigen::Index i = 0; i < torque.size(); ++i) {
    const double max_effort = model_.max_effort()[i];
    if (!(std::abs(torque[i]) > max_effort)) continue;
    torque[i] = std::min(std::max(torque[i], -max_effort), max_effort);
    const char* name = model_.joint_names()[static_cast<std::size_t>(i)].c_str();
    is_bounded ? reason_.add_text(", %s", name) : reason_.set("torque at its limit: %s", name);
    is_bounded = true;
  }
  last_torque_ = torque;
  last_dt_ = dt;
  return last_torque_;
}

}  // namespace vms_ph
