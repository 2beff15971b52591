// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/robot_observers.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

constexpr double kHour = 3600.0;

// Share of a threshold below which a statistic counts as quiet.
constexpr double kQuietShare = 0.25;

// Added to the variances of an impulse, so that a robot without noise has a covariance.
constexpr double kVarianceFloor = 1e-18;

// Terms of the series and of the continued fraction, and halvings of the interval.
constexpr int kTerms = 500, kHalvings = 200;

/// The probability that a chi-square variable exceeds a value.
double chi_square_tail(double value, int dimension) noexcept {
  const double a = 0.5 * dimension, x = 0.5 * value;
  if (x <= 0.0) return 1.0;
  const double factor = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1.0) {
    double term = 1.0 / a, total = term;
    for (int i = 1; i < kTerms; ++i) {
      term *= x / (a + i);
      total += term;
      if (term < 1e-17 * total) break;
    }
    return std::max(0.0, 1.0 - factor * total);
  }
  // Lentz's continued fraction of the upper incomplete gamma function.
  constexpr double kTiny = 1e-300;
  const auto nonzero = [](double number) { return number == 0.0 ? kTiny : number; };
  double b = x + 1.0 - a, c = 1.0 / kTiny, d = 1.0 / b, h = d;
  for (int i = 1; i < kTerms; ++i) {
    const double an = -i * (i - a);
    b += 2.0;
    d = 1.0 / nonzero(an * d + b);
    c = nonzero(b + an / c);
    h *= d * c;
    if (std::abs(d * c - 1.0) < 1e-16) break;
  }
  return factor * h;
}

int check_windows(double false_alarms, int windows) {
  if (!(false_alarms > 0.0 && false_alarms <= 1e6)) {
    throw ModelError("false_alarms must be in (0, 1e6] in an hour; given: " +
                     std::to_string(false_alarms));
  }
  if (windows < 1 || windows > 10) {
    throw ModelError("windows must be from 1 to 10; given: " + std::to_string(windows));
  }
  return windows;
}

}  // namespace

double chi_square_quantile(double tail, int dimension) noexcept {
  double low = 0.0, high = 1.0;
  while (chi_square_tail(high, dimension) > tail && high < 1e6) high *= 2.0;
  for (int i = 0; i < kHalvings; ++i) {
    const double midpoint = 0.5 * (low + high);
    if (midpoint == low || midpoint == high) break;
    (chi_square_tail(midpoint, dimension) > tail ? low : high) = midpoint;
  }
  return high;
}

ContactDetector::Sums::Sums(Eigen::Index nv)
    : impulse(Eigen::VectorXd::Zero(nv)),
      systematic(impulse),
      effort_noise(Eigen::MatrixXd::Zero(nv, nv)),
      start_covariance(effort_noise) {}

ContactDetector::ContactDetector(const ImpulseBalance& balance, double false_alarms, int windows)
    : model_(balance.model()),
      false_alarms_(false_alarms),
      window_count_(check_windows(false_alarms, windows)),
      position_variances_(
          NoiseModel::stack(model_, 0.0, 0.0, balance.noise().position).cwiseAbs2()),
      velocity_variances_(balance.noise().velocities(model_).cwiseAbs2()),
      effort_variances_(balance.noise().efforts(model_).cwiseAbs2()),
      sums_((std::size_t{1} << (windows - 1)) + 1, Sums(model_.nv())),
      last_q_(VectorQ::Zero(model_.nq())),
      noise_covariance_(MatrixV::Zero(model_.nv(), model_.nv())) {
  last_p_ = last_g_ = model_effort_ = displacement_ = VectorV::Zero(model_.nv());
  impulse_ = scaled_impulse_ = variances_ = last_p_;
  restart_windows();
}

void ContactDetector::restart() noexcept {
  has_contact_ = false;
  samples_without_contact_ = 0;
  restart_windows();
}

