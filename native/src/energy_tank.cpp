// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_tank.hpp"

#include <algorithm>

#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

// Bound of the error for turning axes: relative to the work, and the square of the angle.
constexpr double kRotationMargin = 0.1;

// The bracket of two twists of a base, (b,).
VectorB bracket(const VectorB& u, const VectorB& v) {
  if (u.size() == 6) return product<VectorB>(se3::ad(Twist(u)), v);
  VectorB planar_bracket(3);
  planar_bracket << v[2] * u[1] - u[2] * v[1], u[2] * v[0] - v[2] * u[0], 0.0;
  return planar_bracket;
}

// Share of the difference between the schemes of second and of fourth order that is added to the
// predicted energy. The error of the fourth-order one is smaller by the square of the step.
constexpr double kErrorMargin = 0.1;

// Largest distance that a coordinate moves in a step of the integration, rad or m, and the largest
// number of steps; a faster motion is not predicted.
constexpr double kMaxStepTravel = 0.2;
constexpr int kMaxSteps = 16;

// A peak below this, J, at the very beginning of a step, is the rounding of a power of zero.
constexpr double kPeakRounding = 1e-15;

// The largest value in (0, 1] of the cubic from 0 to `rise` with these slopes at its ends.
double cubic_maximum(double rise, double slope_0, double slope_1) {
  const double c2 = 3.0 * rise - 2.0 * slope_0 - slope_1, c3 = slope_0 + slope_1 - 2.0 * rise;
  const double discriminant = c2 * c2 - 3.0 * c3 * slope_0;
  if (discriminant > 0.0) {
    // The root of the derivative at which the second one, -2 sqrt(discriminant), is negative.
    const double denominator = std::sqrt(discriminant) - c2;
    const double x = denominator > 0.0 ? slope_0 / denominator : -1.0;
    const double peak = 0.0 < x && x < 1.0 ? x * (slope_0 + x * (c2 + x * c3)) : 0.0;
    if (peak > kPeakRounding) return std::max(rise, peak);
  }
  return rise;
}

// Number of shares that are tried; each trial corrects the work per share by its prediction.
constexpr int kMaxTrials = 5;

// Factor from the estimated share of the strongest brake to the first one that is tried, with the
// margin of the prediction; smallest share that is tried.
constexpr double kChordFactor = 1.05, kMinShare = 0.01;

// Largest ratio of a share to the one tried before it.
constexpr double kShrinkage = 0.9;

// Part of the momentum that the strongest brake takes out per sample: a third is stable with one
// sample of delay too.
constexpr double kBrakeShare = 1.0 / 3.0;

// The largest share s with s a + s^2 b / 2 within the limit, J. Where a is negative, that is
// limit - a^2 / 2 b, and the least work without one.
double largest_share(double a, double b, double limit) {
  if (!(b > 0.0 && std::isfinite(a + b))) return 0.0;
  limit = std::max(limit, 0.0);
  if (a < 0.0) return (-a + std::sqrt(2.0 * b * limit)) / b;
  return limit > 0.0 ? 2.0 * limit / (a + std::sqrt(a * a + 2.0 * b * limit)) : 0.0;
}

// Energies below this, J, are rounding.
constexpr double kRoundingEnergy = 1e-12;

// The share of a potential of `energy` joules that the `available` ones cover.
double covered_authority(double energy, double available) {
  return energy <= std::max(available, kRoundingEnergy) ? 1.0 : std::max(0.0, available / energy);
}

}  // namespace

SampleWork::SampleWork(const Model& model) : model_(model), start_q_(VectorQ::Zero(model.nq())) {
  start_v_ = held_effort_ = safe_effort_ = VectorV::Zero(model.nv());
  predicted_displacement_ = displacement_ = start_v_;
}

void SampleWork::hold(const Evaluation& d, const VectorV& force, const VectorV& displacement,
                      double stored_energy) noexcept {
  start_q_ = d.q();
  start_v_ = d.v();
  held_effort_ = force;
  predicted_displacement_ = displacement;
  start_stored_energy_ = stored_energy;
  has_effort_ = true;
  has_missed_updates_ = false;
}

