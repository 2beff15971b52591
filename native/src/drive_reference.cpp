// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/drive_reference.hpp"

#include <algorithm>
#include <cmath>

namespace vms_ph {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Peaks of the polynomial of degree five from rest to rest over a unit of length and time.
const double kPeakRate = 1.875, kPeakAcceleration = 10.0 / std::sqrt(3.0);

// Lengths that count as none, m and rad.
constexpr double kNothing = 1e-9;

// Shortest time in which a motion is brought to rest, s.
constexpr double kShortest = 0.2;

}  // namespace

DriveReference::Quintic::Quintic(const Motion& start, double end, double time) noexcept
    : duration(time), now(start) {
  const double t = time, p = start.position, v = start.rate, a = start.acceleration;
  const double left = end - p - v * t - 0.5 * a * t * t;
  const double slow = -v - a * t, still = -a;
  const double t3 = t * t * t;
  c = (10.0 * left - 4.0 * slow * t + 0.5 * still * t * t) / t3;
  d = (-15.0 * left + 7.0 * slow * t - still * t * t) / (t3 * t);
  e = (6.0 * left - 3.0 * slow * t + 0.5 * still * t * t) / (t3 * t * t);
}

DriveReference::Motion DriveReference::Quintic::at(double t) const noexcept {
  const double p = now.position, v = now.rate, a = now.acceleration;
  return {p + t * (v + t * (0.5 * a + t * (c + t * (d + t * e)))),
          v + t * (a + t * (3.0 * c + t * (4.0 * d + t * 5.0 * e))),
          a + t * (6.0 * c + t * (12.0 * d + t * 20.0 * e))};
}

void DriveReference::restart(const PlanarPose& pose) noexcept {
  pose_ = pose;
  goal_.reset();
  waiting_.reset();
  next_ = kNone;
  stand();
}

void DriveReference::go_to(const PlanarPose& target) noexcept {
  const std::optional<PlanarPose>& last = waiting_ ? waiting_ : goal_;
  if (last && last->heading == target.heading && last->place == target.place) return;
  waiting_ = target;
}

void DriveReference::advance(const Bounds& bounds, double dt) noexcept {
  if (waiting_) {
    if (!part_) {
      goal_ = waiting_;
      waiting_.reset();
      next_ = kTurn;
    } else if (!braking_) {
      brake(bounds);
    }
  }
  while (!part_ && next_ != kNone) begin(next_++, bounds);
  if (!part_) return;
  time_ = std::min(time_ + dt, part_->duration);
  const Motion motion = part_->at(time_);
  if (turns_) {
    pose_.heading = motion.position;
    turn_ = motion.rate;
    turn_acceleration_ = motion.acceleration;
  } else {
    pose_.place = origin_ + motion.position * ahead();
    speed_ = motion.rate;
    acceleration_ = motion.acceleration;
  }
  if (time_ >= part_->duration) stand();
}

/// Bring the present part to rest, and forget those after it.
void DriveReference::brake(const Bounds& bounds) noexcept {
  const Motion now = part_->at(time_);
  const double most = turns_ ? bounds.turn_acceleration : bounds.acceleration;
  const double time = std::max(kPeakRate * std::abs(now.rate) / most, kShortest);
  part_ = Quintic(now, now.position + 0.5 * now.rate * time, time);
  time_ = 0.0;
  braking_ = true;
  next_ = kNone;
}

/// Begin a part, unless it has no length.
void DriveReference::begin(int what, const Bounds& bounds) noexcept {
  const Eigen::Vector2d way = goal_->place - pose_.place;
  double start = pose_.heading, rate = bounds.turn, change = bounds.turn_acceleration, length = 0.0;
  if (what == kArrive) {
    length = std::remainder(goal_->heading - pose_.heading, 2.0 * kPi);
  } else if (what == kTurn) {
    // The way may be driven ahead or back.
    const bool far = way.norm() > kNothing;
    length = far ? std::remainder(std::atan2(way.y(), way.x()) - pose_.heading, kPi) : 0.0;
  } else {
    length = way.dot(ahead());
    start = 0.0;
    rate = bounds.speed;
    change = bounds.acceleration;
  }
  const double size = std::abs(length);
  if (!(size > kNothing)) return;
  origin_ = pose_.place;
  turns_ = what != kDrive;
  const double time =
      std::max(kPeakRate * size / rate, std::sqrt(kPeakAcceleration * size / change));
  part_ = Quintic({start, 0.0, 0.0}, start + length, time);
  time_ = 0.0;
}

Eigen::Vector2d DriveReference::ahead() const noexcept {
  return {std::cos(pose_.heading), std::sin(pose_.heading)};
}

void DriveReference::stand() noexcept {
  part_.reset();
  time_ = 0.0;
  turns_ = braking_ = false;
  speed_ = turn_ = acceleration_ = turn_acceleration_ = 0.0;
}

}  // namespace vms_ph
