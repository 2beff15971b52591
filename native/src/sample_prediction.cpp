// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/sample_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Share of the difference between the schemes of second and of fourth order that is added to the
// predicted energy. The error of the fourth-order one is smaller by the square of the step.
constexpr double kMargin = 0.1;

// Largest distance that a coordinate moves in a step of the integration, rad or m, and the largest
// number of steps; a faster motion is not predicted.
constexpr double kLongestPredicted = 0.2;
constexpr int kMostSteps = 16;

// A peak below this, J, at the very beginning of a step, is the rounding of a power of zero.
constexpr double kNoPeak = 1e-15;

// The largest value in (0, 1] of the cubic from 0 to `gain` with these slopes at its ends.
double highest(double gain, double start, double end) {
  const double square = 3.0 * gain - 2.0 * start - end, cube = start + end - 2.0 * gain;
  const double root = square * square - 3.0 * cube * start;
  if (root > 0.0) {
    // The root of the derivative at which the second derivative, -2 sqrt(root), is negative.
    const double below = std::sqrt(root) - square;
    const double x = below > 0.0 ? start / below : -1.0;
    const double top = 0.0 < x && x < 1.0 ? x * (start + x * (square + x * cube)) : 0.0;
    if (top > kNoPeak) return std::max(gain, top);
  }
  return gain;
}

}  // namespace

SamplePrediction::SamplePrediction(const Model& model)
    : model_(model),
      first_(model),
      second_(model),
      at_(model),
      start_(Eigen::VectorXd::Zero(model.nq())),
      q_(start_),
      velocity_(Eigen::VectorXd::Zero(model.nv())),
      tangent_(velocity_),
      force_(velocity_),
      weight_(velocity_),
      acceleration_(velocity_),
      unheld_(VectorV::Zero(model.nv())),
      a1_(unheld_),
      a2_(unheld_),
      a3_(unheld_),
      a4_(unheld_),
      v1_(unheld_),
      v2_(unheld_),
      v3_(unheld_),
      v4_(unheld_),
      way_(unheld_) {
  if (model.fluid() != nullptr) wet_.emplace(model);
}

void SamplePrediction::begin(Evaluation& d, const VectorV& unheld, double budget,
                             double dt) noexcept {
  d_ = &d;
  unheld_ = unheld;
  budget_ = budget;
  dt_ = dt;
}

void SamplePrediction::predict(const VectorV& force, Prediction& result) noexcept {
  start_ = q_ = d_->q();
  v1_ = d_->v();
  double p1 = rate(first_, v1_, force, a1_);
  result.acceleration = a1_;
  result.way.setZero(v1_.size());
  result.lack = energy_ = std::numeric_limits<double>::infinity();
  const double reach = dt_ * ((v1_ + dt_ * a1_).cwiseAbs().maxCoeff() + v1_.cwiseAbs().maxCoeff());
  if (!(reach < kLongestPredicted * kMostSteps)) return;
  const int steps = std::max(1, static_cast<int>(std::ceil(reach / kLongestPredicted)));
  const double h = dt_ / steps;
  double energy = 0.0, peak = 0.0, margin = 0.0;
  for (int k = 0; k < steps; ++k) {
    v2_ = v1_ + 0.5 * h * a1_;
    move(0.5 * h * v1_);
    const double p2 = rate(second_, v2_, force, a2_);
    v3_ = v1_ + 0.5 * h * a2_;
    move(0.5 * h * v2_);
    const double p3 = rate(at_, v3_, force, a3_);
    v4_ = v1_ + h * a3_;
    move(h * v3_);
    const double p4 = rate(at_, v4_, force, a4_);
    const double gain = h / 6.0 * (p1 + 2.0 * (p2 + p3) + p4), before = p1;
    way_ = h / 6.0 * (v1_ + 2.0 * (v2_ + v3_) + v4_);
    move(way_);
    start_ = q_;
    v1_ += h / 6.0 * (a1_ + 2.0 * (a2_ + a3_) + a4_);
    p1 = k + 1 < steps ? rate(first_, v1_, force, a1_) : power(v1_, force);
    margin += kMargin * std::abs(gain - h * p2);
    peak = std::max(peak, energy + highest(gain, h * before, h * p1) + margin);
    energy += gain;
    result.way += way_;
  }
  const double lack = std::max(energy + margin - budget_, peak - std::max(budget_, 0.0));
  if (!std::isfinite(lack)) return;
  result.lack = lack;
  energy_ = energy + margin;
}

void SamplePrediction::move(const VectorV& way) noexcept {
  tangent_ = way;
  model_.integrate(start_, tangent_, q_);
}

double SamplePrediction::rate(Dynamics& at, const VectorV& v, const VectorV& force,
                              VectorV& result) noexcept {
  velocity_ = v;
  if (wet_) {
    wet_->set(q_, velocity_);
    const VectorV& weight = wet_->g();
    result = force - weight;
    const double given = (result - unheld_).dot(v);
    add_product(wet_->C(), v, result, -1.0);
    inertia_.compute(wet_->M());
    inertia_.solve(result.data());
    return given;
  }
  at.place(q_.data());
  at.gravity(weight_.data());
  force_ = force - weight_;
  const double power = (force_ - unheld_).dot(v);
  at.accelerate(velocity_, force_, acceleration_);
  result = acceleration_;
  return power;
}

double SamplePrediction::power(const VectorV& v, const VectorV& force) noexcept {
  if (wet_) {
    velocity_ = v;
    wet_->set(q_, velocity_);
    return (force - unheld_ - wet_->g()).dot(v);
  }
  return (force - unheld_).dot(v) - at_.lifting_power(q_.data(), v.data());
}

}  // namespace vms_ph
