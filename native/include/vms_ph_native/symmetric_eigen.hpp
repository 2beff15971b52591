// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The eigenvalue decomposition of symmetric matrices.
#pragma once

#include <Eigen/Eigenvalues>

namespace vms_ph {

/// Eigenvalues, in increasing order, and eigenvectors of symmetric matrices. Compilers take seconds
/// for every type of Eigen's solver: this one serves all sizes.
class SymmetricEigen {
 public:
  /// @param size  of the matrices; one of another size takes memory.
  explicit SymmetricEigen(Eigen::Index size = 0);

  /// Decompose a matrix, of which the lower triangle is read; false for one that is not finite.
  bool compute(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept;

  /// Return the least eigenvalue of a matrix; eigenvectors are not computed.
  double least(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept;

  const Eigen::VectorXd& values() const noexcept { return solver_.eigenvalues(); }
  const Eigen::MatrixXd& vectors() const noexcept { return vectors_; }

 private:
  bool solve(const Eigen::Ref<const Eigen::MatrixXd>& matrix, int options) noexcept;

  // SelfAdjointEigenSolver alone takes memory for the vectors in every call.
  Eigen::Tridiagonalization<Eigen::MatrixXd> tridiagonal_;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver_;
  Eigen::VectorXd diagonal_, below_, workspace_;
  Eigen::MatrixXd matrix_, turn_, vectors_;
};

}  // namespace vms_ph
