// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/sample_work.hpp"

#include <algorithm>

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

// Bound of the error for turning axes: relative to the work, and the square of the angle.
constexpr double kTurning = 0.1;

// The bracket of two twists of a base, (b,).
VectorB bracket(const VectorB& x, const VectorB& y) {
  if (x.size() == 6) return product<VectorB>(se3::ad(Twist(x)), y);
  VectorB result(3);
  result << y[2] * x[1] - x[2] * y[1], x[2] * y[0] - y[2] * x[0], 0.0;
  return result;
}

}  // namespace

SampleWork::SampleWork(const Model& model)
    : model_(model),
      q_(VectorQ::Zero(model.nq())),
      v_(VectorV::Zero(model.nv())),
      force_(v_),
      safe_(v_),
      predicted_(v_),
      way_(v_) {}

void SampleWork::hold(const Evaluation& d, const VectorV& force, const VectorV& way,
                      double store) noexcept {
  q_ = d.q();
  v_ = d.v();
  force_ = force;
  predicted_ = way;
  store_ = store;
  holds_ = true;
  missed_ = false;
}

void SampleWork::missed_updates(const VectorV& safe) noexcept {
  safe_ = safe;
  missed_ = true;
}

double SampleWork::recovered_energy(const Evaluation& d, double store, double dt) noexcept {
  if (!holds_) return 0.0;
  model_.difference(q_, d.q(), way_);
  double work = force_.dot(way_);
  if (missed_) {
    const double both = force_.dot(predicted_) + safe_.dot(way_ - predicted_);
    return std::min(store_ - store - std::max({work, safe_.dot(way_), both}), 0.0);
  }
  if (model_.b() > 0) work += turning(d, dt);
  return store_ - store - work;
}

// An upper bound of the work that turning axes add to f^T (q_next - q), J.
double SampleWork::turning(const Evaluation& d, double dt) const noexcept {
  const int b = model_.b(), linear = b == 6 ? 3 : 2, angular = b - linear;
  const VectorB force = force_.head(b), before = v_.head(b), after = d.v().head(b);
  const VectorB turn = dt * dt / 12.0 * bracket(before, after);
  const double f = force.head(linear).norm(), m = force.tail(angular).norm();
  const VectorB most = before.cwiseAbs().cwiseMax(after.cwiseAbs());
  const double way = dt * most.head(linear).norm(), angle = dt * most.tail(angular).norm();
  const double bound = f * turn.head(linear).norm() + m * turn.tail(angular).norm();
  return bound + kTurning * angle * angle * (f * way + m * angle) - force.dot(turn);
}

}  // namespace vms_ph
