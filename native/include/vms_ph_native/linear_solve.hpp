// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Square systems of linear equations.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

/// Replace B (n,k) by the solution of A X = B, by elimination with partial pivoting, which destroys
/// A (n,n); false where a pivot is not larger than `least`. Eigen's decomposition, in blocks, takes
/// a compiler four seconds.
bool solve_square(Eigen::Ref<Eigen::MatrixXd> A, Eigen::Ref<Eigen::MatrixXd> B,
                  double least) noexcept;

}  // namespace vms_ph
