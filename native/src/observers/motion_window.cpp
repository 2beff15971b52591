// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/motion_window.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace vms_ph {
namespace {

// As in motion_window.py, where they are described.
constexpr double kFrame = 4.5e-3;
constexpr double kReach = 0.05;
constexpr int kFewest = 2;
constexpr double kRest = 4.0;
constexpr double kSeen = 3.0;

}  // namespace

MotionWindow::MotionWindow(const Model& model, const VectorV& deviations)
    : deviations_(deviations) {
  Frame empty;
  empty.q = model.neutral_configuration();
  empty.v = empty.value = empty.held = empty.systematic = VectorV::Zero(model.nv());
  frames_.fill(empty);
  found_.velocity = found_.missed = empty.v;
}

void MotionWindow::restart() noexcept {
  first_ = count_ = half_ = 0;
  is_open_ = false;
  time_ = 0.0;
}

const SmoothedFrame* MotionWindow::add(const ExternalImpulse& impulse) noexcept {
  // The window that was complete at the last sample moves on.
  if (half_ > 0 && count_ > 2 * half_) {
    first_ = (first_ + 1) % kFrames;
    --count_;
  }
  Frame& frame = at(count_);
  time_ += impulse.dt;
  if (!is_open_) {
    frame.dt = impulse.dt;
    frame.value = impulse.value;
    frame.held = impulse.held.diagonal();
    frame.systematic = impulse.systematic;
  } else {
    frame.dt += impulse.dt;
    frame.value += impulse.value;
    frame.held += impulse.held.diagonal();
    frame.systematic += impulse.systematic;
  }
  frame.time = time_;
  frame.q = impulse.d->q();
  frame.v = impulse.d->v();
  is_open_ = frame.dt < kFrame;
  if (is_open_) return nullptr;
  if (half_ == 0) {
    half_ = std::clamp(static_cast<int>(std::min(kReach / frame.dt, 1e3) + 0.5), kFewest, kMost);
  }
  ++count_;
  if (count_ <= 2 * half_) return nullptr;
  smooth();
  return &found_;
}

/// Find the middle frame with the value of the quadratic at its end.
void MotionWindow::smooth() noexcept {
  const Frame& middle = at(half_);
  const double span = 0.5 * (at(2 * half_).time - at(0).time);
  Eigen::Matrix3d moments = Eigen::Matrix3d::Zero();
  for (int k = 0; k <= 2 * half_; ++k) {
    if (k == half_) continue;
    const double t = (at(k).time - middle.time) / span;
    const Eigen::Vector3d powers(1.0, t, t * t);
    moments.noalias() += powers * powers.transpose();
  }
  const Eigen::Vector3d first = moments.inverse().col(0);
  found_.velocity.setZero();
  double share = 0.0;
  for (int k = 0; k <= 2 * half_; ++k) {
    if (k == half_) continue;
    const double t = (at(k).time - middle.time) / span;
    const double weight = first[0] + t * (first[1] + t * first[2]);
    found_.velocity += weight * at(k).v;
    share += weight * weight;
  }
  const double rest = kRest * std::sqrt(share), seen = kSeen * std::sqrt(1.0 + share);
  for (Eigen::Index i = 0; i < deviations_.size(); ++i) {
    double& velocity = found_.velocity[i];
    const double size = std::pow(velocity / std::max(rest * deviations_[i], 1e-12), 2);
    velocity *= size * size / (1.0 + size * size);
    const double error = middle.v[i] - velocity;
    const double excess = std::max(std::abs(error) - seen * deviations_[i], 0.0);
    found_.missed[i] = std::copysign(excess, error);
  }
  found_.frame = &middle;
  found_.lasting = 2 * half_ + 1;
}

}  // namespace vms_ph
