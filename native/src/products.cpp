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

#include "vms_ph_native/products.hpp"

#include <algorithm>

#include "vms_ph_native/wide.hpp"

namespace vms_ph::products {
namespace {

using Eigen::Index;

/// Sums along columns of a: those of neighbouring numbers.
VMS_PH_INLINED inline void add_columns(const MatrixView& a, const double* b, Index step, double by,
                                       double* to) noexcept {
  const Index rows = a.rows();
  for (Index k = 0; k < a.cols(); ++k) {
    const double* from = a.data() + k * a.column_step();
    const double factor = by * b[k * step];
    for (Index i = 0; i < rows; ++i) to[i] += factor * from[i];
  }
}

/// Sums along rows of a; four at a time, which processors add side by side.
VMS_PH_INLINED inline void add_rows(const MatrixView& a, const double* b, Index step, double by,
                                    double* to) noexcept {
  const Index along = a.column_step(), down = a.row_step(), count = a.cols();
  Index i = 0;
  for (; i + 4 <= a.rows(); i += 4) {
    const double* from = a.data() + i * down;
    double sums[4] = {};
    for (Index k = 0; k < count; ++k) {
      const double factor = b[k * step];
      for (Index r = 0; r < 4; ++r) sums[r] += factor * from[k * along + r * down];
    }
    for (Index r = 0; r < 4; ++r) to[i + r] += by * sums[r];
  }
  for (; i < a.rows(); ++i) {
    const double* from = a.data() + i * down;
    double sum = 0.0;
    for (Index k = 0; k < count; ++k) sum += b[k * step] * from[k * along];
    to[i] += by * sum;
  }
}

}  // namespace

VMS_PH_WIDE void add(const MatrixView& a, const MatrixView& b, double by, double* to,
                     Index step) noexcept {
  assert(a.cols() == b.rows());
  for (Index j = 0; j < b.cols(); ++j) {
    const double* column = b.data() + j * b.column_step();
    if (a.row_step() == 1) {
      add_columns(a, column, b.row_step(), by, to + j * step);
    } else {
      add_rows(a, column, b.row_step(), by, to + j * step);
    }
  }
}

void write(const MatrixView& a, const MatrixView& b, double* to, Index step) noexcept {
  for (Index j = 0; j < b.cols(); ++j) std::fill_n(to + j * step, a.rows(), 0.0);
  add(a, b, 1.0, to, step);
}

}  // namespace vms_ph::products