double SampleWork::recovered_energy(const Evaluation& d, double stored_energy, double dt) noexcept {
  if (!has_effort_) return 0.0;
  model_.difference(start_q_, d.q(), displacement_);
  const double decrease = start_stored_energy_ - stored_energy;
  double work = held_effort_.dot(displacement_);
  if (has_missed_updates_) {
    const double mixed_work = held_effort_.dot(predicted_displacement_) +
                              safe_effort_.dot(displacement_ - predicted_displacement_);
    return std::min(decrease - std::max({work, safe_effort_.dot(displacement_), mixed_work}), 0.0);
  }
  if (model_.b() > 0) work += base_rotation_work_bound(d, dt);
  return decrease - work;
}

// An upper bound of the work that turning axes add to f^T (q_next - q), J.
double SampleWork::base_rotation_work_bound(const Evaluation& d, double dt) const noexcept {
  const int b = model_.b(), linear_size = b == 6 ? 3 : 2, angular_size = b - linear_size;
  const VectorB effort = held_effort_.head(b), v0 = start_v_.head(b), v1 = d.v().head(b);
  const VectorB magnus_term = dt * dt / 12.0 * bracket(v0, v1);
  const double force_norm = effort.head(linear_size).norm(),
               moment_norm = effort.tail(angular_size).norm();
  const VectorB largest_twist = v0.cwiseAbs().cwiseMax(v1.cwiseAbs());
  const double displacement = dt * largest_twist.head(linear_size).norm(),
               angle = dt * largest_twist.tail(angular_size).norm();
  const double bound = force_norm * magnus_term.head(linear_size).norm() +
                       moment_norm * magnus_term.tail(angular_size).norm();
  return bound +
         kRotationMargin * angle * angle * (force_norm * displacement + moment_norm * angle) -
         effort.dot(magnus_term);
}

SamplePredictor::SamplePredictor(const Model& model)
    : model_(model), first_stage_(model), second_stage_(model), later_stage_(model) {
  q1_ = stage_q_ = Eigen::VectorXd::Zero(model.nq());
  stage_v_ = net_force_ = stage_weight_ = stage_acceleration_ = Eigen::VectorXd::Zero(model.nv());
  compensation_error_ = step_displacement_ = stage_v_;
  a1_ = a2_ = a3_ = a4_ = v1_ = v2_ = v3_ = v4_ = step_displacement_;
}

void SamplePredictor::begin(Evaluation& d, const VectorV& compensation_error, double budget,
                            double dt) noexcept {
  d_ = &d;
  compensation_error_ = compensation_error;
  budget_ = budget;
  dt_ = dt;
}

void SamplePredictor::predict(const VectorV& force, Prediction& prediction) noexcept {
  q1_ = stage_q_ = d_->q();
  v1_ = d_->v();
  double p1 = accelerate(first_stage_, v1_, force, a1_);
  prediction.acceleration = a1_;
  prediction.displacement.setZero(v1_.size());
  prediction.deficit = max_energy_ = kInfinity;
  const double travel = dt_ * ((v1_ + dt_ * a1_).cwiseAbs().maxCoeff() + v1_.cwiseAbs().maxCoeff());
  if (!(travel < kMaxStepTravel * kMaxSteps)) return;
  const int step_count = std::max(1, static_cast<int>(std::ceil(travel / kMaxStepTravel)));
  const double h = dt_ / step_count;
  double energy = 0.0, peak = 0.0, margin = 0.0;
  for (int k = 0; k < step_count; ++k) {
    v2_ = v1_ + 0.5 * h * a1_;
    move(0.5 * h * v1_);
    const double p2 = accelerate(second_stage_, v2_, force, a2_);
    v3_ = v1_ + 0.5 * h * a2_;
    move(0.5 * h * v2_);
    const double p3 = accelerate(later_stage_, v3_, force, a3_);
    v4_ = v1_ + h * a3_;
    move(h * v3_);
    const double p4 = accelerate(later_stage_, v4_, force, a4_);
    const double energy_gain = h / 6.0 * (p1 + 2.0 * (p2 + p3) + p4), start_power = p1;
    step_displacement_ = h / 6.0 * (v1_ + 2.0 * (v2_ + v3_) + v4_);
    move(step_displacement_);
    q1_ = stage_q_;
    v1_ += h / 6.0 * (a1_ + 2.0 * (a2_ + a3_) + a4_);
    p1 = k + 1 < step_count ? accelerate(first_stage_, v1_, force, a1_) : power(v1_, force);
    margin += kErrorMargin * std::abs(energy_gain - h * p2);
    peak = std::max(peak, energy + cubic_maximum(energy_gain, h * start_power, h * p1) + margin);
    energy += energy_gain;
    prediction.displacement += step_displacement_;
  }
  const double deficit = std::max(energy + margin - budget_, peak - std::max(budget_, 0.0));
  if (!std::isfinite(deficit)) return;
  prediction.deficit = deficit;
  max_energy_ = energy + margin;
}

