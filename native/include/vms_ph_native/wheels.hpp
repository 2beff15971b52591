// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A robot on wheels that do not slip, in the velocities that they allow.
#pragma once

#include <string>
#include <vector>

#include "vms_ph_native/evaluation.hpp"

namespace vms_ph {

/// A wheel without rollers: the joint that turns it, and its radius, m.
struct Wheel {
  std::string joint;
  double radius;
};

/// The terms of the reduced equations M_nu nudot + C_nu nu = S^T f with v = S nu; see
/// vms_ph_dynamics/nonholonomic.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class WheeledTerms {
 public:
  /// @throws ModelError  no wheels, a base that is not planar, a joint that does not exist or turns
  ///                     no wheel, a radius that is not positive, or no motion that is left.
  WheeledTerms(const Model& model, const std::vector<Wheel>& wheels);

  /// Which velocities are independent: those of the last call, or those best at the posture.
  enum class Partition { previous, best };

  /// Compute the terms at a state, of which the independent velocities are taken; false where these
  /// do not determine the others.
  bool compute(const RobotState& state, Partition partition = Partition::previous) noexcept;

  int dimension() const { return m_; }  ///< m
  /// The indices of the independent velocities in v, (m,).
  const std::vector<Eigen::Index>& independent_dofs() const { return independent_dofs_; }
  Evaluation& evaluation() { return d_; }  ///< at the velocity S nu

  VectorV nu;          ///< (m,) independent velocities
  MatrixV basis;       ///< S, (nv,m)
  MatrixV basis_rate;  ///< its derivative along the motion
  MatrixV mass;        ///< S^T M S, (m,m)
  MatrixV coriolis;    ///< S^T (C S + M Sdot), (m,m)

  /// Why compute() was false.
  const char* reason() const { return reason_.c_str(); }

 private:
  struct WheelContact {
    pinocchio::FrameIndex frame;
    Eigen::Index axle_velocity_index;
    double turn_ratio, radius;  ///< rate of the wheel over that of the joint; m
  };

  WheelContact make_contact(const Wheel& wheel);
  void choose_partition();
  Eigen::MatrixXd constraints_at(const Eigen::VectorXd& q);
  void compute_constraints(bool needs_rates) noexcept;
  void select_dependent() noexcept;
  bool solve_dependent(const MatrixV& residual, MatrixV& solution) noexcept;

  const Model& model_;
  Evaluation d_;
  std::vector<WheelContact> contacts_;
  std::vector<Eigen::Index> independent_rows_, dependent_dofs_, independent_dofs_, pivots_;
  int m_ = 0;
  MatrixV constraints_, constraint_rates_, dependent_block_, product_;  ///< last: intermediate
  VectorV velocity_;                                                    ///< S nu, (nv,)
  std::string reason_;
};

}  // namespace vms_ph
