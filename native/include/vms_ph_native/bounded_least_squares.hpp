// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Linear least squares within bounds, of a size that a base's actuators have.
#pragma once

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The x (m,) within bounds that minimises |A x - b|^2, of several the smallest: the active-set
/// method of vms_ph_dynamics/actuation/allocation.py.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class BoundedLeastSquares {
 public:
  /// @param A  (k,m), at most 6 by kMaxVelocities.
  explicit BoundedLeastSquares(const Eigen::MatrixXd& A);

  /// Take another matrix of the same size.
  ///
  /// @param share  of the trace of A^T A, by which the square of x is added to what is minimised.
  void replace(const Eigen::MatrixXd& A, double share = 0.0) noexcept;

  /// Write the solution to x (m,).
  ///
  /// @param b             (k,) right-hand side.
  /// @param lower, upper  (m,) bounds; may be infinite.
  void solve(const VectorB& b, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
             Eigen::VectorXd& x) noexcept;

 private:
  bool step_to_bound(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                     Eigen::VectorXd& x) noexcept;
  void search(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
              Eigen::VectorXd& x) noexcept;

  Eigen::MatrixXd At_, H_;
  double regularisation_ = 0.0;  // to the diagonal of H
  VectorV linear_term_, g_, step_, gradient_;
  MatrixV free_hessian_;
  int active_bounds_[kMaxVelocities];  // the bound that an entry is at: -1, 0 for none, 1
  Eigen::Index free_indices_[kMaxVelocities];
};

}  // namespace vms_ph
