// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/evaluation.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The matrix that the recursions have written row by row.
Eigen::Map<const RowMajor> row_major_map(const Eigen::VectorXd& row_major, int rows, int columns) {
  return {row_major.data(), rows, columns};
}

}  // namespace

const Model& checked_model(const Model& model, const char* caller_name) {
  if (model.nv() > kMaxVelocities || model.nq() > kMaxConfiguration) {
    throw ModelError("the robot '" + model.name() + "' has " + std::to_string(model.nv()) +
                     " degrees of freedom; C++ covers at most " + std::to_string(kMaxVelocities) +
                     ": lock joints, or use a Python " + caller_name);
  }
  return model;
}

Evaluation::Evaluation(const Model& model)
    : model_(checked_model(model, "controller")),
      b_(model.b()),
      n_(model.n()),
      dynamics_(model),
      dynamics_at_other_state_(model),
      q_(Eigen::VectorXd::Zero(model.nq())),
      v_(Eigen::VectorXd::Zero(model.nv())),
      row_major_(Eigen::VectorXd::Zero(model.nv() * std::max(6, model.nv()))),
      jacobian_(6, model.nv()),
      jacobian_rate_(6, model.nv()) {
  M_.resize(b_ + n_, b_ + n_);
  C_.resize(b_ + n_, b_ + n_);
  M_b_inverse_.resize(b_, b_);
  M_hat_m_.resize(n_, n_);
  momentum_.resize(b_ + n_);
  g_.resize(b_ + n_);
}

void Evaluation::set(const ConstVector& q, const ConstVector& v) noexcept {
  q_ = q;
  v_ = v;
  computed_ = Computed{};
}

Dynamics& Evaluation::set_ahead(const RobotState& state, const Tree* tree) noexcept {
  set(state.q, state.v);
  dynamics_.set_configuration(q_.data(), tree);
  computed_.dynamics_at_q = computed_.is_set_ahead = true;
  return dynamics_at_v();
}

Dynamics& Evaluation::dynamics_at_q() noexcept {
  if (!std::exchange(computed_.dynamics_at_q, true)) dynamics_.set_configuration(q_.data());
  return dynamics_;
}

Dynamics& Evaluation::dynamics_at_v() noexcept {
  if (!std::exchange(computed_.dynamics_at_v, true)) dynamics_at_q().set_velocity(v_.data());
  return dynamics_;
}

// Symmetric matrices are the same row by row and column by column.

const MatrixV& Evaluation::M() noexcept {
  if (!std::exchange(computed_.M, true)) dynamics_at_q().mass(M_.data());
  return M_;
}

const MatrixB& Evaluation::M_b_inverse() noexcept {
  if (!std::exchange(computed_.M_b_inverse, true)) {
    dynamics_at_q().locked_inverse(M_b_inverse_.data());
  }
  return M_b_inverse_;
}

const MatrixBN& Evaluation::A() noexcept {
  if (std::exchange(computed_.A, true)) return A_;
  dynamics_at_q().connection(row_major_.data());
  A_ = row_major_map(row_major_, b_, n_);
  return A_;
}

const MatrixV& Evaluation::M_hat_m() noexcept {
  if (!std::exchange(computed_.M_hat_m, true)) dynamics_at_q().shape_inertia(M_hat_m_.data());
  return M_hat_m_;
}

const VectorV& Evaluation::momentum() noexcept {
  if (!std::exchange(computed_.momentum, true)) dynamics_at_v().momentum(momentum_.data());
  return momentum_;
}

const MatrixV& Evaluation::C() noexcept {
  if (std::exchange(computed_.C, true)) return C_;
  dynamics_at_v().coriolis(row_major_.data());
  C_ = row_major_map(row_major_, b_ + n_, b_ + n_);
  return C_;
}

VectorV Evaluation::kinetic_gradient(const ConstVector& velocity) noexcept {
  VectorV result(b_ + n_);
  if (velocity.data() != v_.data()) {
    dynamics_at_other_state_.set_configuration(q_.data(), &dynamics_at_q().tree());
    dynamics_at_other_state_.set_velocity(velocity.data());
  }
  Dynamics& d = velocity.data() == v_.data() ? dynamics_at_v() : dynamics_at_other_state_;
  d.kinetic_gradient(result.data());
  return result;
}

const VectorV& Evaluation::g() noexcept {
  if (!std::exchange(computed_.g, true)) dynamics_at_q().gravity(g_.data());
  return g_;
}

VectorV Evaluation::drag() noexcept {
  VectorV force = VectorV::Zero(v_.size());
  dynamics_at_v().add_drag(force.data());
  return force;
}

double Evaluation::gravity_power(const Eigen::VectorXd& q) noexcept {
  VectorV weight(v_.size());
  dynamics_at_other_state_.set_configuration(q.data());
  dynamics_at_other_state_.gravity(weight.data());
  return weight.dot(v_);
}

const pinocchio::SE3& Evaluation::placement(pinocchio::FrameIndex frame) noexcept {
  dynamics_at_q().placement(static_cast<int>(frame), placement_.rotation(),
                            placement_.translation());
  return placement_;
}

const Eigen::Matrix<double, 6, Eigen::Dynamic>& Evaluation::frame_jacobian(
    pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept {
  dynamics_at_q().jacobian(static_cast<int>(frame), axes != pinocchio::LOCAL, row_major_.data());
  jacobian_ = row_major_map(row_major_, 6, b_ + n_);
  return jacobian_;
}

const Eigen::Matrix<double, 6, Eigen::Dynamic>& Evaluation::frame_jacobian_rate(
    pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept {
  dynamics_at_v().jacobian_rate(static_cast<int>(frame), axes != pinocchio::LOCAL,
                                row_major_.data());
  jacobian_rate_ = row_major_map(row_major_, 6, b_ + n_);
  return jacobian_rate_;
}

}  // namespace vms_ph
