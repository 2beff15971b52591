// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/safe_output.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/plausibility.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Largest h^2 G at which a weight is held, see vms_ph_controllers/laws/sampled_impedance.py.
constexpr double kLargestWeight = 3.0;

// Step of a difference of the weight, rad or m.
constexpr double kDifference = 1e-4;

}  // namespace

SafeOutput::SafeOutput(const Model& model, std::optional<Allocation> allocation, bool base_actuated)
    : model_(model),
      actuation_(model, std::move(allocation), base_actuated),
      d_(model),
      base_(VectorB::Zero(model.b())),
      wrench_(base_),
      braking_(VectorV::Zero(model.nv())),
      weight_(braking_),
      rest_(VectorV::Zero(model.n())),
      step_(rest_),
      torque_(rest_),
      q_ahead_(Eigen::VectorXd::Zero(model.nq())) {}

void SafeOutput::compute(const ConstVector& q, const ConstVector& v, double dt, double age,
                         const Eigen::VectorXd* further) noexcept {
  const int b = model_.b(), n = model_.n();
  const Eigen::VectorXd& effort = model_.effort();
  d_.set(q, v);
  weight_ = d_.g();
  if (further) weight_ += *further;
  braking_.setZero();
  add_product(d_.M(), v, braking_, -braking_rate(dt, age));
  base_ = actuation_.apply(weight_.head(b), weight_.head(b));
  rest_ = weight_.tail(n);
  step_ = braking_.tail(n);
  if (b > 0) {
    const VectorB beyond = base_ - weight_.head(b);
    add_product(transposed(d_.A()), beyond, rest_);
  }
  if (b > 0) {
    const VectorB desired = base_ + braking_.head(b);
    wrench_ = actuation_.apply(desired, base_);
    // What the base does not apply must not act on the shape either.
    const VectorB lacking = wrench_ - desired;
    add_product(transposed(d_.A()), lacking, step_);
  }
  clip_to_effort(model_, rest_);
  double share = 1.0;
  for (Eigen::Index i = 0; i < step_.size(); ++i) {
    const double size = std::abs(step_[i]);
    if (size <= 1e-12) continue;
    share = std::min(share, (step_[i] > 0.0 ? effort[i] - rest_[i] : effort[i] + rest_[i]) / size);
  }
  torque_ = rest_ + share * step_;
  clip_to_effort(model_, torque_);
}

bool SafeOutput::holds_weight(const ConstVector& q, double h) noexcept {
  VectorV step = VectorV::Zero(model_.nv());
  d_.set(q, step);
  const VectorV weight = d_.g();
  MatrixV system = kLargestWeight / (h * h) * d_.M();
  for (Eigen::Index i = 0; i < step.size(); ++i) {
    step.setZero();
    step[i] = kDifference;
    model_.integrate(q, step, q_ahead_);
    step.setZero();
    d_.set(q_ahead_, step);
    const VectorV half_slope = 0.5 / kDifference * (d_.g() - weight);
    system.row(i) += half_slope;
    system.col(i) += half_slope;
  }
  return Cholesky(system).is_positive();
}

}  // namespace vms_ph
