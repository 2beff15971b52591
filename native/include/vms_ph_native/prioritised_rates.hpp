// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Joint rates for tasks one after another, each in the null space of those before it.
#pragma once

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Rates u (n,) of joints with J_k u = w_k for several tasks, in the order of their priority. The
/// inverse of a Jacobian is damped below a singular value, continuously, and what a damped
/// direction leaves is free for the next task.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class PrioritisedRates {
 public:
  explicit PrioritisedRates(int joints)
      : rates(VectorV::Zero(joints)), free_(MatrixV::Identity(joints, joints)) {}

  /// Begin anew, without any task.
  void restart() noexcept {
    rates.setZero();
    free_.setIdentity();
  }

  /// Add the rates of the next task.
  ///
  /// @param jacobian  (m,n), of at most six rows.
  /// @param wanted    (m,) velocity of the task.
  /// @param least     singular value below which the inverse is damped, as a share of the largest
  ///                  entry of the Jacobian.
  /// @param bound     largest joint rate, rad/s or m/s; the step of a task is shortened to it.
  void add(const MatrixBN& jacobian, const VectorB& wanted, double least, double bound) noexcept;

  VectorV rates;          ///< u, rad/s or m/s
  double smallest = 0.0;  ///< singular value of the last task, in the null space of the others

 private:
  double share(double bound) const noexcept;

  MatrixV free_;
  VectorV step_;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxVelocities, 6> columns_, scaled_;
  MatrixB turn_;
};

}  // namespace vms_ph
