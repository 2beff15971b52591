// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Moore-Penrose inverse.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

/// The Moore-Penrose inverse of a matrix, with the threshold of numpy.linalg.pinv; it takes memory.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& matrix);

}  // namespace vms_ph
