// The eigenvalue decomposition of symmetric matrices.
#pragma once

#include <Eigen/Eigenvalues>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

using SymmetricEigen = Eigen::SelfAdjointEigenSolver<MatrixV>;

/// Compute eigenvalues, in increasing order, and eigenvectors of a symmetric matrix (nv,nv). It is
/// a function by itself because compilers take seconds for every use of Eigen's solver.
void decompose_symmetric(const MatrixV& matrix, SymmetricEigen& result) noexcept;

}  // namespace vms_ph
