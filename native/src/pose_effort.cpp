// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pose_effort.hpp"

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Added to the eigenvalues of the task mobility: it bounds the task inertia where the arm is
// stretched out.
constexpr double kRegularisation = 1e-6;

}  // namespace

PoseEffort::PoseEffort(const Model& model, Eigen::Index velocities)
    : rest_force(VectorV::Zero(model.nv())),
      rest_stiffness(MatrixV::Zero(model.nv(), model.nv())),
      rest_damping(rest_stiffness),
      held(model, velocities),
      wanted(rest_force),
      sent(rest_force),
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

void PoseEffort::aim(const Pose& error, const Twist& twist, const PoseGains& gains,
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
  const Eigen::Vector3d away = error.topRightCorner<3, 1>();
  distance = away.norm();
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
  held.compute(mass, whole_damping_, whole_stiffness_, gradient_, v, h, &carried_);

  auto left = product<Twist>(J, held.velocity);
  left -= lead_;
  const auto on_task = product<Twist>(damping_, left);
  const Twist force = pull + on_task;
  on_null_ = held.ahead;
  add_product(rest_damping, held.velocity, on_null_);
  wanted = -rest_force - on_null_;
  add_product(transposed(J), force, wanted, -1.0);
  sent = -held.spring - on_null_;
  add_product(transposed(J), on_task, sent, -1.0);

  potential += rest_energy;
  auto away = product<Twist>(J, v);
  away -= lead_;
  const Twist braking = on_task - drift_;
  damping_task = away.dot(braking);
  damping_null = v.dot(on_null_);
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