/// Begin windows anew; a contact goes on.
void ContactDetector::restart_windows() noexcept {
  newest_ = 0;
  count_ = 1;
  Sums& first = sums_[0];
  first.time = first.work_sum = first.work_noise = first.work_bias = 0.0;
  first.impulse.setZero();
  first.systematic.setZero();
  first.effort_noise.setZero();
  first.start_covariance.setZero();
  first.work = Work();
  has_last_state_ = false;
}

ContactDetector::Sums& ContactDetector::recent_sums(int k) noexcept {
  const int size = static_cast<int>(sums_.size());
  return sums_[static_cast<std::size_t>((newest_ - k + 1 + size) % size)];
}

const ContactReport& ContactDetector::add(const ExternalImpulse& impulse) noexcept {
  if (impulse.is_first) restart_windows();
  add_work(impulse);
  const int size = static_cast<int>(sums_.size());
  const Sums& before = recent_sums(1);
  newest_ = (newest_ + 1) % size;
  count_ = std::min(count_ + 1, size);
  Sums& latest = recent_sums(1);
  latest.time = before.time + impulse.dt;
  latest.impulse = before.impulse + impulse.value;
  latest.effort_noise = before.effort_noise + impulse.effort_noise;
  latest.systematic = before.systematic + impulse.systematic;
  latest.work_sum = before.work_sum + sample_work_.value;
  latest.work_noise = before.work_noise + sample_work_.effort_noise;
  latest.work_bias = before.work_bias + sample_work_.systematic;
  latest.start_covariance = *impulse.start_covariance;
  latest.work = sample_work_;
  find_thresholds(impulse.dt);
  report_.joint = -1;
  test_momentum(impulse);
  test_energy();
  const double largest = std::max(report_.by_momentum, report_.by_energy);
  report_.began = !has_contact_ && largest > 1.0;
  samples_without_contact_ = largest > kQuietShare ? 0 : samples_without_contact_ + 1;
  has_contact_ =
      (has_contact_ || report_.began) && samples_without_contact_ < (1 << (window_count_ - 1));
  report_.contact = has_contact_;
  if (!(largest > 1.0)) report_.joint = -1;
  return report_;
}

/// Balance the energy over the sample that ends with an impulse.
void ContactDetector::add_work(const ExternalImpulse& impulse) noexcept {
  Evaluation& d = *impulse.d;
  const double energy = d.kinetic_energy() + d.potential_energy();
  sample_work_ = Work();
  if (has_last_state_) {
    model_.difference(last_q_, d.q(), displacement_);
    model_effort_ = impulse.effort + impulse.friction;
    sample_work_.is_valid = true;
    sample_work_.value = energy - last_energy_ - model_effort_.dot(displacement_);
    sample_work_.start_variance = work_variance(last_p_, last_g_);
    sample_work_.end_variance = work_variance(d.momentum(), d.g());
    sample_work_.effort_noise = effort_variances_.dot(displacement_.cwiseAbs2());
    sample_work_.systematic = displacement_.cwiseAbs().dot(impulse.systematic) / impulse.dt;
    sample_work_.curvature = d.M().diagonal().dot(velocity_variances_);
  }
  has_last_state_ = true;
  last_energy_ = energy;
  last_q_ = d.q();
  last_p_ = d.momentum();
  last_g_ = d.g();
}

double ContactDetector::work_variance(const VectorV& momentum, const VectorV& gravity) noexcept {
  return velocity_variances_.dot(momentum.cwiseAbs2()) +
         position_variances_.dot((gravity - model_effort_).cwiseAbs2());
}

/// Find the thresholds, for samples half as long, s; they serve until samples are half or twice as
/// long: what jitters needs no new quantiles.
void ContactDetector::find_thresholds(double dt) noexcept {
  if (threshold_period_ > 0.0 && dt > 0.5 * threshold_period_ && dt < 2.0 * threshold_period_)
    return;
  const int nv = model_.nv();
  const double tail = std::min(0.5, false_alarms_ * 0.5 * dt / kHour / (2 * window_count_));
  threshold_period_ = dt;
  momentum_threshold_ = chi_square_quantile(tail, nv);
  energy_threshold_ = chi_square_quantile(tail, 1);
  joint_threshold_ = chi_square_quantile(tail / nv, 1);
}

