// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// Vectors and matrices of bounded size, stored inline: they, their products and their
// decompositions do not allocate memory.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

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
