// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pseudo_inverse.hpp"

#include <algorithm>

#include "vms_ph_native/orthogonal_columns.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {

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
