// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/robot_observers.hpp"

#include <algorithm>
#include <string>

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
    double term = 1.0 / a, series_sum = term;
    for (int i = 1; i < kTerms; ++i) {
      term *= x / (a + i);
      series_sum += term;
      if (term < 1e-17 * series_sum) break;
    }
    return std::max(0.0, 1.0 - factor * series_sum);
  }
  // Lentz's continued fraction of the upper incomplete gamma function.
  constexpr double kTiny = 1e-300;
  const auto nonzero = [](double divisor) { return divisor == 0.0 ? kTiny : divisor; };
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

int checked_window_count(double false_alarms, int window_count) {
  if (!(false_alarms > 0.0 && false_alarms <= 1e6)) {
    throw ModelError("false_alarms must be in (0, 1e6] in an hour; given: " +
                     std::to_string(false_alarms));
  }
  if (window_count < 1 || window_count > 10) {
    throw ModelError("windows must be from 1 to 10; given: " + std::to_string(window_count));
  }
  return window_count;
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
      slow_error(impulse),
      effort_noise(Eigen::MatrixXd::Zero(nv, nv)),
      start_covariance(effort_noise) {}

ContactDetector::ContactDetector(const ImpulseBalance& balance, double false_alarms,
                                 int window_count)
    : model_(balance.model()),
      false_alarms_(false_alarms),
      window_count_(checked_window_count(false_alarms, window_count)),
      position_variances_(
          NoiseModel::stack(model_, 0.0, 0.0, balance.noise().position).cwiseAbs2()),
      velocity_variances_(balance.noise().velocities(model_).cwiseAbs2()),
      effort_variances_(balance.noise().efforts(model_).cwiseAbs2()),
      sums_((std::size_t{1} << (window_count - 1)) + 1, Sums(model_.nv())),
      last_q_(VectorQ::Zero(model_.nq())),
      noise_covariance_(MatrixV::Zero(model_.nv(), model_.nv())) {
  last_momentum_ = last_weight_ = known_effort_ = displacement_ = VectorV::Zero(model_.nv());
  impulse_ = scaled_impulse_ = variances_ = last_momentum_;
  restart_windows();
}

void ContactDetector::restart() noexcept {
  has_contact_ = false;
  samples_without_contact_ = 0;
  restart_windows();
}

/// Begin windows anew; a contact goes on.
void ContactDetector::restart_windows() noexcept {
  newest_index_ = 0;
  sum_count_ = 1;
  Sums& first_sums = sums_[0];
  first_sums.time = first_sums.work_sum = first_sums.work_noise = first_sums.work_bias = 0.0;
  first_sums.impulse.setZero();
  first_sums.slow_error.setZero();
  first_sums.effort_noise.setZero();
  first_sums.start_covariance.setZero();
  first_sums.work = Work();
  has_last_state_ = false;
}

ContactDetector::Sums& ContactDetector::recent_sums(int k) noexcept {
  const int size = static_cast<int>(sums_.size());
  return sums_[static_cast<std::size_t>((newest_index_ - k + 1 + size) % size)];
}

const ContactReport& ContactDetector::add(const ExternalImpulse& impulse) noexcept {
  if (impulse.is_first) restart_windows();
  add_work(impulse);
  const int size = static_cast<int>(sums_.size());
  const Sums& last_sums = recent_sums(1);
  newest_index_ = (newest_index_ + 1) % size;
  sum_count_ = std::min(sum_count_ + 1, size);
  Sums& latest_sums = recent_sums(1);
  latest_sums.time = last_sums.time + impulse.dt;
  latest_sums.impulse = last_sums.impulse + impulse.vector;
  latest_sums.effort_noise = last_sums.effort_noise + impulse.effort_noise;
  latest_sums.slow_error = last_sums.slow_error + impulse.slow_error;
  latest_sums.work_sum = last_sums.work_sum + sample_work_.work;
  latest_sums.work_noise = last_sums.work_noise + sample_work_.effort_noise;
  latest_sums.work_bias = last_sums.work_bias + sample_work_.slow_error;
  latest_sums.start_covariance = *impulse.start_covariance;
  latest_sums.work = sample_work_;
  find_thresholds(impulse.dt);
  report_.joint = -1;
  test_momentum(impulse);
  test_energy();
  const double largest_statistic = std::max(report_.by_momentum, report_.by_energy);
  report_.has_begun = !has_contact_ && largest_statistic > 1.0;
  samples_without_contact_ = largest_statistic > kQuietShare ? 0 : samples_without_contact_ + 1;
  has_contact_ =
      (has_contact_ || report_.has_begun) && samples_without_contact_ < (1 << (window_count_ - 1));
  report_.contact = has_contact_;
  if (!(largest_statistic > 1.0)) report_.joint = -1;
  return report_;
}

/// Balance the energy over the sample that ends with an impulse.
void ContactDetector::add_work(const ExternalImpulse& impulse) noexcept {
  Evaluation& d = *impulse.d;
  const double energy = d.kinetic_energy() + d.potential_energy();
  sample_work_ = Work();
  if (has_last_state_) {
    model_.difference(last_q_, d.q(), displacement_);
    known_effort_ = impulse.effort + impulse.friction;
    sample_work_.is_valid = true;
    sample_work_.work = energy - last_energy_ - known_effort_.dot(displacement_);
    sample_work_.start_variance = work_variance(last_momentum_, last_weight_);
    sample_work_.end_variance = work_variance(d.momentum(), d.g());
    sample_work_.effort_noise = effort_variances_.dot(displacement_.cwiseAbs2());
    sample_work_.slow_error = displacement_.cwiseAbs().dot(impulse.slow_error) / impulse.dt;
    sample_work_.curvature = d.M().diagonal().dot(velocity_variances_);
  }
  has_last_state_ = true;
  last_energy_ = energy;
  last_q_ = d.q();
  last_momentum_ = d.momentum();
  last_weight_ = d.g();
}

double ContactDetector::work_variance(const VectorV& momentum, const VectorV& gravity) noexcept {
  return velocity_variances_.dot(momentum.cwiseAbs2()) +
         position_variances_.dot((gravity - known_effort_).cwiseAbs2());
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
  const Sums& latest_sums = recent_sums(1);
  report_.by_momentum = report_.duration = 0.0;
  for (int length = 1; length <= 1 << (window_count_ - 1) && length < sum_count_; length *= 2) {
    const Sums &start_sums = recent_sums(1 + length), &first_sums = recent_sums(length);
    impulse_ = latest_sums.impulse - start_sums.impulse;
    noise_covariance_ = *impulse.end_covariance + first_sums.start_covariance +
                        latest_sums.effort_noise - start_sums.effort_noise;
    noise_covariance_.diagonal().array() += kVarianceFloor;
    noise_covariance_.diagonal() += (latest_sums.slow_error - start_sums.slow_error).cwiseAbs2();
    variances_ = noise_covariance_.diagonal();
    const Cholesky noise_factors(noise_covariance_);
    if (!noise_factors.is_positive()) continue;
    scaled_impulse_ = impulse_;
    noise_factors.solve(scaled_impulse_.data());
    const double statistic = impulse_.dot(scaled_impulse_) / momentum_threshold_;
    if (!(statistic > report_.by_momentum)) continue;
    report_.by_momentum = statistic;
    report_.duration = latest_sums.time - start_sums.time;
    report_.joint = -1;
    for (int i = b; i < nv; ++i) {
      if (impulse_[i] * impulse_[i] > joint_threshold_ * variances_[i]) report_.joint = i - b;
    }
  }
}

void ContactDetector::test_energy() noexcept {
  const Sums& latest_sums = recent_sums(1);
  report_.by_energy = report_.work = 0.0;
  report_.work_deviation = kInfinity;
  for (int length = 1; length <= 1 << (window_count_ - 1) && length < sum_count_; length *= 2) {
    const Sums &start_sums = recent_sums(1 + length), &first_sums = recent_sums(length);
    if (!first_sums.work.is_valid) break;
    const double window_work = latest_sums.work_sum - start_sums.work_sum;
    const double slow_error = latest_sums.work_bias - start_sums.work_bias;
    const double noise_variance = latest_sums.work.end_variance + first_sums.work.start_variance +
                                  latest_sums.work_noise - start_sums.work_noise;
    const double deviation = std::sqrt(noise_variance + slow_error * slow_error);
    const double curvature =
        0.5 * momentum_threshold_ * (latest_sums.work.curvature + first_sums.work.curvature);
    const double excess_work = std::max(0.0, std::abs(window_work) - curvature);
    report_.work = window_work;
    report_.work_deviation = deviation;
    if (deviation > 0.0) {
      const double ratio = excess_work / deviation;
      report_.by_energy = std::max(report_.by_energy, ratio * ratio / energy_threshold_);
    }
  }
}

RobotObservers::RobotObservers(const Model& model, const ObserverOptions& options)
    : balance_(model, options.noise, options.is_decoupled, options.has_friction),
      standard_balance_(model, options.noise, false, options.has_friction),
      is_decoupled_(options.is_decoupled && model.b() > 0),
      momentum_observer_(model, options.bandwidth),
      wrench_map_(balance_, options.force_deviation, options.moment_deviation,
                  options.wind_force_deviation, options.wind_moment_deviation),
      contact_detector_(balance_, options.false_alarms, options.window_count),
      payload_observer_(standard_balance_) {}

void RobotObservers::restart() noexcept {
  balance_.restart();
  standard_balance_.restart();
  momentum_observer_.restart();
  contact_detector_.restart();
  payload_observer_.restart();
  contact_ = ContactReport();
  payload_ = Payload();
}

bool RobotObservers::add(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
                         double dt) noexcept {
  const ExternalImpulse* impulse = balance_.add(q, v, effort, dt);
  const auto* standard_impulse = is_decoupled_ ? standard_balance_.add(q, v, effort, dt) : impulse;
  if (impulse == nullptr || standard_impulse == nullptr) return false;
  momentum_observer_.add(*impulse);
  wrench_map_.estimate(*impulse->d, momentum_observer_);
  contact_ = contact_detector_.add(*impulse);
  payload_ = payload_observer_.add(*standard_impulse);
  return true;
}

}  // namespace vms_ph