void ContactDetector::test_momentum(const ExternalImpulse& impulse) noexcept {
  const int b = model_.b(), nv = model_.nv();
  const Sums& latest = recent_sums(1);
  report_.by_momentum = report_.duration = 0.0;
  for (int length = 1; length <= 1 << (window_count_ - 1) && length < count_; length *= 2) {
    const Sums &start = recent_sums(1 + length), &first_sample = recent_sums(length);
    impulse_ = latest.impulse - start.impulse;
    noise_covariance_ = *impulse.end_covariance + first_sample.start_covariance +
                        latest.effort_noise - start.effort_noise;
    noise_covariance_.diagonal().array() += kVarianceFloor;
    noise_covariance_.diagonal() += (latest.systematic - start.systematic).cwiseAbs2();
    variances_ = noise_covariance_.diagonal();
    const Cholesky noise_factors(noise_covariance_);
    if (!noise_factors.is_positive()) continue;
    scaled_impulse_ = impulse_;
    noise_factors.solve(scaled_impulse_.data());
    const double statistic = impulse_.dot(scaled_impulse_) / momentum_threshold_;
    if (!(statistic > report_.by_momentum)) continue;
    report_.by_momentum = statistic;
    report_.duration = latest.time - start.time;
    report_.joint = -1;
    for (int i = b; i < nv; ++i) {
      if (impulse_[i] * impulse_[i] > joint_threshold_ * variances_[i]) report_.joint = i - b;
    }
  }
}

void ContactDetector::test_energy() noexcept {
  const Sums& latest = recent_sums(1);
  report_.by_energy = report_.work = 0.0;
  report_.work_deviation = kInfinity;
  for (int length = 1; length <= 1 << (window_count_ - 1) && length < count_; length *= 2) {
    const Sums &start = recent_sums(1 + length), &first_sample = recent_sums(length);
    if (!first_sample.work.is_valid) break;
    const double window_work = latest.work_sum - start.work_sum;
    const double systematic_error = latest.work_bias - start.work_bias;
    const double noise = latest.work.end_variance + first_sample.work.start_variance +
                         latest.work_noise - start.work_noise;
    const double deviation = std::sqrt(noise + systematic_error * systematic_error);
    const double curvature =
        0.5 * momentum_threshold_ * (latest.work.curvature + first_sample.work.curvature);
    const double excess = std::max(0.0, std::abs(window_work) - curvature);
    report_.work = window_work;
    report_.work_deviation = deviation;
    if (deviation > 0.0) {
      const double ratio = excess / deviation;
      report_.by_energy = std::max(report_.by_energy, ratio * ratio / energy_threshold_);
    }
  }
}

RobotObservers::RobotObservers(const Model& model, const ObserverOptions& options)
    : balance_(model, options.noise, options.decoupled, options.friction),
      standard_balance_(model, options.noise, false, options.friction),
      is_decoupled_(options.decoupled && model.b() > 0),
      observer_(model, options.bandwidth),
      wrench_(balance_, options.force, options.moment, options.wind_force, options.wind_moment),
      detector_(balance_, options.false_alarms, options.windows),
      payload_observer_(standard_balance_) {}

void RobotObservers::restart() noexcept {
  balance_.restart();
  standard_balance_.restart();
  observer_.restart();
  detector_.restart();
  payload_observer_.restart();
  contact_ = ContactReport();
  payload_ = Payload();
}

bool RobotObservers::add(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
                         double dt) noexcept {
  const ExternalImpulse* impulse = balance_.add(q, v, effort, dt);
  const auto* standard = is_decoupled_ ? standard_balance_.add(q, v, effort, dt) : impulse;
  if (impulse == nullptr || standard == nullptr) return false;
  observer_.add(*impulse);
  wrench_.estimate(*impulse->d, observer_);
  contact_ = detector_.add(*impulse);
  payload_ = payload_observer_.add(*standard);
  return true;
}

}  // namespace vms_ph
