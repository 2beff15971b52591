// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/products.hpp"

#include "vms_ph_native/lanes.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph::products {
namespace {

using Eigen::Index;

/// The sums of four neighbouring rows of `a x`, the columns of which lie in memory one by one.
VMS_PH_INLINED inline Lanes along_columns(const double* a, Index stride, Index count,
                                          const double* x, Index step) {
  Lanes sum{};
  for (Index k = 0; k < count; ++k) sum += lanes(a + k * stride) * x[k * step];
  return sum;
}

/// The sums of four neighbouring rows in any order; processors add them side by side.
VMS_PH_INLINED inline Lanes along_rows(const double* a, Index stride, Index down, Index count,
                                       const double* x, Index step) {
  double first = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
  for (Index k = 0; k < count; ++k) {
    const double factor = x[k * step];
    const double* from = a + k * stride;
    first += factor * from[0];
    second += factor * from[down];
    third += factor * from[2 * down];
    fourth += factor * from[3 * down];
  }
  return Lanes{first, second, third, fourth};
}

/// Write `by a b`, or add it to the destination.
template <bool kAdds>
VMS_PH_INLINED inline void product(const MatrixView& a, const MatrixView& b, double by, double* to,
                                   Index step) {
  assert(a.cols() == b.rows());
  const Index rows = a.rows(), count = a.cols(), down = a.row_step(), stride = a.column_step();
  for (Index j = 0; j < b.cols(); ++j) {
    const double* x = b.data() + j * b.column_step();
    double* column = to + j * step;
    Index i = 0;
    for (; i + 4 <= rows; i += 4) {
      const double* from = a.data() + i * down;
      Lanes sum = down == 1 ? along_columns(from, stride, count, x, b.row_step())
                            : along_rows(from, stride, down, count, x, b.row_step());
      sum *= by;
      if (kAdds) sum += lanes(column + i);
      store(column + i, sum);
    }
    for (; i < rows; ++i) {
      const double* from = a.data() + i * down;
      double sum = 0.0;
      for (Index k = 0; k < count; ++k) sum += from[k * stride] * x[k * b.row_step()];
      column[i] = by * sum + (kAdds ? column[i] : 0.0);
    }
  }
}

}  // namespace

VMS_PH_WIDE void add(const MatrixView& a, const MatrixView& b, double by, double* to,
                     Index step) noexcept {
  product<true>(a, b, by, to, step);
}

VMS_PH_WIDE void write(const MatrixView& a, const MatrixView& b, double* to, Index step) noexcept {
  product<false>(a, b, 1.0, to, step);
}

}  // namespace vms_ph::products
