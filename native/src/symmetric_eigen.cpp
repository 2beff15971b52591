// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

SymmetricEigen::SymmetricEigen(Eigen::Index size)
    : tridiagonal_(size),
      solver_(size),
      diagonal_(size),
      subdiagonal_(size > 0 ? size - 1 : 0),
      workspace_(size),
      matrix_(size, size),
      rotation_(size, size),
      vectors_(size, size) {}

bool SymmetricEigen::solve(const Eigen::Ref<const Eigen::MatrixXd>& matrix, int options) noexcept {
  matrix_ = matrix;
  tridiagonal_.compute(matrix_);
  diagonal_ = tridiagonal_.diagonal();
  subdiagonal_ = tridiagonal_.subDiagonal();
  return solver_.computeFromTridiagonal(diagonal_, subdiagonal_, options).info() == Eigen::Success;
}

bool SymmetricEigen::compute(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept {
  const bool has_converged = solve(matrix, Eigen::ComputeEigenvectors);
  tridiagonal_.matrixQ().evalTo(rotation_, workspace_);
  multiply(rotation_, solver_.eigenvectors(), vectors_);
  return has_converged;
}

double SymmetricEigen::least_eigenvalue(const Eigen::Ref<const Eigen::MatrixXd>& matrix) noexcept {
  solve(matrix, Eigen::EigenvaluesOnly);
  return values()[0];
}

}  // namespace vms_ph
