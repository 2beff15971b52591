// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Steps of Pinocchio alone, beside which the cost of ours is measured.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

class Model;

/// The configuration reached by Runge-Kutta steps of order 4 on Pinocchio's aba, without efforts.
///
/// @throws ModelError  q or v has a wrong size.
Eigen::VectorXd pinocchio_rk4(const Model& model, const Eigen::VectorXd& q0,
                              const Eigen::VectorXd& v0, double dt, int steps);

}  // namespace vms_ph
