// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/base_actuation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/pseudo_inverse.hpp"

namespace vms_ph {
namespace {

// Rounding of inputs, relative to the largest: that of an inverse of the map.
constexpr double kRounding = 1e-9;

const char* name_of(Base base) {
  if (base == Base::fixed) return "fixed";
  return base == Base::planar ? "planar" : "floating";
}

}  // namespace

BaseActuation::BaseActuation(const Model& model, std::optional<Allocation> allocation,
                             bool actuated)
    : actuated_(actuated && model.b() > 0),
      allocation_(std::move(allocation)),
      wrench_(VectorB::Zero(model.b())),
      missing_(wrench_) {
  if (!allocation_) return;
  const Eigen::MatrixXd& matrix = allocation_->matrix();
  if (matrix.rows() != model.b()) {
    throw ModelError("the allocation makes wrenches of " + std::to_string(matrix.rows()) +
                     " components; the " + name_of(model.base()) + " base of '" + model.name() +
                     "' has " + std::to_string(model.b()));
  }
  // An input without room between its limits, such as a failed one, takes no part.
  Eigen::MatrixXd free = matrix;
  held_ = Eigen::VectorXd::Zero(matrix.cols());
  for (Eigen::Index i = 0; i < free.cols(); ++i) {
    if (allocation_->lower()[i] < allocation_->upper()[i]) continue;
    held_[i] = allocation_->lower()[i];
    free.col(i).setZero();
  }
  inverse_ = pseudo_inverse(free);
  for (Eigen::Index i = 0; i < free.cols(); ++i) {
    if (!(allocation_->lower()[i] < allocation_->upper()[i])) inverse_.row(i).setZero();
  }
  multiply(matrix, held_, offset_);
  multiply(matrix, inverse_, reach_);
  thrusts_ = least_ = step_ = Eigen::VectorXd::Zero(matrix.cols());
}

const VectorB& BaseActuation::apply(const ConstVector& wanted,
                                    const ConstVector& resting) noexcept {
  reason_.clear();
  if (!actuated_) return wrench_;
  if (!allocation_) {
    wrench_ = wanted;
    return wrench_;
  }
  missing_ = resting - offset_;
  least_ = held_;
  add_product(inverse_, missing_, least_);
  wrench_ = wanted - offset_;
  thrusts_ = held_;
  add_product(inverse_, wrench_, thrusts_);
  step_ = thrusts_ - least_;
  multiply(reach_, wrench_, missing_);
  missing_ -= wrench_;
  if (is_outside()) {
    clip_thrusts();
    reason_.set("the base cannot hold the robot against gravity");
  } else if (const double share = share_within_limits(); share < 1.0) {
    thrusts_ = least_ + share * step_;
    clip_thrusts();
    reason_.set("base wrench at its limit: %.0f%% of the desired wrench beyond gravity",
                100.0 * share);
  } else if (missing_.cwiseAbs().maxCoeff() > 1e-9) {
    reason_.set("the base has no actuator for a part of the wrench");
  }
  multiply(allocation_->matrix(), thrusts_, wrench_);
  return wrench_;
}

/// Whether the least thrusts exceed the limits; at one they do not by rounding.
bool BaseActuation::is_outside() const noexcept {
  const double near = kRounding * least_.cwiseAbs().maxCoeff();
  for (Eigen::Index i = 0; i < least_.size(); ++i) {
    if (least_[i] < allocation_->lower()[i] - near) return true;
    if (least_[i] > allocation_->upper()[i] + near) return true;
  }
  return false;
}

void BaseActuation::clip_thrusts() noexcept {
  for (Eigen::Index i = 0; i < thrusts_.size(); ++i) {
    thrusts_[i] = std::min(std::max(thrusts_[i], allocation_->lower()[i]), allocation_->upper()[i]);
  }
}

/// The share, at most 1, of the step from the least thrusts that stays within the limits.
double BaseActuation::share_within_limits() const noexcept {
  double share = 1.0;
  for (Eigen::Index i = 0; i < step_.size(); ++i) {
    const double size = std::abs(step_[i]);
    if (size <= 1e-12) continue;
    const double room =
        step_[i] > 0.0 ? allocation_->upper()[i] - least_[i] : least_[i] - allocation_->lower()[i];
    share = std::min(share, std::max(0.0, room) / size);
  }
  return share;
}

}  // namespace vms_ph
