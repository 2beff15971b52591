// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// The eigenvalue decomposition of symmetric matrices.
#pragma once

#include <Eigen/Eigenvalues>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

using SymmetricEigen = Eigen::SelfAdjointEigenSolver<MatrixV>;

/// Compute eigenvalues, in increasing order, and eigenvectors of a symmetric matrix (nv,nv). It is
/// a function by itself because compilers take seconds for every use of Eigen's solver.
void decompose_symmetric(const MatrixV& matrix, SymmetricEigen& result) noexcept;

/// Return the least eigenvalue; no eigenvectors are computed.
double least_eigenvalue(const MatrixV& matrix, SymmetricEigen& workspace) noexcept;

/// Eigenvalues and eigenvectors of a matrix of any size; it takes memory.
void decompose_symmetric(const Eigen::MatrixXd& matrix,
                         Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>& result);

}  // namespace vms_ph
