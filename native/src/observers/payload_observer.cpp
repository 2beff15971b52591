// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/robot_observers.hpp"

#include <algorithm>

#include <Eigen/LU>

#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

// As in motion_window.py, where they are described.
constexpr double kMinIntervalDuration = 4.5e-3;
constexpr double kHalfWindow = 0.05;
constexpr int kMinHalfWidth = 2;
constexpr double kRestThreshold = 4.0;
constexpr double kNoiseThreshold = 3.0;

// As in payload_observer.py, where they are described.
constexpr double kCorrelationTime = 0.2;
constexpr double kSpreadFactor = 1.0;
constexpr double kMinDeviation = 1e-6, kLeastNoise = 1e-9;
constexpr double kFalseChangeProbability = 1e-10;

constexpr int kParameters = 10;

using Matrix34 = Eigen::Matrix<double, 3, 4>;
using Matrix610 = Eigen::Matrix<double, 6, kParameters>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

/// The regressor of the momentum of a body, (6,10), from its twist in the same axes.
Matrix610 momentum_regressor(const Vector6& twist) {
  Eigen::Matrix<double, kParameters, 6> rows;
  for (int k = 0; k < 6; ++k) {
    const Vector6 unit_twist = Vector6::Unit(k);
    write_momentum_regressor(screw_of(unit_twist), screw_of(twist), &rows(0, k));
  }
  return rows.transpose();
}

/// Multiply rows and columns of a matrix by the same factors.
void scale(const Eigen::VectorXd& factors, Eigen::MatrixXd& matrix) {
  for (Eigen::Index j = 0; j < factors.size(); ++j) {
    for (Eigen::Index i = 0; i < factors.size(); ++i) matrix(i, j) *= factors[i] * factors[j];
  }
}

}  // namespace

MotionWindow::MotionWindow(const Model& model, const VectorV& deviations)
    : deviations_(deviations) {
  TimeInterval zero;
  zero.q = model.neutral_configuration();
  zero.v = zero.impulse = zero.effort_noise = zero.slow_error = VectorV::Zero(model.nv());
  intervals_.fill(zero);
  smoothed_interval_.velocity = smoothed_interval_.smoothing_error = zero.v;
}

void MotionWindow::restart() noexcept {
  first_index_ = interval_count_ = half_width_ = 0;
  is_interval_open_ = false;
  time_ = 0.0;
}

const SmoothedInterval* MotionWindow::add(const ExternalImpulse& impulse) noexcept {
  // The window that was complete at the last sample moves on.
  if (half_width_ > 0 && interval_count_ > 2 * half_width_) {
    first_index_ = (first_index_ + 1) % kIntervals;
    --interval_count_;
  }
  TimeInterval& interval = interval_at(interval_count_);
  time_ += impulse.dt;
  if (!is_interval_open_) {
    interval.dt = impulse.dt;
    interval.impulse = impulse.vector;
    interval.effort_noise = impulse.effort_noise.diagonal();
    interval.slow_error = impulse.slow_error;
  } else {
    interval.dt += impulse.dt;
    interval.impulse += impulse.vector;
    interval.effort_noise += impulse.effort_noise.diagonal();
    interval.slow_error += impulse.slow_error;
  }
  interval.time = time_;
  interval.q = impulse.d->q();
  interval.v = impulse.d->v();
  is_interval_open_ = interval.dt < kMinIntervalDuration;
  if (is_interval_open_) return nullptr;
  if (half_width_ == 0) {
    half_width_ = std::clamp(static_cast<int>(std::min(kHalfWindow / interval.dt, 1e3) + 0.5),
                             kMinHalfWidth, kMaxHalfWidth);
  }
  ++interval_count_;
  if (interval_count_ <= 2 * half_width_) return nullptr;
  smooth();
  return &smoothed_interval_;
}

