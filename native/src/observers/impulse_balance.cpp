// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/impulse_balance.hpp"

#include <cmath>
#include <string>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Coulomb friction is smoothed over this speed, rad/s or m/s; as in friction.py.
constexpr double kSlip = 0.01;

NoiseModel checked(const NoiseModel& noise) {
  noise.check();
  return noise;
}

}  // namespace

void NoiseModel::check() const {
#define VMS_PH_FIELD(name, initial)                                                       \
  if (!(std::isfinite(name) && name >= 0.0)) {                                            \
    throw ModelError(#name " of a noise model must be finite and not negative; given: " + \
                     std::to_string(name));                                               \
  }
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
}

VectorV NoiseModel::stacked(const Model& model, double linear, double angular, double joints) {
  VectorV result = VectorV::Constant(model.nv(), joints);
  result.head(model.b()).setConstant(angular);
  result.head(model.base_positions()).setConstant(linear);
  return result;
}

ImpulseBalance::End::End(const Model& model)
    : d(model),
      momentum(VectorV::Zero(model.nv())),
      drift(momentum),
      friction(momentum),
      covariance(MatrixV::Zero(model.nv(), model.nv())) {}

ImpulseBalance::ImpulseBalance(const Model& model, const NoiseModel& noise, bool decoupled,
                               bool friction)
    : model_(model),
      noise_(checked(noise)),
      decoupled_(decoupled && model.b() > 0),
      velocity_variance_(
          NoiseModel::stacked(model, noise.base_linear, noise.base_angular, noise.velocity)
              .cwiseAbs2()),
      effort_variance_(
          NoiseModel::stacked(model, noise.force, noise.moment, noise.torque).cwiseAbs2()),
      ends_{End(model), End(model)},
      change_(VectorV::Zero(model.nv())),
      curvature_(change_),
      unknown_(change_),
      rate_(change_),
      inertia_(MatrixV::Zero(model.nv(), model.nv())),
      scaled_(inertia_),
      connection_(MatrixBN::Zero(model.b(), model.n())) {
  if (friction) {
    viscous_ = model.damping();
    coulomb_ = model.dry_friction();
  }
  impulse_.value = impulse_.systematic = impulse_.effort = impulse_.friction = change_;
  impulse_.effort_noise = inertia_;
}

void ImpulseBalance::restart() noexcept { has_last_ = has_curvature_ = false; }

void ImpulseBalance::turn(Evaluation& d, MatrixV& columns) const noexcept {
  if (!decoupled_) return;
  const MatrixView on_base = MatrixView(columns).top_rows(model_.b());
  add_product(transposed(d.A()), on_base, columns.bottomRows(model_.n()), -1.0);
}

const ExternalImpulse* ImpulseBalance::add(const ConstVector& q, const ConstVector& v,
                                           const ConstVector& effort, double dt) noexcept {
  const bool usable = q.size() == model_.nq() && v.size() == model_.nv() &&
                      effort.size() == model_.nv() && q.allFinite() && v.allFinite() &&
                      effort.allFinite() && is_usable_step(dt) && dt > 0.0;
  if (!usable) {
    restart();
    return nullptr;
  }
  const bool has_last = has_last_;
  now_ = 1 - now_;
  End &now = ends_[now_], &last = ends_[1 - now_];
  now.d.set(q, v);
  fill(now);
  has_last_ = true;
  if (!has_last) return nullptr;
  ExternalImpulse& result = impulse_;
  result.begins = !has_curvature_;
  curvature_ = now.drift - last.drift - change_;
  if (result.begins) curvature_.setZero();
  change_ = now.drift - last.drift;
  has_curvature_ = true;
  result.d = &now.d;
  result.dt = dt;
  result.before = &last.covariance;
  result.after = &now.covariance;
  result.effort = effort;
  result.friction = 0.5 * (last.friction + now.friction);
  unknown_ = noise_.friction_error * result.friction.cwiseAbs();
  unknown_.tail(model_.n()).array() += noise_.torque_error;
  if (noise_.model_error > 0.0) {
    rate_ = (now.d.momentum() - last.d.momentum()) / dt;
    for (End* end : {&last, &now}) {
      add_product(transposed(end->d.C()), end->d.v(), rate_, -0.5);
      rate_ += 0.5 * end->d.g();
    }
    unknown_ += noise_.model_error * rate_.cwiseAbs();
  }
  rate_ = effort;
  if (decoupled_) {
    const int b = model_.b(), n = model_.n();
    connection_ = 0.5 * (last.d.A() + now.d.A());
    add_product(transposed(connection_), rate_.head(b), rate_.tail(n), -1.0);
    const MatrixBN sizes = connection_.cwiseAbs();
    add_product(transposed(sizes), unknown_.head(b), unknown_.tail(n));
    // The frame [[1, 0], [-A^T, 1]] on both sides of the diagonal covariance.
    MatrixV& effort_noise = result.effort_noise;
    effort_noise.setZero();
    effort_noise.diagonal() = effort_variance_;
    for (int i = 0; i < b; ++i) {
      for (int k = 0; k < n; ++k) {
        effort_noise(i, b + k) = effort_noise(b + k, i) = -effort_variance_[i] * connection_(i, k);
      }
    }
    const MatrixView below = MatrixView(effort_noise).bottom_rows(n).left_columns(b);
    add_product(below, connection_, effort_noise.bottomRightCorner(n, n), -1.0);
    effort_noise *= dt * dt;
  } else {
    result.effort_noise.diagonal() = dt * dt * effort_variance_;
  }
  rate_ += 0.5 * (last.drift + now.drift);
  result.value = now.momentum - last.momentum - dt * rate_;
  result.systematic = dt * (unknown_ + curvature_.cwiseAbs() / 12.0);
  return &result;
}

/// Find momentum, drift and covariance at the state of an end.
void ImpulseBalance::fill(End& end) noexcept {
  const int b = model_.b(), n = model_.n();
  Evaluation& d = end.d;
  const MatrixV& coriolis = d.C();
  multiply(transposed(coriolis), d.v(), end.drift);
  end.drift -= d.g();
  if (viscous_.size() > 0) {
    for (int i = 0; i < n; ++i) {
      const double rate = d.v()[b + i];
      end.friction[b + i] = -(viscous_[i] * rate + coulomb_[i] * std::tanh(rate / kSlip));
    }
    end.drift += end.friction;
  }
  inertia_ = d.M();
  end.momentum = d.momentum();
  if (decoupled_) {
    const MatrixBN& connection = d.A();
    // The rate of A^T p, of which the locked velocity has the part dM/dt A.
    curvature_.head(b) = d.v().head(b);
    add_product(connection, d.v().tail(n), curvature_.head(b));
    multiply(MatrixView(coriolis).left_columns(b), curvature_.head(b), rate_);
    add_product(MatrixView(coriolis).top_rows(b).transposed(), curvature_.head(b), rate_);
    const VectorB missing = rate_.head(b) - end.drift.head(b);
    add_product(transposed(connection), missing, end.drift.tail(n));
    end.drift.tail(n) -= rate_.tail(n);
    add_product(transposed(connection), d.momentum().head(b), end.momentum.tail(n), -1.0);
    const MatrixView of_base = MatrixView(d.M()).top_rows(b);
    add_product(transposed(connection), of_base, inertia_.bottomRows(n), -1.0);
  }
  scaled_ = inertia_;
  for (int k = 0; k < model_.nv(); ++k) scaled_.col(k) *= velocity_variance_[k];
  multiply(scaled_, transposed(inertia_), end.covariance);
}

}  // namespace vms_ph
