// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Energy routing: replacing the gyroscopic coupling of task and null space by zero.
#pragma once

#include <algorithm>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/split_motion.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"
#include "vms_ph_native/task_effort.hpp"

namespace vms_ph {

/// The second term of the control law [D (37)] with a target of zero: -J_bar^T G (eta, nu).
/// It transfers energy between task and null space; its total power is zero. G, and with it this
/// torque, depends on how the null-space basis changes with the configuration. The basis is aligned
/// with that at the minimum of the potential and renewed where the alignment is lost. Between two
/// times and one time the singular threshold the torque is scaled down to zero.
class EnergyRouting {
 public:
  /// Construct for a robot on a fixed base; model and task must outlive the object.
  EnergyRouting(const Model& model, const PositionTask& task, double singular_below)
      : task_(task),
        singular_below_(singular_below),
        eigen_(std::max(0, model.nv() - PositionTask::kDimension)) {}

  /// Align the null-space basis with that at the state of an evaluation.
  void anchor(Evaluation& d) noexcept;

  /// Write the torque (n,); false near a singularity, where there is none.
  ///
  /// @param jacobian  Jacobian of the task, (3,nv), with its decomposition and its rate.
  bool torque(Evaluation& d, const Matrix3V& jacobian, const TaskSvd& svd,
              const Matrix3V& jacobian_rate, VectorV& result) noexcept;

 private:
  using Tall = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3>;

  // Z, the orthonormal basis of the null space closest to the reference; returns how close it is.
  double align(const MatrixV& kernel) noexcept;
  // The eigenvectors of Zref Z^T, symmetric up to rounding, and sums of its eigenvalues.
  void decompose() noexcept;
  // The derivative of Z along a motion, applied to a momentum.
  VectorV basis_rate(const Tall& pseudo_inverse, const Matrix3V& jacobian_rate,
                     const VectorV& momentum) const noexcept;
  // B (3,nv) with <B, Jdot> = nu^T Zdot p for every Jdot.
  Matrix3V basis_rate_transpose(const Tall& pseudo_inverse, const VectorV& nu,
                                const VectorV& momentum) const noexcept;

  const PositionTask& task_;
  double singular_below_;
  bool is_anchored_ = false;
  MatrixV reference_, Z_, vectors_, sums_, C_other_;
  SymmetricEigen eigen_;
  TaskSvd anchor_svd_;
};

}  // namespace vms_ph