/// Find the middle interval with the value of the quadratic at its end.
void MotionWindow::smooth() noexcept {
  const TimeInterval& middle_interval = interval_at(half_width_);
  const double half_span = 0.5 * (interval_at(2 * half_width_).time - interval_at(0).time);
  Eigen::Matrix3d moments = Eigen::Matrix3d::Zero();
  for (int k = 0; k <= 2 * half_width_; ++k) {
    if (k == half_width_) continue;
    const double t = (interval_at(k).time - middle_interval.time) / half_span;
    const Eigen::Vector3d monomials(1.0, t, t * t);
    moments.noalias() += monomials * monomials.transpose();
  }
  const Eigen::Vector3d coefficients = moments.inverse().col(0);
  smoothed_interval_.velocity.setZero();
  double variance_share = 0.0;
  for (int k = 0; k <= 2 * half_width_; ++k) {
    if (k == half_width_) continue;
    const double t = (interval_at(k).time - middle_interval.time) / half_span;
    const double weight = coefficients[0] + t * (coefficients[1] + t * coefficients[2]);
    smoothed_interval_.velocity += weight * interval_at(k).v;
    variance_share += weight * weight;
  }
  const double rest_threshold = kRestThreshold * std::sqrt(variance_share),
               noise_bound = kNoiseThreshold * std::sqrt(1.0 + variance_share);
  for (Eigen::Index i = 0; i < deviations_.size(); ++i) {
    double& velocity = smoothed_interval_.velocity[i];
    const double ratio2 = std::pow(velocity / std::max(rest_threshold * deviations_[i], 1e-12), 2);
    velocity *= ratio2 * ratio2 / (1.0 + ratio2 * ratio2);
    const double error = middle_interval.v[i] - velocity;
    const double excess_error = std::max(std::abs(error) - noise_bound * deviations_[i], 0.0);
    smoothed_interval_.smoothing_error[i] = std::copysign(excess_error, error);
  }
  smoothed_interval_.interval = &middle_interval;
  smoothed_interval_.error_intervals = 2 * half_width_ + 1;
  smoothed_interval_.variance_share = variance_share;
}

Eigen::Vector3d Payload::centre_deviation() const noexcept {
  if (!(mass > 0.0)) return Eigen::Vector3d::Constant(kInfinity);
  Matrix34 gradient;
  gradient.col(0) = -centre();
  gradient.rightCols<3>().setIdentity();
  gradient /= mass;
  const auto weighted_gradient = product<Matrix34>(gradient, covariance);
  return product<Eigen::Matrix3d>(weighted_gradient, transposed(gradient)).diagonal().cwiseSqrt();
}

PayloadObserver::PayloadObserver(const ImpulseBalance& balance, double prior_mass,
                                 double prior_reach, double prior_wind)
    : model_(balance.model()),
      nv_(model_.nv()),
      torque_error_(balance.noise().torque_error),
      change_threshold_(chi_square_quantile(kFalseChangeProbability, nv_)),
      deviations_(balance.noise().velocities(model_).cwiseMax(kLeastNoise)),
      window_(model_, deviations_),
      smoothed_state_(model_),
      cross_terms_(Eigen::MatrixXd::Zero(kParameters, nv_ + 1)) {
  const int size = nv_ + kParameters;
  prior_information_ = information_vector_ = mean_ = scales_ = Eigen::VectorXd::Zero(size);
  information_ = inverse_information_ = scaled_information_ = Eigen::MatrixXd::Zero(size, size);
  regressor_ = weighted_regressor_ = regressor_product_ = Eigen::MatrixXd::Zero(nv_, size);
  impulse_sum_ = filtered_impulse_ = decorrelated_impulse_ = residual_ = VectorV::Zero(nv_);
  covariance_ = noise_covariance_ = gain_transpose_ = MatrixV::Zero(nv_, nv_);
  workspace_ = payload_mass_matrix_ = covariance_;
  Eigen::VectorXd prior_deviations = prior_information_;
  prior_deviations.head(nv_) =
      NoiseModel::stack(model_, prior_wind, 0.2 * prior_wind, torque_error_);
  const double moment = prior_mass * prior_reach;
  prior_deviations[nv_] = prior_mass;
  prior_deviations.segment(nv_ + 1, 3).setConstant(moment);
  prior_deviations.tail(6).setConstant(0.25 * moment * prior_reach);
  prior_information_ = prior_deviations.cwiseMax(kMinDeviation).cwiseAbs2().cwiseInverse();
  terms_[0].momentum = terms_[0].rate = Regressor::Zero(nv_, kParameters);
  terms_[0].noise_covariance = covariance_;
  terms_[0].smoothing_error = impulse_sum_;
  terms_[1] = terms_[0];
  restart();
}

void PayloadObserver::restart() noexcept {
  information_.setZero();
  information_.diagonal() = prior_information_;
  information_vector_.setZero();
  restart_window();
  solve();
}

const Payload& PayloadObserver::add(const ExternalImpulse& impulse) noexcept {
  if (impulse.is_first) restart_window();
  const SmoothedInterval* smoothed_interval = window_.add(impulse);
  return report(smoothed_interval != nullptr && observe(*smoothed_interval));
}

