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

#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {

void decompose_symmetric(const MatrixV& matrix, SymmetricEigen& result) noexcept {
  result.compute(matrix);
}

double least_eigenvalue(const MatrixV& matrix, SymmetricEigen& workspace) noexcept {
  workspace.compute(matrix, Eigen::EigenvaluesOnly);
  return workspace.eigenvalues()[0];
}

void decompose_symmetric(const Eigen::MatrixXd& matrix,
                         Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>& result) {
  result.compute(matrix);
}

}  // namespace vms_ph
