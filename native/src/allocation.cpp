// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/allocation.hpp"

#include <cmath>
#include <string>
#include <utility>

#include <Eigen/Geometry>

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {
namespace {

using Wrench = Eigen::Matrix<double, 6, 1>;

// Squares of singular values below this share of the largest one count as zero.
constexpr double kRank = 1e-9;

/// The wrench of a thrust of 1 N at the base's origin.
Wrench column(const Rotor& rotor, const std::string& name) {
  if (!rotor.axis.allFinite()) throw ModelError("axis of " + name + " must be finite");
  if (!rotor.position.allFinite()) throw ModelError("position of " + name + " must be finite");
  const double length = rotor.axis.norm();
  if (length == 0.0) throw ModelError("the axis of " + name + " has length zero");
  if (!std::isfinite(rotor.drag_ratio)) {
    throw ModelError("drag_ratio of " + name +
                     " must be finite; given: " + std::to_string(rotor.drag_ratio));
  }
  const Eigen::Vector3d axis = rotor.axis / length;
  Wrench wrench;
  wrench << axis, rotor.position.cross(axis) + rotor.drag_ratio * axis;
  return wrench;
}

void check_limits(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper) {
  for (Eigen::Index i = 0; i < lower.size(); ++i) {
    if (!(lower[i] <= upper[i])) {
      throw ModelError("the limits of rotor " + std::to_string(i) +
                       " must be lower <= upper; given: " + std::to_string(lower[i]) + ", " +
                       std::to_string(upper[i]));
    }
  }
}

}  // namespace

Allocation::Allocation(const std::vector<Rotor>& rotors, Base base) {
  if (rotors.empty()) throw ModelError("an allocation needs at least one rotor or thruster");
  if (base == Base::fixed) {
    throw ModelError("actuators act on a floating or planar base; given: a fixed one");
  }
  const auto m = static_cast<Eigen::Index>(rotors.size());
  matrix_.resize(base == Base::floating ? 6 : 3, m);
  lower_.resize(m);
  upper_.resize(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const Rotor& rotor = rotors[static_cast<std::size_t>(i)];
    const Wrench wrench = column(rotor, "rotor " + std::to_string(i));
    if (base == Base::floating) {
      matrix_.col(i) = wrench;
    } else {
      matrix_.col(i) << wrench[0], wrench[1], wrench[5];
    }
    lower_[i] = rotor.lower;
    upper_[i] = rotor.upper;
  }
  check_limits(lower_, upper_);
}

Allocation::Allocation(Eigen::MatrixXd matrix, Eigen::VectorXd lower, Eigen::VectorXd upper)
    : matrix_(std::move(matrix)), lower_(std::move(lower)), upper_(std::move(upper)) {
  const auto m = matrix_.cols();
  if ((matrix_.rows() != 3 && matrix_.rows() != 6) || m == 0 || lower_.size() != m ||
      upper_.size() != m) {
    throw ModelError(
        "an allocation is a (6,m) or (3,m) matrix with m lower and m upper limits; "
        "given: (" +
        std::to_string(matrix_.rows()) + "," + std::to_string(m) + ") with " +
        std::to_string(lower_.size()) + " and " + std::to_string(upper_.size()));
  }
  if (!matrix_.allFinite()) throw ModelError("the matrix of an allocation must be finite");
  check_limits(lower_, upper_);
}

bool Allocation::is_fully_actuated() const {
  SymmetricEigen squares;
  squares.compute(product<Eigen::MatrixXd>(matrix_, transposed(matrix_)));
  const Eigen::VectorXd& sizes = squares.values();
  return sizes[0] > kRank * sizes[sizes.size() - 1];
}

}  // namespace vms_ph
