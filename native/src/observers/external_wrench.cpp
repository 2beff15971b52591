// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/external_wrench.hpp"

#include <cmath>
#include <string>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Least standard deviation of a wrench before anything is measured, N and N m.
constexpr double kLeast = 1e-6;

double checked(double bandwidth) {
  if (!(std::isfinite(bandwidth) && bandwidth > 0.0)) {
    throw ModelError("the bandwidth must be positive, in 1/s; given: " + std::to_string(bandwidth));
  }
  return bandwidth;
}

}  // namespace

MomentumObserver::MomentumObserver(const Model& model, double bandwidth)
    : bandwidth_(checked(bandwidth)),
      value_(VectorV::Zero(model.nv())),
      systematic_(value_),
      start_covariance_(MatrixV::Zero(model.nv(), model.nv())),
      effort_noise_(start_covariance_),
      end_covariance_(start_covariance_),
      covariance_(start_covariance_) {}

void MomentumObserver::restart() noexcept {
  value_.setZero();
  systematic_.setZero();
  start_covariance_.setZero();
  effort_noise_.setZero();
  end_covariance_.setZero();
  end_weight_ = 0.0;
}

void MomentumObserver::add(const ExternalImpulse& impulse) noexcept {
  const double share = 1.0 - std::exp(-bandwidth_ * impulse.dt);
  const double keep = 1.0 - share, gain = share / impulse.dt;
  if (impulse.begins) {
    start_covariance_ += end_covariance_;
    end_weight_ = 0.0;
  }
  const double start_weight = keep * end_weight_ - gain;
  value_ = keep * value_ + gain * impulse.value;
  start_covariance_ =
      keep * keep * start_covariance_ + start_weight * start_weight * *impulse.before;
  end_weight_ = gain;
  effort_noise_ = keep * keep * effort_noise_ + gain * gain * impulse.effort_noise;
  systematic_ = keep * systematic_ + gain * impulse.systematic;
  end_covariance_ = gain * gain * *impulse.after;
  covariance_ = start_covariance_ + effort_noise_ + end_covariance_;
  covariance_.diagonal() += systematic_.cwiseAbs2();
}

WrenchMap::WrenchMap(const ImpulseBalance& balance, double force, double moment, double wind_force,
                     double wind_moment)
    : balance_(balance),
      wind_(wind_force > 0.0 || wind_moment > 0.0 ? balance.model().b() : 0),
      prior_(VectorV::Zero(6 + wind_)),
      wrench_(prior_),
      force_(VectorV::Zero(balance.model().nv())),
      weight_(MatrixV::Zero(force_.size(), force_.size())),
      columns_(MatrixV::Zero(force_.size(), prior_.size())),
      weighted_(columns_),
      information_(MatrixV::Zero(prior_.size(), prior_.size())),
      covariance_(information_) {
  const int linear = wind_ > 0 ? balance.model().base_positions() : 0;
  prior_.head(3).setConstant(force);
  prior_.segment(3, 3).setConstant(moment);
  prior_.tail(wind_).setConstant(wind_moment);
  prior_.segment(6, linear).setConstant(wind_force);
  prior_ = prior_.cwiseMax(kLeast).cwiseAbs2().cwiseInverse();
}

void WrenchMap::estimate(Evaluation& d, const MomentumObserver& observed) noexcept {
  const Model& model = balance_.model();
  columns_.leftCols(6) = d.frame_jacobian(model.end_effector(), pinocchio::LOCAL).transpose();
  if (wind_ > 0) {
    columns_.rightCols(wind_).setZero();
    columns_.rightCols(wind_).topRows(wind_).setIdentity();
  }
  balance_.turn(d, columns_);
  weight_ = observed.covariance();
  // A state without any noise leaves no covariance to invert.
  weight_.diagonal().array() += 1e-12 * (1.0 + observed.covariance().trace());
  const Cholesky weight(weight_);
  weighted_ = columns_;
  wrench_.setZero();
  covariance_.setZero();
  covariance_.diagonal() = prior_.cwiseInverse();
  if (!weight.is_positive()) return;  // nothing is known
  weight.solve_columns(weighted_);
  multiply(transposed(columns_), weighted_, information_);
  information_.diagonal() += prior_;
  const Cholesky information(information_);
  if (!information.is_positive()) return;
  covariance_.setIdentity();
  information.solve_columns(covariance_);
  multiply(transposed(weighted_), observed.value(), wrench_);
  information.solve(wrench_.data());
}

}  // namespace vms_ph
