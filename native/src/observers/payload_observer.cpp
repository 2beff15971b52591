// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "vms_ph_native/observers/payload_observer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/observers/contact_detector.hpp"

namespace vms_ph {
namespace {

// As in payload_observer.py, where they are described.
constexpr double kCorrelated = 0.2;
constexpr double kTracking = 80.0, kFastest = 0.4;
constexpr double kMargin = 2.0;
constexpr double kChange = 1e-10;

constexpr int kParameters = 10;

using Matrix610 = Eigen::Matrix<double, 6, kParameters>;

Eigen::Matrix3d cross(const Eigen::Vector3d& a) {
  Eigen::Matrix3d result;
  result << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return result;
}

/// The regressor of the momentum of a body, (6,10), from its twist in the same axes.
Matrix610 body_momentum(const Eigen::Vector3d& linear, const Eigen::Vector3d& angular) {
  const double x = angular.x(), y = angular.y(), z = angular.z();
  Matrix610 momentum = Matrix610::Zero();
  momentum.topLeftCorner<3, 1>() = linear;
  momentum.block<3, 3>(0, 1) = cross(angular);
  momentum.block<3, 3>(3, 1) = -cross(linear);
  momentum.bottomRightCorner<3, 6>() << x, y, 0.0, z, 0.0, 0.0,  //
      0.0, x, y, 0.0, z, 0.0,                                    //
      0.0, 0.0, 0.0, x, y, z;
  return momentum;
}

}  // namespace

double Payload::mass_deviation() const noexcept { return std::sqrt(covariance(0, 0)); }

Eigen::Vector3d Payload::centre() const noexcept {
  return mass > 0.0 ? Eigen::Vector3d(moment / mass) : Eigen::Vector3d::Zero();
}

Eigen::Vector3d Payload::centre_deviation() const noexcept {
  if (!(mass > 0.0)) {
    return Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  }
  Eigen::Matrix<double, 3, 4> slope;
  slope.col(0) = -centre();
  slope.rightCols<3>().setIdentity();
  slope /= mass;
  return (slope * covariance * slope.transpose()).diagonal().cwiseSqrt();
}

PayloadObserver::PayloadObserver(const ImpulseBalance& balance, double mass, double reach,
                                 double wind)
    : model_(balance.model()),
      nv_(model_.nv()),
      error_(balance.noise().torque_error),
      limit_(chi_square_quantile(kChange, nv_)),
      ahead_(model_),
      prior_(Eigen::VectorXd::Zero(2 * nv_ + kParameters)),
      mean_(prior_),
      innovation_(Eigen::VectorXd::Zero(nv_)),
      covariance_(Eigen::MatrixXd::Zero(prior_.size(), prior_.size())),
      across_(Eigen::MatrixXd::Zero(nv_, prior_.size())),
      gain_(across_),
      sum_(VectorV::Zero(nv_)),
      velocity_(sum_),
      acceleration_(sum_),
      expected_(sum_),
      missed_(sum_),
      spread_(MatrixV::Zero(nv_, nv_)),
      momentum_(Regressor::Zero(nv_, kParameters)),
      rate_(momentum_),
      last_momentum_(momentum_),
      last_rate_(momentum_),
      taken_(momentum_) {
  prior_.segment(nv_, nv_) = NoiseModel::stacked(model_, wind, 0.2 * wind, error_);
  const double moment = mass * reach;
  prior_[2 * nv_] = mass;
  prior_.segment(2 * nv_ + 1, 3).setConstant(moment);
  prior_.tail(6).setConstant(0.25 * moment * reach);
  prior_ = prior_.cwiseAbs2().eval();
  restart();
}

void PayloadObserver::restart() noexcept {
  mean_.setZero();
  covariance_.setZero();
  covariance_.diagonal() = prior_;
  has_sum_ = has_last_ = has_velocity_ = false;
}

void PayloadObserver::expect_change() noexcept {
  covariance_.bottomRows(kParameters).setZero();
  covariance_.rightCols(kParameters).setZero();
  covariance_.diagonal().tail(kParameters) = prior_.tail(kParameters);
  // The sum begins anew with the noise of one momentum.
  has_sum_ = false;
}

const Payload& PayloadObserver::add(const ExternalImpulse& impulse) noexcept {
  const double dt = impulse.dt;
  if (impulse.begins) has_sum_ = has_last_ = has_velocity_ = false;
  predict(impulse);
  last_momentum_ = momentum_;
  last_rate_ = rate_;
  find_regressors();
  const bool has_last = has_last_;
  has_last_ = true;
  if (!has_last) return told(false);
  Eigen::MatrixXd& p = covariance_;
  const Eigen::Index size = mean_.size(), rest = size - nv_;
  if (!has_sum_) {
    has_sum_ = true;
    sum_.setZero();
    mean_.head(nv_).setZero();
    p.topRows(nv_).setZero();
    p.leftCols(nv_).setZero();
    p.topLeftCorner(nv_, nv_) = *impulse.before;
  }
  sum_ += impulse.value;
  // The step of the sum: by the slow efforts, and by the parameters of the payload.
  taken_ = 0.5 * dt * (last_rate_ + rate_) - (momentum_ - last_momentum_);
  mean_.head(nv_) += dt * mean_.segment(nv_, nv_);
  mean_.head(nv_).noalias() += taken_ * mean_.tail(kParameters);
  p.topRows(nv_) += dt * p.middleRows(nv_, nv_);
  p.topRows(nv_).noalias() += taken_ * p.bottomRows(kParameters);
  p.leftCols(nv_) += dt * p.middleCols(nv_, nv_);
  p.leftCols(nv_).noalias() += p.rightCols(kParameters) * taken_.transpose();
  p.topLeftCorner(nv_, nv_) += impulse.held;
  for (int i = 0; i < nv_; ++i) {
    const double wandering = std::max(impulse.systematic[i] - dt * error_, 0.0);
    p(i, i) += wandering * wandering * (2.0 * kCorrelated / dt);
  }
  innovation_ = sum_ - mean_.head(nv_);
  const auto& jacobian = ahead_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  missed_ = impulse.d->v() - ahead_.v();
  const Eigen::Matrix<double, 6, 1> slip = jacobian * missed_;
  const Eigen::Matrix<double, 6, 1> lost =
      body_momentum(slip.head<3>(), slip.tail<3>()) * mean_.tail<kParameters>();
  missed_.noalias() = jacobian.transpose() * lost;
  // An error of the tracking lasts for several samples, and counts once.
  const double lasting = 1.0 + 2.0 / std::min(kTracking * dt, kFastest);
  spread_ = p.topLeftCorner(nv_, nv_) + *impulse.after;
  spread_.noalias() += (lasting * missed_) * missed_.transpose();
  const Cholesky spread(spread_);
  if (!spread.is_positive()) return told(false);
  across_ = p.topRows(nv_);
  gain_ = across_;
  spread.solve_columns(gain_);
  missed_ = innovation_;
  spread.solve(missed_.data());
  if (innovation_.dot(missed_) > limit_) {
    expect_change();
    return told(true);
  }
  mean_.noalias() += gain_.transpose() * innovation_;
  p.noalias() -= gain_.transpose() * across_;
  for (Eigen::Index j = 0; j < nv_ + rest; ++j) {
    for (Eigen::Index i = 0; i < j; ++i) p(i, j) = p(j, i) = 0.5 * (p(i, j) + p(j, i));
  }
  return told(false);
}

/// Find the state with the velocity expected from the samples before it: the momentum of the
/// payload is a regressor, which noise of the measured velocity would bias.
void PayloadObserver::predict(const ExternalImpulse& impulse) noexcept {
  const Evaluation& d = *impulse.d;
  const double dt = impulse.dt;
  if (!has_velocity_) {
    has_velocity_ = true;
    velocity_ = d.v();
    acceleration_.setZero();
  }
  expected_ = velocity_ + dt * acceleration_;
  const double fade = std::exp(-std::min(kTracking * dt, kFastest));
  missed_ = d.v() - expected_;
  velocity_ = expected_ + (1.0 - fade * fade) * missed_;
  acceleration_ += (1.0 - fade) * (1.0 - fade) / dt * missed_;
  ahead_.set(d.q(), expected_);
}

/// Find the regressors of the payload's generalised momentum and of its rate, (nv,10) each.
void PayloadObserver::find_regressors() noexcept {
  const auto frame = model_.end_effector();
  const Eigen::Vector3d gravity =
      ahead_.placement(frame).rotation().transpose() * model_.pinocchio().gravity.linear();
  const auto& jacobian = ahead_.frame_jacobian(frame, pinocchio::LOCAL);
  const auto& jacobian_rate = ahead_.frame_jacobian_rate(frame, pinocchio::LOCAL);
  const Eigen::Matrix<double, 6, 1> twist = jacobian * ahead_.v();
  const Eigen::Matrix3d turning = cross(twist.tail<3>()), moving = cross(twist.head<3>());
  const Matrix610 momentum = body_momentum(twist.head<3>(), twist.tail<3>());
  Matrix610 change;
  // ad_V^T (f, m) = (f x w, m x w + f x v).
  change.topRows<3>() = -turning * momentum.topRows<3>();
  change.bottomRows<3>() = -turning * momentum.bottomRows<3>() - moving * momentum.topRows<3>();
  change.topLeftCorner<3, 1>() += gravity;
  change.block<3, 3>(3, 1) -= cross(gravity);
  momentum_.noalias() = jacobian.transpose() * momentum;
  rate_.noalias() = jacobian_rate.transpose() * momentum;
  rate_.noalias() += jacobian.transpose() * change;
}

const Payload& PayloadObserver::told(bool changed) noexcept {
  const Eigen::Index first = 2 * nv_;
  payload_.mass = mean_[first];
  payload_.moment = mean_.segment<3>(first + 1);
  payload_.covariance = kMargin * kMargin * covariance_.block<4, 4>(first, first);
  payload_.changed = changed;
  return payload_;
}

}  // namespace vms_ph
