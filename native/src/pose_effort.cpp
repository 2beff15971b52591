// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pose_effort.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
// singularities, and leaves it as it is elsewhere.
constexpr double kLeastMobility = 1e-4;

}  // namespace

double smallest_singular_value(const Matrix6V& jacobian, MatrixV& square,
                               SymmetricEigen& eigen) noexcept {
  // Of the fewer of rows and columns.
  if (jacobian.cols() < 6) {
    multiply(transposed(jacobian), jacobian, square);
  } else {
    multiply(jacobian, transposed(jacobian), square);
  }
  return std::sqrt(std::max(eigen.least(square), 0.0));
}

PoseMotion::PoseMotion(const Model& model)
    : J(Matrix6V::Zero(6, model.nv())),
      J_rate(J),
      inertia(Matrix6::Zero()),
      null_inertia(MatrixV::Zero(model.nv(), model.nv())),
      twist(Vector6::Zero()),
      task_coupling(Vector6::Zero()),
      null_coupling(VectorV::Zero(model.nv())),
      nv_(model.nv()),
      eigen_(std::min(6, nv_)),
      mobility_eigen_(6) {
  inverse_.setZero(nv_, 6);
}

void PoseMotion::compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept {
  J = d.frame_jacobian(frame, pinocchio::LOCAL);
  J_rate = d.frame_jacobian_rate(frame, pinocchio::LOCAL);
  multiply(J, d.v(), twist);
  inverse_ = J.transpose();
  Cholesky(d.M()).solve_columns(inverse_);
  multiply(J, inverse_, mobility_);
  invert();
  smallest = smallest_singular_value(J, square_, eigen_);

  // Pi = 1 - M^-1 J^T Lambda J; where Lambda is bounded it is no exact projector.
  const auto mobility_inertia = product<Matrix6>(mobility_, inertia);
  Matrix6 both = 2.0 * inertia;
  add_product(inertia, mobility_inertia, both, -1.0);
  const auto momenta = product<Matrix6V>(both, J);
  null_inertia = d.M();
  add_product(transposed(J), momenta, null_inertia, -1.0);

  const auto momentum = product<Vector6>(inertia, twist);
  multiply(inverse_, momentum, along_);
  null_ = d.v() - along_;
  multiply(d.C(), null_, force_);
  auto drift = product<Vector6>(J_rate, null_);
  add_product(transposed(inverse_), force_, drift, -1.0);
  task_coupling.setZero();
  add_product(inertia, drift, task_coupling, -1.0);
  multiply(transposed(J_rate), momentum, null_coupling);
  add_product(transposed(d.C()), along_, null_coupling, -1.0);
  const auto null_twist = product<Vector6>(transposed(inverse_), null_coupling);
  const auto felt = product<Vector6>(inertia, null_twist);
  add_product(transposed(J), felt, null_coupling, -1.0);
}

/// Invert the mobility, of which the least eigenvalue is bounded.
void PoseMotion::invert() noexcept {
  square_ = mobility_;
  for (Eigen::Index k = 0; k < 6; ++k) square_(k, k) -= kLeastMobility;
  if (Cholesky(square_).is_positive()) {  // no eigenvalue is at the bound: the usual case
    square_.setIdentity();
    Cholesky(mobility_).solve_columns(square_);
    inertia = square_;
    return;
  }
  mobility_eigen_.compute(mobility_);
  const Matrix6 vectors = mobility_eigen_.vectors();
  Matrix6 scaled = vectors;
  for (Eigen::Index k = 0; k < 6; ++k) {
    scaled.col(k) /= std::max(mobility_eigen_.values()[k], kLeastMobility);
  }
  multiply(scaled, transposed(vectors), inertia);
}

namespace {

// Added to the eigenvalues of the task mobility: it bounds the task inertia where the arm is
// stretched out.
constexpr double kRegularisation = 1e-6;

}  // namespace

PoseEffort::PoseEffort(const Model& model, Eigen::Index velocities)
    : rest_force(VectorV::Zero(model.nv())),
      rest_stiffness(MatrixV::Zero(model.nv(), model.nv())),
      rest_damping(rest_stiffness),
      impedance(model, velocities),
      continuous(rest_force),
      sampled(rest_force),
      lead_(Twist::Zero()),
      spring_(lead_),
      drift_(lead_),
      stiffness_(Matrix6::Zero()),
      damping_(stiffness_) {}