/// Restart at the next interval; keep the estimates.
void PayloadObserver::restart_window() noexcept {
  window_.restart();
  has_impulse_sum_ = has_last_terms_ = false;
}

/// Forget the payload, and keep the offsets, which are independent of the payload.
void PayloadObserver::forget_payload() noexcept {
  cholesky_.compute(information_.bottomRightCorner(kParameters, kParameters));
  cross_terms_.leftCols(nv_) = information_.bottomLeftCorner(kParameters, nv_);
  cross_terms_.col(nv_) = information_vector_.tail(kParameters);
  cholesky_.solve_columns(cross_terms_);
  const MatrixView coupling = MatrixView(information_).top_rows(nv_).right_columns(kParameters);
  const MatrixView solution = cross_terms_;
  add_product(coupling, solution.left_columns(nv_), information_.topLeftCorner(nv_, nv_), -1.0);
  add_product(coupling, solution.right_columns(1), information_vector_.head(nv_), -1.0);
  information_.rightCols(kParameters).setZero();
  information_.bottomRows(kParameters).setZero();
  information_.diagonal().tail(kParameters) = prior_information_.tail(kParameters);
  information_vector_.tail(kParameters).setZero();
  // The sum begins anew with the noise of one momentum.
  has_impulse_sum_ = false;
  solve();
}

/// Take an interval into account; return whether the payload has changed.
bool PayloadObserver::observe(const SmoothedInterval& smoothed_interval) noexcept {
  const TimeInterval& interval = *smoothed_interval.interval;
  const double dt = interval.dt;
  latest_index_ = 1 - latest_index_;
  StateTerms &end_terms = terms_[latest_index_], &start_terms = terms_[1 - latest_index_];
  compute_terms(smoothed_interval, end_terms);
  const bool had_last_terms = has_last_terms_;
  has_last_terms_ = true;
  if (!had_last_terms) return false;
  if (!has_impulse_sum_) {
    has_impulse_sum_ = true;
    impulse_sum_.setZero();
    filtered_impulse_.setZero();
    regressor_.setZero();
    covariance_ = start_terms.noise_covariance;
  }
  impulse_sum_ += interval.impulse;
  regressor_.diagonal().array() += dt;
  for (int j = 0; j < kParameters; ++j) {
    for (int i = 0; i < nv_; ++i) {
      const double momentum_change = end_terms.momentum(i, j) - start_terms.momentum(i, j);
      regressor_(i, nv_ + j) +=
          0.5 * dt * (start_terms.rate(i, j) + end_terms.rate(i, j)) - momentum_change;
    }
  }
  for (int i = 0; i < nv_; ++i) {
    const double bias = std::max(interval.slow_error[i] - dt * torque_error_, 0.0);
    covariance_(i, i) += interval.effort_noise[i] + bias * bias * (2.0 * kCorrelationTime / dt);
  }
  decorrelated_impulse_ = impulse_sum_ - filtered_impulse_;
  noise_covariance_ = covariance_ + end_terms.noise_covariance;
  add_product(end_terms.smoothing_error, transposed(end_terms.smoothing_error), noise_covariance_,
              smoothed_interval.error_intervals);
  // Test whether the present estimate explains the decorrelated impulse.
  residual_ = decorrelated_impulse_;
  add_product(regressor_, mean_, residual_, -1.0);
  multiply(regressor_, inverse_information_, regressor_product_);
  workspace_ = noise_covariance_;
  add_product(regressor_product_, transposed(regressor_), workspace_);
  const Cholesky prediction_cholesky(workspace_), noise_cholesky(noise_covariance_);
  if (!prediction_cholesky.is_positive() || !noise_cholesky.is_positive()) return false;
  VectorV weighted_vector = residual_;
  prediction_cholesky.solve(weighted_vector.data());
  if (residual_.dot(weighted_vector) > change_threshold_) {
    forget_payload();
    return true;
  }
  weighted_regressor_ = regressor_;
  noise_cholesky.solve_columns(weighted_regressor_);
  weighted_vector = decorrelated_impulse_;
  noise_cholesky.solve(weighted_vector.data());
  gain_transpose_ = covariance_;
  noise_cholesky.solve_columns(gain_transpose_);
  add_product(transposed(regressor_), weighted_regressor_, information_);
  add_product(transposed(regressor_), weighted_vector, information_vector_);
  add_product(transposed(gain_transpose_), decorrelated_impulse_, filtered_impulse_);
  multiply(transposed(gain_transpose_), regressor_, regressor_product_);
  regressor_ -= regressor_product_;
  multiply(transposed(gain_transpose_), covariance_, workspace_);
  covariance_ -= workspace_;
  workspace_ = covariance_.transpose();
  covariance_ = 0.5 * (covariance_ + workspace_);
  solve();
  return false;
}

