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

#include "vms_ph_native/pseudo_inverse.hpp"

#include <algorithm>

#include <Eigen/SVD>

namespace vms_ph {

// Rows or columns of zeros make the matrix square: of others Eigen computes a QR decomposition
// first, which compiles for seconds.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& matrix) {
  const Eigen::Index size = std::max(matrix.rows(), matrix.cols());
  Eigen::MatrixXd square = Eigen::MatrixXd::Zero(size, size);
  square.topLeftCorner(matrix.rows(), matrix.cols()) = matrix;
  const Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::NoQRPreconditioner> svd(
      square, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::MatrixXd scaled = svd.matrixV().topRows(matrix.cols());
  const double least = 1e-15 * svd.singularValues()[0];
  for (Eigen::Index i = 0; i < size; ++i) {
    const double value = svd.singularValues()[i];
    scaled.col(i) *= value > least ? 1.0 / value : 0.0;
  }
  return scaled.lazyProduct(svd.matrixU().topRows(matrix.rows()).transpose());
}

}  // namespace vms_ph