void PoseEffort::hold(Evaluation& d, double energy, const ConstVector& force,
                      const ConstVector& stiffness, const LimitSprings& limits,
                      double turning) noexcept {
  const int b = d.model().b(), n = d.model().n();
  rest_energy = energy + limits.energy;
  for (Eigen::Index k = 0; k < b; ++k) {
    rest_force[k] = force[k];
    rest_stiffness(k, k) = stiffness[k];
  }
  for (Eigen::Index k = 0; k < n; ++k) {
    rest_force[b + k] = limits.force[k];
    rest_stiffness(b + k, b + k) = limits.stiffness[k];
  }
  const MatrixV& mass = d.M();
  const int turn = b == 6 ? 3 : 2;  // the first velocity that turns the base
  for (Eigen::Index j = turn; j < b; ++j) {
    for (Eigen::Index i = turn; i < b; ++i) rest_damping(i, j) += turning * mass(i, j);
  }
}

void PoseEffort::set_error(const Pose& error, const Twist& twist, const PoseGains& gains,
                           double h) noexcept {
  potential_.follow(error);
  lead_ = se3::Ad(se3::inverse(error)) * twist;
  spring_ = potential_.gradient(error, gains.stiffness, gains.stiffness_rotation);
  stiffness_.setZero();
  damping_.setZero();
  for (int k = 0; k < 3; ++k) {
    stiffness_(k, k) = gains.stiffness;
    stiffness_(3 + k, 3 + k) = gains.stiffness_rotation;
    damping_(k, k) = gains.damping;
    damping_(3 + k, 3 + k) = gains.damping_rotation;
  }
  drift_.setZero();
  add_product(stiffness_, lead_, drift_, h);
  potential = potential_.value(error, gains.stiffness, gains.stiffness_rotation);
  const Eigen::Vector3d position_error = error.topRightCorner<3, 1>();
  distance = position_error.norm();
}

void PoseEffort::release(const Eigen::Vector3d& direction, double damping, double h) noexcept {
  const Eigen::Vector3d pull = spring_.head<3>();
  spring_.head<3>() -= direction.dot(pull) * direction;
  const MatrixView across = transposed(direction);
  add_product(direction, across, stiffness_.topLeftCorner<3, 3>(), -stiffness_(0, 0));
  add_product(direction, across, damping_.topLeftCorner<3, 3>(), damping - damping_(0, 0));
  drift_.setZero();
  add_product(stiffness_, lead_, drift_, h);
}

void PoseEffort::compute(const MatrixV& mass, const Matrix6V& J, const VectorV& v,
                         double h) noexcept {
  auto scaled = product<Matrix6V>(damping_, J);
  whole_damping_ = rest_damping;
  add_product(transposed(J), scaled, whole_damping_);
  multiply(stiffness_, J, scaled);
  whole_stiffness_ = rest_stiffness;
  add_product(transposed(J), scaled, whole_stiffness_);
  const Twist pull = spring_ - drift_;
  const auto led = product<Twist>(damping_, lead_);
  gradient_ = rest_force;
  add_product(transposed(J), pull, gradient_);
  multiply(transposed(J), led, carried_);
  impedance.compute(mass, whole_damping_, whole_stiffness_, gradient_, v, h, &carried_);

  auto left = product<Twist>(J, impedance.velocity);
  left -= lead_;
  const auto task_coupling = product<Twist>(damping_, left);
  const Twist force = pull + task_coupling;
  null_force_ = impedance.predicted_spring;
  add_product(rest_damping, impedance.velocity, null_force_);
  continuous = -rest_force - null_force_;
  add_product(transposed(J), force, continuous, -1.0);
  sampled = -impedance.spring - null_force_;
  add_product(transposed(J), task_coupling, sampled, -1.0);

  potential += rest_energy;
  auto position_error = product<Twist>(J, v);
  position_error -= lead_;
  const Twist braking = task_coupling - drift_;
  damping_task = position_error.dot(braking);
  damping_null = v.dot(null_force_);
  reference_power = -force.dot(lead_);
}

void split_inertia(const MatrixV& mass, const Matrix6V& J, Matrix6V& momentum,
                   MatrixV& null_inertia) noexcept {
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, kMaxVelocities, 6> inverse = J.transpose();
  Cholesky(mass).solve_columns(inverse);
  auto mobility = product<MatrixV>(J, inverse);
  for (Eigen::Index k = 0; k < 6; ++k) mobility(k, k) += kRegularisation;
  momentum = J;
  Cholesky(mobility).solve_columns(momentum);
  null_inertia = mass;
  add_product(transposed(J), momentum, null_inertia, -1.0);
}

}  // namespace vms_ph
