// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Vectors and matrices of bounded size, stored inline: they, their products and their
// decompositions do not allocate memory. And numbers that several parts share.
#pragma once

#include <limits>

#include <Eigen/Core>

namespace vms_ph {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Coulomb friction is rounded over this speed, rad/s or m/s; as in friction.py.
constexpr double kSlip = 0.01;

/// Largest number of velocities, base and joints, of the native controllers.
constexpr int kMaxVelocities = 64;

/// Continuous joints have two entries in a configuration, a floating base one more than velocities.
constexpr int kMaxConfiguration = 2 * kMaxVelocities;

/// (nq,), (nv,) or (n,), and (b,).
using VectorQ = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxConfiguration, 1>;
using VectorV = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxVelocities, 1>;
using VectorB = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;

/// (nv,nv) or (n,n), (b,b), and (b,n).
using MatrixV =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxVelocities, kMaxVelocities>;
using MatrixB = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
using MatrixBN = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, kMaxVelocities>;

/// (3,nv) and (6,nv): Jacobians of a frame.
using Matrix3V = Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, kMaxVelocities>;
using Matrix6V = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, kMaxVelocities>;

/// Function arguments: any vector, without a copy.
using ConstVector = Eigen::Ref<const Eigen::VectorXd>;

}  // namespace vms_ph
