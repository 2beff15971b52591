// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Products of views against those that Eigen writes, for all orders of the operands.
#include "vms_ph_native/linear_algebra.hpp"

#include "core_test.hpp"
#include "vms_ph_native/sizes.hpp"

namespace products {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using vms_ph::add_product;
using vms_ph::MatrixView;
using vms_ph::multiply;
using vms_ph::product;
using vms_ph::transposed;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

bool is_close(const MatrixXd& a, const MatrixXd& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  return a.size() == 0 || (a - b).cwiseAbs().maxCoeff() <= 1e-14 * (1.0 + b.cwiseAbs().maxCoeff());
}

/// The same numbers in memory in other ways.
void check_layouts(const MatrixXd& a, const MatrixXd& b) {
  const MatrixXd expected = a * b;
  const MatrixXd a_transposed = a.transpose(), b_transposed = b.transpose();
  const RowMajor a_rows = a, b_rows = b;
  MatrixXd a_larger = MatrixXd::Random(a.rows() + 5, a.cols() + 3);
  a_larger.block(2, 1, a.rows(), a.cols()) = a;
  const auto a_block = a_larger.block(2, 1, a.rows(), a.cols());
  const Eigen::Ref<const MatrixXd> b_reference = b;
  const MatrixView lefts[] = {a, transposed(a_transposed), a_rows, a_block};
  const MatrixView rights[] = {b, transposed(b_transposed), b_rows, b_reference};
  for (const MatrixView& left : lefts) {
    for (const MatrixView& right : rights) {
      CHECK(is_close(product<MatrixXd>(left, right), expected));
      vms_ph::MatrixV within_bounds = vms_ph::MatrixV::Ones(2, 3);
      multiply(left, right, within_bounds);
      CHECK(is_close(within_bounds, expected));
      MatrixXd larger_matrix = MatrixXd::Ones(a.rows() + 2, b.cols() + 1);
      add_product(left, right, larger_matrix.bottomRightCorner(a.rows(), b.cols()), -0.5);
      MatrixXd expected_sum = MatrixXd::Ones(a.rows() + 2, b.cols() + 1);
      expected_sum.bottomRightCorner(a.rows(), b.cols()) -= 0.5 * expected;
      CHECK(is_close(larger_matrix, expected_sum));
    }
  }
}

void check_blocks() {
  const MatrixXd a = MatrixXd::Random(7, 5), b = MatrixXd::Random(5, 4);
  CHECK(is_close(product<MatrixXd>(MatrixView(a).top_rows(3), b), a.topRows(3) * b));
  CHECK(is_close(product<MatrixXd>(MatrixView(a).bottom_rows(2), b), a.bottomRows(2) * b));
  CHECK(is_close(product<MatrixXd>(MatrixView(a).left_columns(2), MatrixView(b).top_rows(2)),
                 a.leftCols(2) * b.topRows(2)));
  CHECK(is_close(product<MatrixXd>(transposed(a).top_rows(3), MatrixView(a).right_columns(2)),
                 a.leftCols(3).transpose() * a.rightCols(2)));
  const VectorXd ones = VectorXd::Ones(5);
  const auto fixed_size_product = product<Eigen::Vector3d>(MatrixView(a).top_rows(3), ones);
  CHECK(is_close(fixed_size_product, a.topRows(3).rowwise().sum()));
}

TEST(products) {
  for (int rows : {0, 1, 3, 4, 7, 30}) {
    for (int inner : {0, 1, 3, 6, 17}) {
      for (int columns : {0, 1, 2, 7}) {
        check_layouts(MatrixXd::Random(rows, inner), MatrixXd::Random(inner, columns));
      }
    }
  }
  check_blocks();
}

}  // namespace products
