// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/impulse_balance.hpp"

#include <cmath>
#include <string>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// Least standard deviation of a wrench before anything is measured, N and N m.
constexpr double kMinWrenchDeviation = 1e-6;

double checked_bandwidth(double bandwidth) {
  if (!(std::isfinite(bandwidth) && bandwidth > 0.0)) {
    throw ModelError("the bandwidth must be positive, in 1/s; given: " + std::to_string(bandwidth));
  }
  return bandwidth;
}

}  // namespace

const NoiseModel& NoiseModel::check() const {
#define VMS_PH_FIELD(name, initial)                                                       \
  if (!(std::isfinite(name) && name >= 0.0)) {                                            \
    throw ModelError(#name " of a noise model must be finite and not negative; given: " + \
                     std::to_string(name));                                               \
  }
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return *this;
}

VectorV NoiseModel::stack(const Model& model, double linear_deviation, double angular_deviation,
                          double joint_deviation) {
  VectorV deviations = VectorV::Constant(model.nv(), joint_deviation);
  deviations.head(model.b()).setConstant(angular_deviation);
  deviations.head(model.base_linear_size()).setConstant(linear_deviation);
  return deviations;
}

ImpulseBalance::StateTerms::StateTerms(const Model& model)
    : d(model), covariance(MatrixV::Zero(model.nv(), model.nv())) {
  momentum = momentum_rate = friction = VectorV::Zero(model.nv());
}

ImpulseBalance::ImpulseBalance(const Model& model, const NoiseModel& noise, bool is_decoupled,
                               bool has_friction)
    : model_(model),
      noise_(noise.check()),
      is_decoupled_(is_decoupled && model.b() > 0),
      velocity_variance_(noise.velocities(model).cwiseAbs2()),
      effort_variance_(noise.efforts(model).cwiseAbs2()),
      terms_{StateTerms(model), StateTerms(model)},
      connection_(MatrixBN::Zero(model.b(), model.n())) {
  rate_change_ = second_difference_ = slow_error_ = VectorV::Zero(model.nv());
  inertia_ = scaled_inertia_ = MatrixV::Zero(model.nv(), model.nv());
  if (has_friction) {
    damping_ = model.damping();
    dry_friction_ = model.dry_friction();
  }
  impulse_.vector = impulse_.slow_error = impulse_.effort = impulse_.friction = rate_change_;
  impulse_.effort_noise = inertia_;
}

void ImpulseBalance::decouple(Evaluation& d, MatrixV& columns) const noexcept {
  if (!is_decoupled_) return;
  const MatrixView base_rows = MatrixView(columns).top_rows(model_.b());
  add_product(transposed(d.A()), base_rows, columns.bottomRows(model_.n()), -1.0);
}