double SamplePredictor::accelerate(Dynamics& dynamics, const VectorV& v, const VectorV& force,
                                   VectorV& acceleration) noexcept {
  stage_v_ = v;
  dynamics.set_configuration(stage_q_.data());
  dynamics.gravity(stage_weight_.data());
  net_force_ = force - stage_weight_;
  const double power = (net_force_ - compensation_error_).dot(v);
  dynamics.solve_acceleration(stage_v_, net_force_, stage_acceleration_);
  acceleration = stage_acceleration_;
  return power;
}

double SamplePredictor::power(const VectorV& v, const VectorV& force) noexcept {
  later_stage_.set_configuration(stage_q_.data());
  later_stage_.gravity(stage_weight_.data());
  return (force - compensation_error_ - stage_weight_).dot(v);
}

SampleGrant::SampleGrant(const Model& model)
    : predictor_(model), active_effort_(VectorV::Zero(model.nv())), trial_effort_(active_effort_) {
  for (Prediction* prediction : {&static_effect_, &trial_effect_, &granted_effect_})
    prediction->acceleration = prediction->displacement = active_effort_;
}

bool SampleGrant::grant(Evaluation& d, VectorV& force, const VectorV& static_effort, double budget,
                        double dt) noexcept {
  reason_.clear();
  share_ = 1.0;
  if (dt == 0.0) {
    granted_effect_.displacement.setZero();
    return true;
  }
  budget_ = budget;
  predictor_.begin(d, static_effort - d.g(), budget, dt);
  predictor_.predict(force, granted_effect_);
  if (granted_effect_.deficit <= 0.0) return true;
  active_effort_ = force - static_effort;
  predictor_.predict(static_effort, static_effect_);
  static_energy_ = predictor_.max_energy();
  const double curvature =
      dt * dt * active_effort_.dot(granted_effect_.acceleration - static_effect_.acceleration);
  double slope = dt * active_effort_.dot(d.v() + 0.5 * dt * static_effect_.acceleration),
         max_share = kShrinkage;
  granted_effect_ = static_effect_;
  share_ = 0.0;
  for (int k = 0; k < kMaxTrials; ++k) {
    const double s = std::min(largest_share(slope, curvature, -static_effect_.deficit), max_share);
    if (!(s > 0.0)) break;
    trial_effort_ = static_effort + s * active_effort_;
    predictor_.predict(trial_effort_, trial_effect_);
    if (trial_effect_.deficit <= 0.0 || trial_effect_.deficit < granted_effect_.deficit) {
      share_ = s;
      granted_effect_ = trial_effect_;
    }
    if (trial_effect_.deficit <= 0.0) break;
    slope = (trial_effect_.deficit - static_effect_.deficit) / s - 0.5 * s * curvature;
    max_share = kShrinkage * s;
  }
  force = static_effort;
  if (share_ > 0.0) force += share_ * active_effort_;
  reason_.set("the energy tank covers %.0f%% of the effort", 100.0 * share_);
  return granted_effect_.deficit <= 0.0;
}

