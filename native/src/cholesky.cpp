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

#include "vms_ph_native/cholesky.hpp"

#include <algorithm>

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

VMS_PH_WIDE bool Cholesky::factorise(const MatrixV& matrix) noexcept {
  const Eigen::Index rows = symmetric::padded(size_);
  for (Eigen::Index j = 0; j < size_; ++j) {
    double* column = factor_ + j * kMaxVelocities;
    const double* given = matrix.data() + j * size_;
    std::fill(column + symmetric::first(j), column + j, 0.0);
    for (Eigen::Index i = j; i < size_; ++i) column[i] = given[i];
    std::fill(column + size_, column + rows, 0.0);
  }
  return symmetric::factorise(factor_, over_, size_, kMaxVelocities);
}

VMS_PH_WIDE void Cholesky::solve(double* x) const noexcept {
  double padded[kMaxVelocities];
  const Eigen::Index rows = symmetric::padded(size_);
  std::copy(x, x + size_, padded);
  std::fill(padded + size_, padded + rows, 0.0);
  symmetric::solve(factor_, over_, size_, kMaxVelocities, padded);
  std::copy(padded, padded + size_, x);
}

}  // namespace vms_ph
