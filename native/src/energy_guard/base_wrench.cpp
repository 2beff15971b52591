// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/base_wrench.hpp"

#include <string>
#include <utility>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Relative difference up to which a wrench is one that the actuators give: rounding of allocations.
constexpr double kGiven = 1e-9;

}  // namespace

BaseWrench::BaseWrench(const Model& model, std::optional<Allocation> allocation, bool actuated,
                       const Eigen::VectorXd& weights)
    : is_ideal_(model.b() == 0 || (actuated && !allocation)), allocation_(std::move(allocation)) {
  if (!allocation_) return;
  const Eigen::MatrixXd& matrix = allocation_->matrix();
  if (matrix.rows() != model.b()) {
    throw ModelError("the allocation makes wrenches of " + std::to_string(matrix.rows()) +
                     " components; the base of '" + model.name() + "' has " +
                     std::to_string(model.b()));
  }
  if (weights.size() > 0 && !(weights.array() > 0.0).all()) {
    throw ModelError("the weights of a wrench must be above zero");
  }
  if (!actuated) return;
  nearest_.emplace(*allocation_, weights);
  search_.emplace(matrix);
  scaled_ = matrix;
  inputs_ = Eigen::VectorXd::Zero(matrix.cols());
}

bool BaseWrench::deliver(VectorB& wrench) noexcept {
  if (is_ideal_) return false;
  if (!nearest_) {
    const bool is_other = (wrench.array() != 0.0).any();
    wrench.setZero();
    return is_other;
  }
  const VectorB& given = nearest_->apply(wrench, wrench);
  const double missing = (wrench - given).cwiseAbs().maxCoeff();
  if (missing <= kGiven * (1.0 + wrench.cwiseAbs().maxCoeff())) return false;
  wrench = given;
  return true;
}

void BaseWrench::brake(VectorB& wrench, const Eigen::Ref<const Eigen::MatrixXd>& M_b) noexcept {
  if (!nearest_) {
    deliver(wrench);
    return;
  }
  root_.compute(M_b);
  scaled_ = allocation_->matrix();
  for (Eigen::Index i = 0; i < scaled_.cols(); ++i) root_.solve_root(&scaled_.coeffRef(0, i));
  root_.solve_root(wrench.data());
  search_->replace(scaled_);
  search_->solve(wrench, allocation_->lower(), allocation_->upper(), inputs_);
  multiply(allocation_->matrix(), inputs_, wrench);
}

}  // namespace vms_ph
