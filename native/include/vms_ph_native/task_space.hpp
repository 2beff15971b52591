// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Motion split into a task and its null space, the effort of a law in these coordinates, and the
// routing of energy between them.
#pragma once

#include <algorithm>

#include <Eigen/Core>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/task_derivatives.hpp"

namespace vms_ph {

/// J = L S R, and an orthonormal basis of the kernel of J.
class TaskSvd {
 public:
  Eigen::Matrix3d left_vectors = Eigen::Matrix3d::Identity();  ///< L
  Eigen::Vector3d singular_values = Eigen::Vector3d::Zero();   ///< diagonal of S, descending
  Matrix3V right_vectors;                                      ///< R (3,nv)
  MatrixV kernel;                                              ///< (nv-3,nv), orthonormal rows

  /// Decompose a Jacobian of at least three columns. One that is not finite counts as zero.
  void compute(const Matrix3V& jacobian) noexcept;

  double smallest_singular_value() const noexcept { return singular_values[2]; }

  /// R^T max(S, min_value)^-1 L^T (nv,3), with singular values of at least `min_value`.
  Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3> pseudo_inverse(
      double min_value) const noexcept;

 private:
  void decompose(const Eigen::Matrix3d& matrix) noexcept;

  Eigen::Matrix3d triangle_right_ = Eigen::Matrix3d::Identity();  ///< R of the triangle of J^T
};

/// Velocity in the task and in its null space, with the maps onto both, as in
/// vms_ph_controllers/laws/task_effort.py: directions that the task loses pass gradually to the
/// null space.
class SplitMotion {
 public:
  /// Split a velocity (nv,) under a mass matrix (nv,nv).
  ///
  /// @param momentum        of the velocity, (nv,).
  /// @param jacobian        of the task, (3,nv), and its decomposition.
  /// @param min_sigma       smallest singular value at which J counts as regular.
  void compute(const MatrixV& mass, const ConstVector& velocity, const ConstVector& momentum,
               const Matrix3V& jacobian, const TaskSvd& svd, double min_sigma) noexcept;

  /// D = J^T D_t J + N^T D_nu N, (nv,nv).
  MatrixV damping_matrix(const Matrix3V& jacobian, double damping_task,
                         double damping_null) const noexcept;

  /// The power from null-space to task energy by inertia alone, W: pi^T Jdot n - u^T C n with
  /// v = u + n and M u = J^T pi. Zero near a singularity, where the split is not that of the task.
  double null_to_task_power(Evaluation& d, const TaskSvd& svd,
                            const Matrix3V& jacobian_rate) const noexcept;

  Eigen::Vector3d eta;    ///< J v
  MatrixV null_map;       ///< N (k,nv)
  VectorV nu;             ///< null-space velocity N v, (k,)
  VectorV null_velocity;  ///< the same as a velocity of the robot, (nv,)
  double kinetic_null = 0.0, smallest_singular_value = 0.0;
  bool is_regular = true;

 private:
  double min_sigma_ = 0.0;
};

/// N = (Z M Z^T)^-1 Z M (k,nv) of orthonormal rows Z (k,nv) and a mass matrix.
MatrixV null_space_map(const MatrixV& z, const MatrixV& mass) noexcept;

/// eta = J v is the velocity of a frame's origin in the inertial frame, m/s.
class PositionTask {
 public:
  static constexpr int kDimension = 3;

  /// Of a frame by Pinocchio's index.
  explicit PositionTask(pinocchio::FrameIndex frame) : frame_(frame) {}

  /// The position in the inertial frame, (3,), m.
  Eigen::Vector3d origin(Evaluation& d) const noexcept { return d.placement(frame_).translation(); }

  /// J(q), (3,nv).
  Matrix3V jacobian(Evaluation& d) const noexcept;

  /// The derivative of J along the velocity of the evaluation, (3,nv).
  Matrix3V jacobian_rate(Evaluation& d) const noexcept;

  /// <B, dJ/dq_k> for all directions k, (nv,), with a weight B (3,nv).
  VectorV jacobian_gradient(Evaluation& d, const Matrix3V& weight) const noexcept;

 private:
  pinocchio::FrameIndex frame_;
};

/// The part of vms_ph_controllers.TaskSpaceIDAPBC without memory: the motion in a task of three
/// dimensions and in its null space, and the held spring and damping forces.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class TaskEffort {
 public:
  /// The model must outlive it.
  explicit TaskEffort(const Model& model) : impedance(model) {}

  /// Split the motion by the Jacobian (3,nv) of the task; see SplitMotion.
  void split(Evaluation& d, const Matrix3V& jacobian, double min_sigma) noexcept;

  /// Compute the held spring and damping forces, for the motion and the Jacobian split last.
  ///
  /// @param potential_gradient, stiffness  of the potential, (nv,) and (nv,nv).
  /// @param damping_task, damping_null     of the motion in the task, N s/m, and in the null space.
  /// @param h                              the horizon, s.
  void compute(Evaluation& d, const Matrix3V& jacobian, const VectorV& potential_gradient,
               const MatrixV& stiffness, double damping_task, double damping_null,
               double h) noexcept;

  TaskSvd svd;
  SplitMotion motion;
  SampledImpedance impedance;
  Eigen::Vector3d task_damping_force;  ///< force of the damping in the task
  VectorV null_damping_force;          ///< the same in the null space, (k,)
  VectorV damping_force;               ///< (nv,) of both and of the spring ahead

 private:
  MatrixV damping_matrix_;
};

/// The second term of the control law [D (37)] with a target of zero: -J_bar^T G (eta, nu).
/// It transfers energy between task and null space; its total power is zero. G, and with it this
/// torque, depends on how the null-space basis changes with the configuration. The basis is aligned
/// with that at the minimum of the potential and renewed where the alignment is lost. Between two
/// times and one time the singular threshold the torque is scaled down to zero.
class EnergyRouting {
 public:
  /// Construct for a robot on a fixed base; model and task must outlive the object.
  EnergyRouting(const Model& model, const PositionTask& task, double min_sigma)
      : task_(task),
        min_sigma_(min_sigma),
        basis_(std::max(0, model.nv() - PositionTask::kDimension)) {}

  /// Align the null-space basis with that at the state of an evaluation.
  void set_reference_basis(Evaluation& d) noexcept;

  /// Write the torque (n,); false near a singularity, where there is none.
  ///
  /// @param jacobian  Jacobian of the task, (3,nv), with its decomposition and its rate.
  bool torque(Evaluation& d, const Matrix3V& jacobian, const TaskSvd& svd,
              const Matrix3V& jacobian_rate, VectorV& result) noexcept;

 private:
  const PositionTask& task_;
  double min_sigma_;
  bool has_basis_ = false;
  MatrixV reference_basis_;
  AlignedBasis basis_;
  TaskSvd reference_svd_;
};

}  // namespace vms_ph