void SampleGrant::brake(VectorV& force, const VectorV& static_effort,
                        const VectorV& brake_effort) noexcept {
  predictor_.predict(brake_effort, trial_effect_);
  const double brake_energy = predictor_.max_energy();
  if (trial_effect_.deficit > 0.0 && !(trial_effect_.deficit < granted_effect_.deficit)) return;
  granted_effect_ = trial_effect_;
  force = brake_effort;
  if (granted_effect_.deficit > 0.0) return;
  if (static_effect_.deficit <= kRounding) {
    granted_effect_ = static_effect_;
    force = static_effort;
    return;
  }
  if (!std::isfinite(static_energy_) || !(static_energy_ > brake_energy)) return;
  active_effort_ = brake_effort - static_effort;
  // The energy is a convex function of the share: it lies below its chord. Only a peak within the
  // sample may be too high.
  double share = std::max(
      kChordFactor * (static_energy_ - budget_) / (static_energy_ - brake_energy), kMinShare);
  for (int k = 0; k < kMaxTrials && share < 1.0; ++k) {
    trial_effort_ = static_effort + share * active_effort_;
    predictor_.predict(trial_effort_, trial_effect_);
    if (trial_effect_.deficit <= 0.0) {
      force = trial_effort_;
      granted_effect_ = trial_effect_;
      return;
    }
    share *= 2.0;
  }
}

void strongest_brake(Evaluation& d, double dt, VectorV& brake_effort) noexcept {
  brake_effort = d.g() - (kBrakeShare / dt) * d.momentum();
}

void SampledTank::settle_sample(Evaluation& d, double stored_energy, double capacity,
                                double initial_level, double dt) noexcept {
  if (capacity <= 0.0) {
    restart();
    return;
  }
  if (!tank_) tank_.emplace(capacity, initial_level);
  tank_->capacity = capacity;
  tank_->deposit(work_.recovered_energy(d, stored_energy, dt));
}

void TankPotential::resume(const ShapedPotential& potential) noexcept {
  potential_ = potential;
  authority_ = 1.0;
  is_uncovered_ = false;
  tank_.discard_sample();
}

void TankPotential::settle_sample(Evaluation& d, double limit_spring_energy, double capacity,
                                  double initial_level, double dt) noexcept {
  if (capacity <= 0.0) {
    authority_ = 1.0;
    is_uncovered_ = false;
  }
  tank_.settle_sample(d, capacity > 0.0 ? stored_energy(d, limit_spring_energy) : 0.0, capacity,
                      initial_level, dt);
}

void TankPotential::grant(Evaluation& d, VectorV& torque, const VectorV& static_effort,
                          double limit_spring_energy, const TorqueLimits& limits,
                          double dt) noexcept {
  if (!tank()) return;
  if (tank_.grant(d, torque, static_effort, energy(d.q()) + limit_spring_energy, dt)) return;
  strongest_brake(d, dt, brake_);
  brake_ = static_effort + limits.allowed_share(static_effort, brake_) * (brake_ - static_effort);
  tank_.brake(torque, static_effort, brake_);
}

double TankPotential::stored_energy(Evaluation& d, double limit_spring_energy) const noexcept {
  // The torque compensates gravity, so the gravitational energy comes from the controller.
  return energy(d.q()) + limit_spring_energy - d.potential_energy();
}

double TankPotential::replace_potential(const ConstVector& q, const ShapedPotential& potential,
                                        double last_energy) noexcept {
  const double cost = potential.is_same(potential_) ? 0.0 : potential.energy(q) - last_energy;
  potential_ = potential;
  return cost;
}

bool TankPotential::is_covered(const ShapedPotential& potential, const ConstVector& q,
                               double last_energy) noexcept {
  if (potential.q_star() == potential_.q_star()) return true;
  shifted_ = potential_;
  shifted_.copy_minimum(potential);
  return authority_ * shifted_.energy(q) - last_energy <= tank()->available() + kRoundingEnergy;
}

double TankPotential::pay_for_potential(const ConstVector& q, const ShapedPotential& potential,
                                        double last_energy, double share) noexcept {
  potential_ = potential;
  const double full_energy = potential.energy(q);
  authority_ = covered_authority(full_energy, last_energy + tank_.level());
  const double cost = authority_ * full_energy - last_energy;
  tank_.withdraw(cost);
  is_uncovered_ = share < 1.0 || authority_ < 1.0;
  return cost;
}

}  // namespace vms_ph
