// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms of the equations of motion at one state.
#pragma once

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Return the model if it has at most kMaxVelocities velocities. @throws ModelError  it has more.
const Model& checked_model(const Model& model, const char* caller_name);

/// A workspace for one state at a time; every term is computed on first use.
///
/// In a fluid, inertia and momentum include the added mass, and gravity the buoyancy; drag is not a
/// term. Both triangles of symmetric matrices are filled. On a fixed base the base blocks are
/// empty. Returned references stay valid and unchanged until the next set(). Only the constructor
/// allocates memory. The model must outlive the evaluation.
class Evaluation {
 public:
  /// @throws ModelError  a robot with more than `kMaxVelocities` degrees of freedom, or that
  ///                     Dynamics does not cover.
  explicit Evaluation(const Model& model);

  /// Set configuration (nq,) and velocity (nv,), which must be finite; both are copied.
  void set(const ConstVector& q, const ConstVector& v) noexcept;

  /// The same, unless it was set ahead to this state, and nothing else was set since.
  void set(const RobotState& state) noexcept {
    if (state.evaluation != this || !computed_.is_set_ahead) set(state.q, state.v);
  }

  /// Set a state for an update that follows; `tree` is one of this robot at its joint positions, or
  /// null. Return the dynamics there.
  Dynamics& set_ahead(const RobotState& state, const Tree* tree) noexcept;

  const Model& model() const noexcept { return model_; }
  const Eigen::VectorXd& q() const noexcept { return q_; }
  const Eigen::VectorXd& v() const noexcept { return v_; }

  /// Mass matrix, (nv,nv) [A (17)], and its blocks (b,b) and (b,n).
  const MatrixV& M() noexcept;
  Eigen::Block<const MatrixV> M_b() noexcept { return M().topLeftCorner(b_, b_); }
  Eigen::Block<const MatrixV> M_bm() noexcept { return M().topRightCorner(b_, n_); }

  /// Inverse of the locked inertia M_b, (b,b).
  const MatrixB& M_b_inverse() noexcept;

  /// Mechanical connection M_b^-1 M_bm, (b,n) [A (53)].
  const MatrixBN& A() noexcept;

  /// Shape inertia M_m - A^T M_bm, (n,n) [A (55)].
  const MatrixV& M_hat_m() noexcept;

  /// Generalised momentum M v, (nv,).
  const VectorV& momentum() noexcept;

  /// Coriolis matrix, (nv,nv): Mdot = C + C^T, for the base twist in the base frame.
  const MatrixV& C() noexcept;

  /// C(q, w)^T w of a velocity w (nv,): for the joints the derivatives of its kinetic energy.
  VectorV kinetic_gradient(const ConstVector& velocity) noexcept;

  /// Generalised gravity, (nv,): the force that holds the robot still.
  const VectorV& g() noexcept;

  /// Force of the drag of a fluid, (nv,).
  VectorV drag() noexcept;

  /// Power against gravity v^T g at another configuration (nq,), W.
  double gravity_power(const Eigen::VectorXd& q) noexcept;

  /// 1/2 v^T M v, J.
  double kinetic_energy() noexcept { return dynamics_at_v().kinetic_energy(); }

  /// Gravity potential, J; zero where the centre of mass is at the inertial frame's origin.
  double potential_energy() noexcept { return dynamics_at_q().potential_energy(); }

  /// Pose of a frame in the inertial frame.
  const pinocchio::SE3& placement(pinocchio::FrameIndex frame) noexcept;

  /// Jacobian (6,nv) of a frame in its own axes (LOCAL) or inertial ones, until the next call.
  const Eigen::Matrix<double, 6, Eigen::Dynamic>& frame_jacobian(
      pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept;

  /// The derivative of that Jacobian along the velocity, (6,nv), valid until the next call.
  const Eigen::Matrix<double, 6, Eigen::Dynamic>& frame_jacobian_rate(
      pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept;

 private:
  Dynamics& dynamics_at_q() noexcept;
  Dynamics& dynamics_at_v() noexcept;

  const Model& model_;
  const int b_, n_;
  Dynamics dynamics_, dynamics_at_other_state_;  ///< the latter for a term at another state
  Eigen::VectorXd q_, v_, row_major_;            ///< the last: a term as Dynamics writes it
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_, jacobian_rate_;
  pinocchio::SE3 placement_;
  MatrixV M_, C_, M_hat_m_;
  MatrixB M_b_inverse_;
  MatrixBN A_;
  VectorV momentum_, g_;
  struct Computed {
    bool is_set_ahead, dynamics_at_q, dynamics_at_v, M, M_b_inverse, A, M_hat_m, momentum, C, g;
  } computed_{};
};

}  // namespace vms_ph
