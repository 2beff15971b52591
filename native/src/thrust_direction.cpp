// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/thrust_direction.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Geometry>

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Least share of the weight that a wanted force carries, so that its direction is defined.
constexpr double kLeastLift = 0.3;

// Most that a wanted force lifts, in weights.
constexpr double kMostLift = 3.0;

// Singular values below this share of the largest count as zero.
constexpr double kRank = 1e-6;

/// Of A A^T: the squares of the singular values, in increasing order, and the left vectors.
SymmetricEigen squares(const Eigen::MatrixXd& A) {
  SymmetricEigen found;
  found.compute(product<Eigen::MatrixXd>(A, transposed(A)));
  return found;
}

}  // namespace

SingleAxis single_axis(const Allocation& allocation, const std::string& name) {
  const Eigen::MatrixXd forces = allocation.matrix().topRows(3);
  const SymmetricEigen along = squares(forces);
  const Eigen::VectorXd& sizes = along.values();
  if (!(sizes[2] > 0.0) || std::max(sizes[1], 0.0) > kRank * kRank * sizes[2]) {
    throw ModelError("the rotors of '" + name +
                     "' push along several axes or none; UnderactuatedFlight is for one axis, "
                     "DecoupledVMSController for all");
  }
  Vector3d axis = along.vectors().col(2);
  Eigen::VectorXd shares = product<Eigen::VectorXd>(transposed(forces), axis);
  if (shares.sum() < 0.0) {
    axis = -axis;
    shares = -shares;
  }
  const Eigen::VectorXd levers = squares(allocation.matrix()).values();
  if (levers.size() < 4 || !(levers[2] > kRank * kRank * levers[5])) {
    throw ModelError("the rotors of '" + name + "' cannot turn it about all axes");
  }
  const Eigen::VectorXd low = shares.cwiseProduct(allocation.lower());
  const Eigen::VectorXd high = shares.cwiseProduct(allocation.upper());
  return {axis, low.cwiseMin(high).sum(), low.cwiseMax(high).sum()};
}

ThrustDirection::ThrustDirection(const Vector3d& axis) {
  const Vector3d ahead = std::abs(axis.x()) > 0.9 ? Vector3d::UnitY() : Vector3d::UnitX();
  const Vector3d nose = (ahead - axis * axis.dot(ahead)).normalized();
  own_ << nose, axis.cross(nose), axis;
}

Matrix3d ThrustDirection::attitude(const Vector3d& force, const Matrix3d& heading) const noexcept {
  const Vector3d along = force / force.norm();
  Vector3d nose = heading * own_.col(0);
  Vector3d flat = nose - along * along.dot(nose);
  if (flat.squaredNorm() < 1e-6) {
    nose = (heading * own_.col(1)).cross(along);
    flat = nose - along * along.dot(nose);
  }
  flat /= flat.norm();
  Matrix3d wanted;
  wanted << flat, along.cross(flat), along;
  return wanted * own_.transpose();
}

Vector3d ThrustDirection::within(const Vector3d& force, const Vector3d& up, double weight,
                                 double tilt) noexcept {
  const double along = force.dot(up);
  const double lift = std::min(std::max(along, kLeastLift * weight), kMostLift * weight);
  const Vector3d across = force - up * along;
  const double size = across.norm();
  const double most = std::cos(tilt) > 0.0 ? lift * std::tan(tilt) : size;
  return lift * up + across * std::min(1.0, most / std::max(size, 1e-12));
}

}  // namespace vms_ph
