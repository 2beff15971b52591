// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The shaped potential of a controller: a spring between the configuration and a minimum.
#pragma once

#include <cstdint>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/task_effort.hpp"

namespace vms_ph {

/// A minimum of the potential and the task position that it represents.
struct Minimum {
  VectorQ q;                     ///< (nq,)
  Eigen::Vector3d x;             ///< m
  std::uint64_t identifier = 0;  ///< identifier, unique for every minimum
};

/// W (n,n), symmetric and positive semidefinite, N m/rad.
struct Weight {
  MatrixV matrix;
  std::uint64_t version = 0;  ///< unique for every matrix
};

/// 1/2 (q - q*)^T W (q - q*) [D, section 5] on a fixed base.
class ShapedPotential {
 public:
  /// Construct with zero weight and the minimum at the neutral configuration. The model must
  /// outlive it.
  explicit ShapedPotential(const Model& model);

  /// Set W to a multiple of the identity, N m/rad.
  void set(const Minimum& minimum, double stiffness) noexcept;
  void set(const Minimum& minimum, const Weight& weight) noexcept;

  /// Set the minimum; the weight is kept.
  void move(const ShapedPotential& source) noexcept;

  /// The value at a configuration (nq,), J.
  double energy(const ConstVector& q) const noexcept;

  /// W (q - q*), (n,) N m.
  VectorV gradient(const ConstVector& q) const noexcept;

  /// Add a share of W to a matrix (n,n).
  void add_weight(double share, MatrixV& stiffness) const noexcept;

  /// Whether two potentials have the same minimum and weight by identifier; values are not
  /// compared.
  bool is_same(const ShapedPotential& other) const noexcept;

  const VectorQ& q_star() const noexcept { return q_star_; }

 private:
  VectorV displacement(const ConstVector& q) const noexcept;
  VectorV weighted(const VectorV& displacement) const noexcept;

  const Model* model_;
  VectorQ q_star_;
  std::uint64_t minimum_ = 0;
  bool is_number_ = true;
  double number_ = 0.0;
  Weight weight_;
};

/// W = J^T K_t J + N^T K_nu N at the minimum, (n,n).
/// W is block-diagonal in the coordinates (J, N) (q - q*), so that the stiffness of the task is K_t
/// both statically, (J W^-1 J^T)^-1 = K_t, and dynamically [D (40)].
///
/// @param d               at the minimum.
/// @param task_stiffness  K_t, N/m.
/// @param null_stiffness  K_nu is this multiple of the identity, N m/rad.
MatrixV weight_of_task_stiffness(const PositionTask& task, Evaluation& d,
                                 const Eigen::Matrix3d& task_stiffness,
                                 double null_stiffness) noexcept;

}  // namespace vms_ph