const ExternalImpulse* ImpulseBalance::add(const ConstVector& q, const ConstVector& v,
                                           const ConstVector& effort, double dt) noexcept {
  const bool is_valid = q.size() == model_.nq() && v.size() == model_.nv() &&
                        effort.size() == model_.nv() && q.allFinite() && v.allFinite() &&
                        effort.allFinite() && is_usable_step(dt) && dt > 0.0;
  if (!is_valid) {
    restart();
    return nullptr;
  }
  const bool had_last_state = has_last_state_;
  latest_index_ = 1 - latest_index_;
  StateTerms &end_terms = terms_[latest_index_], &start_terms = terms_[1 - latest_index_];
  end_terms.d.set(q, v);
  compute_terms(end_terms);
  has_last_state_ = true;
  if (!had_last_state) return nullptr;
  ExternalImpulse& impulse = impulse_;
  impulse.is_first = !has_rate_change_;
  second_difference_ = end_terms.momentum_rate - start_terms.momentum_rate - rate_change_;
  if (impulse.is_first) second_difference_.setZero();
  rate_change_ = end_terms.momentum_rate - start_terms.momentum_rate;
  has_rate_change_ = true;
  impulse.d = &end_terms.d;
  impulse.dt = dt;
  impulse.start_covariance = &start_terms.covariance;
  impulse.end_covariance = &end_terms.covariance;
  impulse.effort = effort;
  impulse.friction = 0.5 * (start_terms.friction + end_terms.friction);
  slow_error_ = noise_.friction_error * impulse.friction.cwiseAbs();
  slow_error_.tail(model_.n()).array() += noise_.torque_error;
  if (noise_.model_error > 0.0) {
    VectorV model_force = (end_terms.d.momentum() - start_terms.d.momentum()) / dt;
    for (StateTerms* terms : {&start_terms, &end_terms}) {
      add_product(transposed(terms->d.C()), terms->d.v(), model_force, -0.5);
      model_force += 0.5 * terms->d.g();
    }
    slow_error_ += noise_.model_error * model_force.cwiseAbs();
  }
  VectorV known_force = effort;
  if (is_decoupled_) {
    const int b = model_.b(), n = model_.n();
    connection_ = 0.5 * (start_terms.d.A() + end_terms.d.A());
    add_product(transposed(connection_), known_force.head(b), known_force.tail(n), -1.0);
    const MatrixBN abs_connection = connection_.cwiseAbs();
    add_product(transposed(abs_connection), slow_error_.head(b), slow_error_.tail(n));
    // The frame [[1, 0], [-A^T, 1]] on both sides of the diagonal covariance.
    MatrixV& effort_noise = impulse.effort_noise;
    effort_noise.setZero();
    effort_noise.diagonal() = effort_variance_;
    for (int i = 0; i < b; ++i) {
      for (int k = 0; k < n; ++k) {
        effort_noise(i, b + k) = effort_noise(b + k, i) = -effort_variance_[i] * connection_(i, k);
      }
    }
    const MatrixView lower_left_block = MatrixView(effort_noise).bottom_rows(n).left_columns(b);
    add_product(lower_left_block, connection_, effort_noise.bottomRightCorner(n, n), -1.0);
    effort_noise *= dt * dt;
  } else {
    impulse.effort_noise.diagonal() = dt * dt * effort_variance_;
  }
  known_force += 0.5 * (start_terms.momentum_rate + end_terms.momentum_rate);
  impulse.vector = end_terms.momentum - start_terms.momentum - dt * known_force;
  impulse.slow_error = dt * (slow_error_ + second_difference_.cwiseAbs() / 12.0);
  return &impulse;
}

/// Find momentum, its rate and covariance at the state of an end.
void ImpulseBalance::compute_terms(StateTerms& terms) noexcept {
  const int b = model_.b(), n = model_.n();
  Evaluation& d = terms.d;
  const MatrixV& coriolis = d.C();
  multiply(transposed(coriolis), d.v(), terms.momentum_rate);
  terms.momentum_rate -= d.g();
  if (damping_.size() > 0) {
    for (int i = 0; i < n; ++i) {
      const double rate = d.v()[b + i];
      terms.friction[b + i] = -(damping_[i] * rate + dry_friction_[i] * std::tanh(rate / kSlip));
    }
    terms.momentum_rate += terms.friction;
  }
  inertia_ = d.M();
  terms.momentum = d.momentum();
  if (is_decoupled_) {
    const MatrixBN& connection = d.A();
    // The rate of A^T p, of which the locked velocity has the part dM/dt A.
    VectorB locked_velocity = d.v().head(b);
    add_product(connection, d.v().tail(n), locked_velocity);
    auto locked_coriolis = product<VectorV>(MatrixView(coriolis).left_columns(b), locked_velocity);
    add_product(MatrixView(coriolis).top_rows(b).transposed(), locked_velocity, locked_coriolis);
    const VectorB base_rate_difference = locked_coriolis.head(b) - terms.momentum_rate.head(b);
    add_product(transposed(connection), base_rate_difference, terms.momentum_rate.tail(n));
    terms.momentum_rate.tail(n) -= locked_coriolis.tail(n);
    add_product(transposed(connection), d.momentum().head(b), terms.momentum.tail(n), -1.0);
    const MatrixView M_base_rows = MatrixView(d.M()).top_rows(b);
    add_product(transposed(connection), M_base_rows, inertia_.bottomRows(n), -1.0);
  }
  scaled_inertia_ = inertia_;
  for (int k = 0; k < model_.nv(); ++k) scaled_inertia_.col(k) *= velocity_variance_[k];
  multiply(scaled_inertia_, transposed(inertia_), terms.covariance);
}

