// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/evaluation.hpp"

#include <algorithm>
#include <string>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// What the recursions have written row by row, as a matrix.
Eigen::Map<const RowMajor> rows(const Eigen::VectorXd& written, int rows, int columns) {
  return {written.data(), rows, columns};
}

const Model& small_enough(const Model& model) {
  if (model.nv() > kMaxVelocities || model.nq() > kMaxConfiguration) {
    throw ModelError("the robot '" + model.name() + "' has " + std::to_string(model.nv()) +
                     " degrees of freedom; the native controllers support at most " +
                     std::to_string(kMaxVelocities) + ": lock joints, or use a Python controller");
  }
  return model;
}

}  // namespace

Evaluation::Evaluation(const Model& model)
    : model_(small_enough(model)),
      b_(model.b()),
      n_(model.n()),
      dynamics_(model),
      fluid_(model),
      q_(Eigen::VectorXd::Zero(model.nq())),
      v_(Eigen::VectorXd::Zero(model.nv())),
      written_(Eigen::VectorXd::Zero(model.nv() * std::max(6, model.nv()))),
      jacobian_(6, model.nv()),
      jacobian_rate_(6, model.nv()) {
  M_.resize(b_ + n_, b_ + n_);
  C_.resize(b_ + n_, b_ + n_);
  M_b_inverse_.resize(b_, b_);
  M_hat_m_.resize(n_, n_);
  if (fluid_.exist()) elsewhere_.emplace(model);
  momentum_.resize(b_ + n_);
  g_.resize(b_ + n_);
}

void Evaluation::set(const ConstVector& q, const ConstVector& v) noexcept {
  q_ = q;
  v_ = v;
  known_ = Known{};
}

void Evaluation::set(const RobotState& state) noexcept {
  set(state.q, state.v);
  if (state.terms == nullptr || !dynamics_.take(*state.terms, q_.data(), v_.data())) return;
  known_.placed = known_.moved = true;
}

Dynamics& Evaluation::placed() noexcept {
  if (!known_.placed) dynamics_.place(q_.data());
  known_.placed = true;
  return dynamics_;
}

Dynamics& Evaluation::moved() noexcept {
  if (!known_.moved) placed().move(v_.data());
  known_.moved = true;
  return dynamics_;
}

FluidTerms& Evaluation::immersed() noexcept {
  if (!known_.immersed) fluid_.place(placed());
  known_.immersed = true;
  return fluid_;
}

FluidTerms& Evaluation::flowing() noexcept {
  if (!known_.flowing) immersed().move(moved(), v_);
  known_.flowing = true;
  return fluid_;
}

// Symmetric matrices are the same row by row and column by column.

const MatrixV& Evaluation::M() noexcept {
  if (!known_.M) {
    placed().mass(M_.data());
    if (fluid_.exist()) immersed().add_mass(M_);
    known_.M = true;
  }
  return M_;
}

const MatrixB& Evaluation::M_b_inverse() noexcept {
  if (known_.M_b_inverse) return M_b_inverse_;
  if (fluid_.exist()) {
    // Added mass has no centre of mass, in which the closed form is.
    M_b_inverse_.setIdentity();
    Cholesky(MatrixV(M_b())).solve_columns(M_b_inverse_);
  } else {
    placed().locked_inverse(M_b_inverse_.data());
  }
  known_.M_b_inverse = true;
  return M_b_inverse_;
}

const MatrixBN& Evaluation::A() noexcept {
  if (known_.A) return A_;
  if (fluid_.exist()) {
    multiply(M_b_inverse(), M_bm(), A_);
  } else {
    placed().connection(written_.data());
    A_ = rows(written_, b_, n_);
  }
  known_.A = true;
  return A_;
}

const MatrixV& Evaluation::M_hat_m() noexcept {
  if (known_.M_hat_m) return M_hat_m_;
  if (fluid_.exist()) {
    M_hat_m_ = M_m();
    add_product(transposed(A()), M_bm(), M_hat_m_, -1.0);
  } else {
    placed().shape_inertia(M_hat_m_.data());
  }
  known_.M_hat_m = true;
  return M_hat_m_;
}

const VectorV& Evaluation::momentum() noexcept {
  if (!known_.momentum) {
    moved().momentum(momentum_.data());
    if (fluid_.exist()) flowing().add_momentum(momentum_);
    known_.momentum = true;
  }
  return momentum_;
}

const MatrixV& Evaluation::C() noexcept {
  if (!known_.C) {
    moved().coriolis(written_.data());
    C_ = rows(written_, b_ + n_, b_ + n_);
    if (fluid_.exist()) flowing().add_coriolis(C_);
    known_.C = true;
  }
  return C_;
}

void Evaluation::coriolis(const ConstVector& velocity, MatrixV& result) noexcept {
  placed().move(velocity.data());
  known_.moved = known_.flowing = false;
  dynamics_.coriolis(written_.data());
  result = rows(written_, b_ + n_, b_ + n_);
  if (!fluid_.exist()) return;
  immersed().move(dynamics_, velocity);
  fluid_.add_coriolis(result);
}

const VectorV& Evaluation::g() noexcept {
  if (!known_.g) {
    placed().gravity(g_.data());
    if (fluid_.exist()) immersed().add_gravity(g_);
    known_.g = true;
  }
  return g_;
}

double Evaluation::coriolis_power(const VectorV& x, const VectorV& y) noexcept {
  if (fluid_.exist()) return x.dot(product<VectorV>(C(), y));
  return moved().coriolis_power(x.data(), y.data());
}

double Evaluation::lifting_power(const ConstVector& q) noexcept {
  const double power = dynamics_.lifting_power(q.data(), v_.data());
  if (!fluid_.exist()) return power;
  elsewhere_->place(q.data());
  fluid_.place(*elsewhere_);
  known_.immersed = known_.flowing = false;
  VectorV sinking = VectorV::Zero(v_.size());
  fluid_.add_gravity(sinking);
  return power + sinking.dot(v_);
}

double Evaluation::kinetic_energy() noexcept {
  const double energy = moved().kinetic_energy();
  return fluid_.exist() ? energy + flowing().kinetic_energy() : energy;
}

double Evaluation::potential_energy() noexcept {
  const double energy = placed().potential_energy();
  return fluid_.exist() ? energy + immersed().potential_energy() : energy;
}

const pinocchio::SE3& Evaluation::placement(pinocchio::FrameIndex frame) noexcept {
  placed().placement(static_cast<int>(frame), placement_.rotation(), placement_.translation());
  return placement_;
}

const Eigen::Matrix<double, 6, Eigen::Dynamic>& Evaluation::frame_jacobian(
    pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept {
  placed().jacobian(static_cast<int>(frame), axes != pinocchio::LOCAL, written_.data());
  jacobian_ = rows(written_, 6, b_ + n_);
  return jacobian_;
}

const Eigen::Matrix<double, 6, Eigen::Dynamic>& Evaluation::frame_jacobian_rate(
    pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept {
  moved().jacobian_rate(static_cast<int>(frame), axes != pinocchio::LOCAL, written_.data());
  jacobian_rate_ = rows(written_, 6, b_ + n_);
  return jacobian_rate_;
}

}  // namespace vms_ph
