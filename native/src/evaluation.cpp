#include "vms_ph_native/evaluation.hpp"

#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/energy.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea.hpp>

// Arguments are given the types that Pinocchio is compiled for in its library, which avoids
// compiling them here: ConstVector for most algorithms, vectors themselves for some.

namespace vms_ph {
namespace {

// In closed form from the inertia of all bodies together in the base frame.
void invert_planar(const pinocchio::Inertia& inertia, MatrixB& inverse) {
  const double x = inertia.lever()[0], y = inertia.lever()[1];
  const double m = 1.0 / inertia.mass(), j = 1.0 / inertia.inertia().matrix()(2, 2);
  inverse << m + y * y * j, -x * y * j, y * j,  //
      -x * y * j, m + x * x * j, -x * j,        //
      y * j, -x * j, j;
}

}  // namespace

Evaluation::Evaluation(const Model& model)
    : model_(model),
      b_(model.b()),
      n_(model.n()),
      data_(model.pinocchio()),
      q_(Eigen::VectorXd::Zero(model.nq())),
      v_(Eigen::VectorXd::Zero(model.nv())),
      q_origin_(q_),
      jacobian_(6, model.nv()),
      jacobian_rate_(6, model.nv()) {
  if (model.nv() > kMaxVelocities || model.nq() > kMaxConfiguration) {
    throw ModelError("the robot '" + model.name() + "' has " + std::to_string(model.nv()) +
                     " degrees of freedom; the native controllers support at most " +
                     std::to_string(kMaxVelocities) + ": lock joints, or use a Python controller");
  }
  M_.resize(b_ + n_, b_ + n_);
  C_.resize(b_ + n_, b_ + n_);
  M_b_inverse_.resize(b_, b_);
}

void Evaluation::set(const ConstVector& q, const ConstVector& v) noexcept {
  q_ = q;
  v_ = v;
  q_origin_ = q;
  q_origin_.head(model_.base_positions()).setZero();
  known_ = Known{};
}

const MatrixV& Evaluation::M() noexcept {
  if (!known_.M) {
    // In body axes Pinocchio allocates memory for a planar base. There the axes of the inertial
    // frame
    // are used, with the base aligned to them; the result does not depend on its orientation.
    const bool planar = model_.base() == Base::planar;
    VectorQ q = q_origin_;
    if (planar) q.head<4>() = Eigen::Vector4d::UnitZ();
    // Only the upper triangle is filled.
    const auto& upper =
        pinocchio::crba(model_.pinocchio(), data_, ConstVector(q),
                        planar ? pinocchio::Convention::WORLD : pinocchio::Convention::LOCAL);
    M_.triangularView<Eigen::Upper>() = upper;
    M_.triangularView<Eigen::StrictlyLower>() = upper.transpose();
    known_.M = true;
    // The closed form of the inverse uses results of crba, which the next algorithm overwrites.
    known_.M_b_inverse = true;
    if (model_.base() == Base::floating) M_b_inverse_ = data_.Ycrb[1].inverse();
    if (planar) {
      const pinocchio::Inertia locked_inertia = data_.oMi[1].actInv(data_.oYcrb[1]);
      if (locked_inertia.inertia().matrix()(2, 2) > 0.0) {
        invert_planar(locked_inertia, M_b_inverse_);
      } else {
        // Point masses that all coincide.
        const Eigen::Matrix3d locked = M_.topLeftCorner<3, 3>();
        M_b_inverse_ = locked.inverse();
      }
    }
  }
  return M_;
}

const MatrixB& Evaluation::M_b_inverse() noexcept {
  M();
  return M_b_inverse_;
}

const MatrixBN& Evaluation::A() noexcept {
  if (!known_.A) {
    A_.noalias() = M_b_inverse() * M_bm();
    known_.A = true;
  }
  return A_;
}

const MatrixV& Evaluation::M_hat_m() noexcept {
  if (!known_.M_hat_m) {
    MatrixV shape = M_m();
    shape.noalias() -= A().transpose() * M_bm();
    M_hat_m_ = 0.5 * (shape + shape.transpose());
    known_.M_hat_m = true;
  }
  return M_hat_m_;
}

const VectorV& Evaluation::momentum() noexcept {
  if (!known_.momentum) {
    momentum_.noalias() = M() * v_;
    known_.momentum = true;
  }
  return momentum_;
}

const MatrixV& Evaluation::C() noexcept {
  if (!known_.C) {
    coriolis(v_, C_);
    known_.C = true;
  }
  return C_;
}

void Evaluation::coriolis(const ConstVector& velocity, MatrixV& result) noexcept {
  const ConstVector q(q_origin_);
  result = pinocchio::computeCoriolisMatrix(model_.pinocchio(), data_, q, velocity);
}

const VectorV& Evaluation::g() noexcept {
  if (!known_.g) {
    g_ = pinocchio::computeGeneralizedGravity(model_.pinocchio(), data_, ConstVector(q_origin_));
    known_.g = true;
  }
  return g_;
}

double Evaluation::potential_energy() noexcept {
  if (!known_.potential_energy) {
    const int size = model_.base_positions();
    const ConstVector q(q_origin_);
    const double local = pinocchio::computePotentialEnergy(model_.pinocchio(), data_, q);
    potential_energy_ =
        local - model_.total_mass() * model_.base_gravity().head(size).dot(q_.head(size));
    known_.potential_energy = true;
  }
  return potential_energy_;
}

const pinocchio::SE3& Evaluation::placement(pinocchio::FrameIndex frame) noexcept {
  pinocchio::forwardKinematics(model_.pinocchio(), data_, ConstVector(q_));
  return pinocchio::updateFramePlacement(model_.pinocchio(), data_, frame);
}

const Eigen::Matrix<double, 6, Eigen::Dynamic>& Evaluation::frame_jacobian(
    pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept {
  jacobian_.setZero();
  pinocchio::computeJointJacobians(model_.pinocchio(), data_, ConstVector(q_origin_));
  pinocchio::updateFramePlacement(model_.pinocchio(), data_, frame);
  pinocchio::getFrameJacobian(model_.pinocchio(), data_, frame, axes, jacobian_);
  return jacobian_;
}

const Eigen::Matrix<double, 6, Eigen::Dynamic>& Evaluation::frame_jacobian_rate(
    pinocchio::FrameIndex frame, pinocchio::ReferenceFrame axes) noexcept {
  jacobian_rate_.setZero();
  const ConstVector q(q_origin_), v(v_);
  pinocchio::computeJointJacobiansTimeVariation(model_.pinocchio(), data_, q, v);
  pinocchio::updateFramePlacement(model_.pinocchio(), data_, frame);
  pinocchio::getFrameJacobianTimeVariation(model_.pinocchio(), data_, frame, axes, jacobian_rate_);
  return jacobian_rate_;
}

}  // namespace vms_ph
