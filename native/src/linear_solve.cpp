// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/linear_solve.hpp"

#include <cmath>
#include <utility>

#include "vms_ph_native/products.hpp"

namespace vms_ph {

using Eigen::Index;

bool solve_square(Eigen::Ref<Eigen::MatrixXd> A, Eigen::Ref<Eigen::MatrixXd> B,
                  double least) noexcept {
  const Index n = A.rows(), columns = B.cols();
  for (Index k = 0; k < n; ++k) {
    Index pivot = k;
    for (Index i = k + 1; i < n; ++i) {
      if (std::abs(A(i, k)) > std::abs(A(pivot, k))) pivot = i;
    }
    if (!(std::abs(A(pivot, k)) > least)) return false;
    for (Index c = k; c < n; ++c) std::swap(A(k, c), A(pivot, c));
    for (Index c = 0; c < columns; ++c) std::swap(B(k, c), B(pivot, c));
    const double over = 1.0 / A(k, k);
    for (Index i = k + 1; i < n; ++i) A(i, k) *= over;
    for (Index c = k + 1; c < n; ++c) {
      for (Index i = k + 1; i < n; ++i) A(i, c) -= A(i, k) * A(k, c);
    }
    for (Index c = 0; c < columns; ++c) {
      for (Index i = k + 1; i < n; ++i) B(i, c) -= A(i, k) * B(k, c);
    }
  }
  for (Index c = 0; c < columns; ++c) {
    for (Index k = n; k-- > 0;) {
      B(k, c) /= A(k, k);
      for (Index i = 0; i < k; ++i) B(i, c) -= A(i, k) * B(k, c);
    }
  }
  return true;
}

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& matrix) {
  const bool is_wide = matrix.cols() > matrix.rows();
  Eigen::MatrixXd columns = is_wide ? matrix.transpose() : matrix, turn;
  make_columns_orthogonal(columns, turn);
  // With the decomposition U S V^T of the taller one, these are U S and V.
  Eigen::VectorXd squares(columns.cols());
  for (Eigen::Index i = 0; i < squares.size(); ++i) squares[i] = columns.col(i).squaredNorm();
  const double least = 1e-30 * squares.maxCoeff();
  for (Eigen::Index i = 0; i < squares.size(); ++i) {
    turn.col(i) *= squares[i] > least ? 1.0 / squares[i] : 0.0;
  }
  return is_wide ? product<Eigen::MatrixXd>(columns, transposed(turn))
                 : product<Eigen::MatrixXd>(turn, transposed(columns));
}

}  // namespace vms_ph
