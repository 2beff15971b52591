// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/implicit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vms_ph_native/linear_solve.hpp"

namespace vms_ph {
namespace {

// As in the Python solver, which gives the reasons.
constexpr double kTolerance = 1e-11, kFloor = 1e-13;
constexpr double kStagnation = 1e-9, kNoise = 1e-10;
constexpr double kContraction = 0.5;
constexpr int kFixedPointLimit = 60, kNewtonLimit = 30;
constexpr double kDifference = 1e-7, kShortest = 1.0 / 64.0;

/// The largest size of an entry; NaN where one is NaN.
double size_of(const Eigen::VectorXd& y) {
  double largest = 0.0;
  for (const double entry : y) {
    if (std::isnan(entry)) return entry;
    largest = std::max(largest, std::abs(entry));
  }
  return largest;
}

double rounding(double size) { return kStagnation * size + kNoise; }

}  // namespace

FixedPoint::FixedPoint(int size) : slope_(size, size) {
  unknown = y_ = following_ = residual_ = step_ = moved_ = left_ = Eigen::VectorXd::Zero(size);
}

bool FixedPoint::solve(Sweep& sweep, StepResult& result) noexcept {
  const double infinite = std::numeric_limits<double>::infinity();
  result.failure = Failure::none;
  y_ = unknown;
  double last = infinite, before = infinite;
  int count = 1;
  for (; count <= kFixedPointLimit; ++count) {
    if (!sweep.sweep(y_, following_)) {
      result.failure = Failure::not_finite;
      return false;
    }
    residual_ = following_ - y_;
    const double size = size_of(following_), change = size_of(residual_);
    const bool stalls = change > kContraction * before;
    if (change <= kTolerance * size + kFloor || (stalls && change <= rounding(size))) {
      unknown = y_;
      result.iterations = count;
      return true;
    }
    if (stalls || !(change < infinite)) break;
    y_ = following_;
    before = last;
    last = change;
  }
  result.iterations = std::min(count, kFixedPointLimit);
  return newton(sweep, result);
}

bool FixedPoint::newton(Sweep& sweep, StepResult& result) noexcept {
  const auto fails = [&result](Failure failure, double amount, double extent) {
    result.failure = failure;
    result.amount = amount;
    result.extent = extent;
    return false;
  };
  y_ = unknown;
  if (!sweep.sweep(y_, following_)) return fails(Failure::not_finite, 0.0, 0.0);
  residual_ = following_ - y_;
  // Full steps may cycle around a kink of a force within the step: they are shortened.
  for (int count = 1; count <= kNewtonLimit; ++count) {
    const double size = size_of(y_) + size_of(residual_);
    if (size_of(residual_) <= kTolerance * size + kFloor) {
      unknown = y_;
      result.iterations += count;
      return true;
    }
    const double width = kDifference * std::max(size, 1e-3);
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      moved_ = y_;
      moved_[i] += width;
      if (!sweep.sweep(moved_, following_)) return fails(Failure::not_finite, 0.0, 0.0);
      slope_.col(i) = (following_ - moved_ - residual_) / width;
    }
    if (!slope_.allFinite()) return fails(Failure::not_finite, 0.0, 0.0);
    step_ = residual_;
    if (!solve_square(slope_, step_, 0.0)) return fails(Failure::not_finite, 0.0, 0.0);
    double length = 1.0;
    while (true) {
      moved_ = y_ - length * step_;
      if (!sweep.sweep(moved_, following_)) return fails(Failure::not_finite, 0.0, 0.0);
      left_ = following_ - moved_;
      if (size_of(left_) < (1.0 - 0.1 * length) * size_of(residual_)) break;
      length *= 0.5;
      if (length < kShortest) {
        if (!(size_of(residual_) <= rounding(size))) {
          return fails(Failure::newton_stalls, size_of(residual_), 0.0);
        }
        unknown = y_;
        result.iterations += count;
        return sweep.sweep(y_, following_);
      }
    }
    y_ = moved_;
    residual_ = left_;
  }
  return fails(Failure::newton_unfinished, size_of(residual_), kNewtonLimit);
}

}  // namespace vms_ph
