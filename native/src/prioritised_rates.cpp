// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/prioritised_rates.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/orthogonal_columns.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

// Keeps divisions by what may vanish finite.
constexpr double kLeast = 1e-30;

}  // namespace

VMS_PH_WIDE void PrioritisedRates::add(const MatrixBN& jacobian, const VectorB& wanted,
                                       double least, double bound) noexcept {
  // With the columns V S of the transposed Jacobian that are orthogonal, and its turn U.
  multiply(free_, transposed(jacobian), columns_);
  make_columns_orthogonal(columns_, turn_);
  const Eigen::Index count = columns_.cols();
  const double damped = least * jacobian.cwiseAbs().maxCoeff();
  VectorB values(count), missing = wanted;
  add_product(jacobian, rates, missing, -1.0);
  VectorB along = product<VectorB>(transposed(turn_), missing);
  scaled_ = columns_;
  for (Eigen::Index k = 0; k < count; ++k) {
    const double value = columns_.col(k).norm();
    Eigen::Index place = k;  // of the values in increasing order
    for (; place > 0 && values[place - 1] > value; --place) values[place] = values[place - 1];
    values[place] = value;
    // Damped below the bound and exact above it, continuous at it.
    const double lifted = std::max(value, damped);
    const double inverse = 1.0 / std::max(lifted * lifted, kLeast);
    along[k] *= inverse;
    scaled_.col(k) *= inverse;
  }
  multiply(columns_, along, step_);
  rates += share(bound) * step_;
  add_product(scaled_, transposed(columns_), free_, -1.0);
  // There are as many singular values as rows or columns, whatever is less.
  smallest = values[std::max<Eigen::Index>(count - jacobian.cols(), 0)];
}

/// The share of the step that keeps each of the rates within its bound.
double PrioritisedRates::share(double bound) const noexcept {
  double most = 1.0;
  for (Eigen::Index i = 0; i < rates.size(); ++i) {
    const double ahead = step_[i] < 0.0 ? -rates[i] : step_[i] > 0.0 ? rates[i] : 0.0;
    most = std::min(most, std::max(bound - ahead, 0.0) / std::max(std::abs(step_[i]), kLeast));
  }
  return most;
}

}  // namespace vms_ph
