// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The shaped potential of a task-space law, and the governor that moves its minimum.
#pragma once

#include <cstdint>
#include <optional>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/springs.hpp"
#include "vms_ph_native/task_space.hpp"

namespace vms_ph {

/// A minimum of the potential and the task position that it represents.
struct Minimum {
  VectorQ q;                     ///< (nq,)
  Eigen::Vector3d x;             ///< position of the task, m
  std::uint64_t identifier = 0;  ///< identifier, unique for every minimum
};

/// W (n,n), symmetric and positive semidefinite, N m/rad.
struct WeightMatrix {
  MatrixV matrix;
  std::uint64_t version = 0;  ///< unique for every matrix
};

/// 1/2 (q - q*)^T W (q - q*) [D, section 5] on a fixed base.
class ShapedPotential {
 public:
  /// Zero weight, minimum at the neutral configuration. The model must outlive it.
  explicit ShapedPotential(const Model& model);

  /// Set W to a multiple of the identity, N m/rad.
  void set(const Minimum& minimum, double stiffness) noexcept;
  void set(const Minimum& minimum, const WeightMatrix& weight) noexcept;

  /// Set the minimum; the weight is kept.
  void copy_minimum(const ShapedPotential& source) noexcept;

  /// The value at a configuration (nq,), J.
  double energy(const ConstVector& q) const noexcept;

  /// W (q - q*), (n,) N m.
  VectorV gradient(const ConstVector& q) const noexcept;

  /// Add a share of W to a matrix (n,n).
  void add_weight(double share, MatrixV& stiffness) const noexcept;

  /// Whether minimum and weight of two potentials have the same identifiers.
  bool is_same(const ShapedPotential& other) const noexcept;

  const VectorQ& q_star() const noexcept { return q_star_; }

 private:
  VectorV displacement(const ConstVector& q) const noexcept;
  VectorV apply_weight(const VectorV& displacement) const noexcept;

  const Model* model_;
  VectorQ q_star_;
  std::uint64_t minimum_id_ = 0;
  bool is_scalar_ = true;  // whether W is stiffness_ times 1
  double stiffness_ = 0.0;
  WeightMatrix weight_;
};

/// W = J^T K_t J + N^T K_nu N at the minimum, (n,n); described with the Python function.
///
/// @param d               at the minimum.
/// @param task_stiffness  K_t, N/m.
/// @param null_stiffness  K_nu is this multiple of the identity, N m/rad.
MatrixV weight_of_task_stiffness(const PositionTask& task, Evaluation& d,
                                 const Eigen::Matrix3d& task_stiffness,
                                 double null_stiffness) noexcept;

/// A damped Newton step of a minimum q* towards a reference x* = f(q*), within the joint limits.
///
/// A workspace: one thread at a time. The model must outlive it.
class MinimumStep {
 public:
  explicit MinimumStep(const Model& model);

  /// What a step goes by.
  struct Bounds {
    double min_sigma;   ///< smallest singular value of the task Jacobian that counts
    double dt;          ///< time step, s
    double max_length;  ///< largest length of the step, m
    double margin;      ///< distance kept from the joint limits, rad or m
  };

  /// Compute the minimum after a step.
  ///
  /// @param current_minimum  the present one.
  /// @param step     of the reference from there, no longer than the reach, m.
  /// @param posture  (n,) joint positions to which a minimum out of reach returns.
  void compute(const PositionTask& task, const Minimum& current_minimum,
               const Eigen::Vector3d& step, const VectorV& posture, const Bounds& bounds) noexcept;

  /// The evaluation at a configuration (nq,) at rest, valid until the next call.
  Evaluation& evaluate_at(const ConstVector& q) noexcept;

  Minimum next_minimum;          ///< the minimum after the step
  bool was_at_target = true;     ///< whether it was where it should be before
  bool is_out_of_reach = false;  ///< whether it cannot follow the reference

 private:
  VectorV next_q(const Matrix3V& jacobian, const Eigen::Vector3d& position_step, const VectorV& q0,
                 const VectorV& posture, const Bounds& bounds) const noexcept;

  const Model& model_;
  JointLimitPotential joint_limits_;
  Evaluation state_;
  Eigen::VectorXd zero_velocity_;
};

/// Moves the minimum q* towards a reference x* with limited speed, within the joint limits; see
/// vms_ph_controllers.references.reference_governor.
class ReferenceGovernor {
 public:
  /// Start at the neutral configuration. Model and task must outlive it.
  ReferenceGovernor(const Model& model, const PositionTask& task, double min_sigma);

  const Minimum& current_minimum() const noexcept { return current_minimum_; }

  /// Target, m; empty when the reference is a velocity.
  const std::optional<Eigen::Vector3d>& target() const noexcept { return target_; }

  /// Whether the last reference was not finite.
  bool is_rejected() const noexcept { return is_rejected_; }

  /// Whether the minimum cannot follow the reference.
  bool is_out_of_reach() const noexcept { return is_out_of_reach_; }

  /// Set the minimum to a configuration (nq,) of the model at once; return the evaluation there,
  /// valid until the next call.
  Evaluation& restart(const ConstVector& q) noexcept;

  /// The minimum after a time step; it takes effect by accept().
  ///
  /// @param dt      time step, s.
  /// @param max_speed  of the minimum, m/s.
  /// @param margin  distance kept from the joint limits, rad or m.
  /// @returns a minimum that stays valid until the next call.
  const Minimum& propose(const Reference& reference, double dt, double max_speed,
                         double margin) noexcept;

  /// The minimum at a share of the way from the present one to another, valid until the next call.
  const Minimum& interpolate(const Minimum& minimum, double share) noexcept;

  /// Set the present minimum.
  void accept(const Minimum& minimum) noexcept;

 private:
  Eigen::Vector3d desired_step(const Reference& reference, double dt) noexcept;
  bool is_finite(const std::optional<Eigen::Vector3d>& value) noexcept;

  const Model& model_;
  const PositionTask& task_;
  double min_sigma_;
  MinimumStep minimum_step_;
  VectorV posture_;  // (n,) joint positions at the restart
  Minimum current_minimum_, interpolated_minimum_;
  std::uint64_t last_identifier_ = 0;
  std::optional<Eigen::Vector3d> target_;
  bool is_rejected_ = false, is_out_of_reach_ = false, was_at_target_ = true;
};

}  // namespace vms_ph