MomentumObserver::MomentumObserver(const Model& model, double bandwidth)
    : bandwidth_(checked_bandwidth(bandwidth)) {
  force_ = slow_error_ = VectorV::Zero(model.nv());
  start_covariance_ = effort_noise_ = MatrixV::Zero(model.nv(), model.nv());
  end_covariance_ = covariance_ = start_covariance_;
}

void MomentumObserver::restart() noexcept {
  force_.setZero();
  slow_error_.setZero();
  start_covariance_.setZero();
  effort_noise_.setZero();
  end_covariance_.setZero();
  end_weight_ = 0.0;
}

void MomentumObserver::add(const ExternalImpulse& impulse) noexcept {
  const double new_share = 1.0 - std::exp(-bandwidth_ * impulse.dt);
  const double old_share = 1.0 - new_share, gain = new_share / impulse.dt;
  if (impulse.is_first) {
    start_covariance_ += end_covariance_;
    end_weight_ = 0.0;
  }
  const double start_weight = old_share * end_weight_ - gain;
  force_ = old_share * force_ + gain * impulse.vector;
  start_covariance_ = old_share * old_share * start_covariance_ +
                      start_weight * start_weight * *impulse.start_covariance;
  end_weight_ = gain;
  effort_noise_ = old_share * old_share * effort_noise_ + gain * gain * impulse.effort_noise;
  slow_error_ = old_share * slow_error_ + gain * impulse.slow_error;
  end_covariance_ = gain * gain * *impulse.end_covariance;
  covariance_ = start_covariance_ + effort_noise_ + end_covariance_;
  covariance_.diagonal() += slow_error_.cwiseAbs2();
}

WrenchMap::WrenchMap(const ImpulseBalance& balance, double force_deviation, double moment_deviation,
                     double wind_force_deviation, double wind_moment_deviation)
    : balance_(balance),
      wind_size_(wind_force_deviation > 0.0 || wind_moment_deviation > 0.0 ? balance.model().b()
                                                                           : 0),
      prior_information_(VectorV::Zero(6 + wind_size_)),
      wrench_(prior_information_),
      noise_covariance_(MatrixV::Zero(balance.model().nv(), balance.model().nv())),
      wrench_map_(MatrixV::Zero(balance.model().nv(), prior_information_.size())),
      weighted_map_(wrench_map_),
      information_(MatrixV::Zero(prior_information_.size(), prior_information_.size())),
      covariance_(information_) {
  const int linear_size = wind_size_ > 0 ? balance.model().base_linear_size() : 0;
  VectorV prior_deviations = prior_information_;
  prior_deviations.head(3).setConstant(force_deviation);
  prior_deviations.segment(3, 3).setConstant(moment_deviation);
  prior_deviations.tail(wind_size_).setConstant(wind_moment_deviation);
  prior_deviations.segment(6, linear_size).setConstant(wind_force_deviation);
  prior_information_ = prior_deviations.cwiseMax(kMinWrenchDeviation).cwiseAbs2().cwiseInverse();
}

void WrenchMap::estimate(Evaluation& d, const MomentumObserver& observer) noexcept {
  const Model& model = balance_.model();
  wrench_map_.leftCols(6) = d.frame_jacobian(model.end_effector(), pinocchio::LOCAL).transpose();
  if (wind_size_ > 0) {
    wrench_map_.rightCols(wind_size_).setZero();
    wrench_map_.rightCols(wind_size_).topRows(wind_size_).setIdentity();
  }
  balance_.decouple(d, wrench_map_);
  noise_covariance_ = observer.covariance();
  // A state without any noise leaves no covariance to invert.
  noise_covariance_.diagonal().array() += 1e-12 * (1.0 + observer.covariance().trace());
  const Cholesky noise_factors(noise_covariance_);
  weighted_map_ = wrench_map_;
  wrench_.setZero();
  covariance_.setZero();
  covariance_.diagonal() = prior_information_.cwiseInverse();
  if (!noise_factors.is_positive()) return;  // nothing is known
  noise_factors.solve_columns(weighted_map_);
  multiply(transposed(wrench_map_), weighted_map_, information_);
  information_.diagonal() += prior_information_;
  const Cholesky factors(information_);
  if (!factors.is_positive()) return;
  covariance_.setIdentity();
  factors.solve_columns(covariance_);
  multiply(transposed(weighted_map_), observer.force(), wrench_);
  factors.solve(wrench_.data());
}

}  // namespace vms_ph