/// Find the regressors of the payload's generalised momentum and of its rate, (nv,10) each, and the
/// noise of the end of an interval.
void PayloadObserver::compute_terms(const SmoothedInterval& smoothed_interval,
                                    StateTerms& terms) noexcept {
  smoothed_state_.set(smoothed_interval.interval->q, smoothed_interval.velocity);
  const auto frame = model_.end_effector();
  const Eigen::Vector3d gravity =
      smoothed_state_.placement(frame).rotation().transpose() * model_.gravity();
  const auto& jacobian = smoothed_state_.frame_jacobian(frame, pinocchio::LOCAL);
  const auto& jacobian_rate = smoothed_state_.frame_jacobian_rate(frame, pinocchio::LOCAL);
  const auto twist = product<Vector6>(jacobian, smoothed_state_.v());
  const Eigen::Matrix3d skew_angular = se3::skew(twist.tail<3>()),
                        skew_linear = se3::skew(twist.head<3>());
  const Matrix610 body_regressor = momentum_regressor(twist);
  const MatrixView linear_rows = MatrixView(body_regressor).top_rows(3);
  Matrix610 body_rate = Matrix610::Zero();
  // ad_V^T (f, m) = (f x w, m x w + f x v).
  add_product(skew_angular, linear_rows, body_rate.topRows<3>(), -1.0);
  add_product(skew_angular, MatrixView(body_regressor).bottom_rows(3), body_rate.bottomRows<3>(),
              -1.0);
  add_product(skew_linear, linear_rows, body_rate.bottomRows<3>(), -1.0);
  body_rate.topLeftCorner<3, 1>() += gravity;
  body_rate.block<3, 3>(3, 1) -= se3::skew(gravity);
  multiply(transposed(jacobian), body_regressor, terms.momentum);
  multiply(transposed(jacobian_rate), body_regressor, terms.rate);
  add_product(transposed(jacobian), body_rate, terms.rate);
  workspace_ = smoothed_state_.M();
  for (int k = 0; k < nv_; ++k) workspace_.col(k) *= deviations_[k] * deviations_[k];
  multiply(workspace_, transposed(smoothed_state_.M()), terms.noise_covariance);
  Eigen::Matrix<double, 6, 6> spatial_inertia;
  for (int k = 0; k < 6; ++k) {
    spatial_inertia.col(k) =
        product<Vector6>(momentum_regressor(Vector6::Unit(k)), mean_.tail(kParameters));
  }
  const auto momentum_jacobian = product<Matrix6V>(spatial_inertia, jacobian);
  multiply(transposed(jacobian), momentum_jacobian, payload_mass_matrix_);
  multiply(payload_mass_matrix_, smoothed_interval.smoothing_error, terms.smoothing_error);
  // The noise of the smoothed velocity is the same for many intervals, added up as if it were not.
  workspace_ = payload_mass_matrix_;
  const double noise_factor = smoothed_interval.error_intervals * smoothed_interval.variance_share;
  for (int k = 0; k < nv_; ++k) workspace_.col(k) *= noise_factor * deviations_[k] * deviations_[k];
  add_product(workspace_, transposed(payload_mass_matrix_), terms.noise_covariance);
}

/// Find mean and covariance; the scale of the unknowns differs by many orders.
void PayloadObserver::solve() noexcept {
  scales_ = information_.diagonal().cwiseSqrt().cwiseInverse();
  scaled_information_ = information_;
  scale(scales_, scaled_information_);
  if (!cholesky_.compute(scaled_information_)) return;
  inverse_information_.setIdentity();
  cholesky_.solve_columns(inverse_information_);
  scale(scales_, inverse_information_);
  multiply(inverse_information_, information_vector_, mean_);
}

const Payload& PayloadObserver::report(bool has_changed) noexcept {
  payload_.mass = mean_[nv_];
  payload_.moment = mean_.segment<3>(nv_ + 1);
  payload_.covariance = kSpreadFactor * kSpreadFactor * inverse_information_.block<4, 4>(nv_, nv_);
  payload_.changed = has_changed;
  return payload_;
}

}  // namespace vms_ph
