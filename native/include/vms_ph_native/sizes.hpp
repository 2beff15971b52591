// Vectors and matrices of a robot's size that live where they are declared: none of them, nor any
// product or decomposition of them, takes memory from the heap.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

/// The most velocities, base and joints, that the native controllers are made for.
constexpr int max_velocities = 64;

/// Continuous joints have two entries in a configuration, a floating base one more than velocities.
constexpr int max_configuration = 2 * max_velocities;

/// (nq,), (nv,) or (n,), and (b,).
using VectorQ = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_configuration, 1>;
using VectorV = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_velocities, 1>;
using VectorB = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;

/// (nv,nv) or (n,n), (b,b), and (b,n).
using MatrixV =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_velocities, max_velocities>;
using MatrixB = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;
using MatrixBN = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, max_velocities>;

/// (3,nv) and (6,nv): Jacobians of a frame.
using Matrix3V = Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, max_velocities>;
using Matrix6V = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, max_velocities>;

/// What functions take: any vector, without a copy.
using ConstVector = Eigen::Ref<const Eigen::VectorXd>;

}  // namespace vms_ph
