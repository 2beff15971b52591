// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Square systems, pseudo-inverses, and matrices whose columns are made orthogonal.
#pragma once

#include <cmath>
#include <limits>

#include <Eigen/Core>

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

/// Turn the columns of a matrix B (n,k) until they are orthogonal, and write the turn W (k,k). Then
/// the lengths of the columns of B W are the singular values of B, and its directions and the
/// columns of W are the singular vectors; small values keep their digits.
template <class Columns, class Turn>
VMS_PH_INLINED inline void make_columns_orthogonal(Columns& columns, Turn& turn) noexcept {
  // Each sweep squares what is left of the angles between the columns; after one that turns by less
  // than kLast, that is below rounding.
  constexpr int kSweeps = 12;
  constexpr double kLast = 1e-8;
  const Eigen::Index count = columns.cols();
  const auto apply = [](auto& matrix, Eigen::Index p, Eigen::Index q, double c, double s) {
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
      const double first = matrix(i, p), second = matrix(i, q);
      matrix(i, p) = c * first - s * second;
      matrix(i, q) = s * first + c * second;
    }
  };
  turn.setIdentity(count, count);
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kSweeps; ++sweep) {
    rotated = false;
    for (Eigen::Index p = 0; p + 1 < count; ++p) {
      for (Eigen::Index q = p + 1; q < count; ++q) {
        double a = 0.0, b = 0.0, c = 0.0;
        for (Eigen::Index i = 0; i < columns.rows(); ++i) {
          const double first = columns(i, p), second = columns(i, q);
          a += first * first;
          b += second * second;
          c += first * second;
        }
        // False for what is not finite.
        if (!(std::abs(c) > std::numeric_limits<double>::epsilon() * std::sqrt(a * b))) continue;
        // The tangent of the turn is 2 c / (b - a +- whole), written without a second division.
        const double gap = b - a, root = std::sqrt(gap * gap + 4.0 * c * c);
        if (!(root > 0.0)) continue;  // squares of squares may underflow
        const double sum = root + std::abs(gap), over = 1.0 / std::sqrt(2.0 * root * sum);
        const double cosine = over * sum, sine = over * (gap < 0.0 ? -2.0 : 2.0) * c;
        rotated = rotated || std::abs(sine) > kLast;
        apply(columns, p, q, cosine, sine);
        apply(turn, p, q, cosine, sine);
      }
    }
  }
}

/// Replace B (n,k) by the solution of A X = B, by elimination with partial pivoting, which destroys
/// A (n,n); false where a pivot is not larger than `least`. Eigen's decomposition, in blocks, takes
/// a compiler four seconds.
bool solve_square(Eigen::Ref<Eigen::MatrixXd> A, Eigen::Ref<Eigen::MatrixXd> B,
                  double least) noexcept;

/// The Moore-Penrose inverse of a matrix, with the threshold of numpy.linalg.pinv; it takes memory.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& matrix);

}  // namespace vms_ph
