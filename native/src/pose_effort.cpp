// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
// http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "vms_ph_native/pose_effort.hpp"

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/wide.hpp"

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
  rest_force.head(b) = force;
  rest_force.tail(n) = limits.force;
  rest_stiffness.diagonal().head(b) = stiffness;
  rest_stiffness.diagonal().tail(n) = limits.stiffness;
  if (b == 0) return;
  const int turn = b == 6 ? 3 : 2, size = b - turn;
  rest_damping.block(turn, turn, size, size) += turning * d.M_b().block(turn, turn, size, size);
}

void PoseEffort::aim(const Pose& error, const Twist& twist, const PoseGains& gains,
                     double h) noexcept {
  potential_.follow(error);
  lead_ = se3::Ad(se3::inverse(error)) * twist;
  spring_ = potential_.gradient(error, gains.stiffness, gains.stiffness_rotation);
  stiffness_.topLeftCorner<3, 3>().setZero();
  damping_.topLeftCorner<3, 3>().setZero();
  stiffness_.diagonal().head<3>().setConstant(gains.stiffness);
  stiffness_.diagonal().tail<3>().setConstant(gains.stiffness_rotation);
  damping_.diagonal().head<3>().setConstant(gains.damping);
  damping_.diagonal().tail<3>().setConstant(gains.damping_rotation);
  drift_ = h * stiffness_.lazyProduct(lead_);
  potential = potential_.value(error, gains.stiffness, gains.stiffness_rotation);
  distance = error.topRightCorner<3, 1>().norm();
}

void PoseEffort::release(const Eigen::Vector3d& direction, double damping, double h) noexcept {
  const Eigen::Matrix3d along = direction * direction.transpose();
  spring_.head<3>() -= direction.dot(spring_.head<3>()) * direction;
  stiffness_.topLeftCorner<3, 3>() -= stiffness_(0, 0) * along;
  damping_.topLeftCorner<3, 3>() += (damping - damping_(0, 0)) * along;
  drift_ = h * stiffness_.lazyProduct(lead_);
}

VMS_PH_WIDE void PoseEffort::compute(const MatrixV& mass, const Matrix6V& J, const VectorV& v,
                                     double h) noexcept {
  Matrix6V scaled = damping_.lazyProduct(J);
  whole_damping_ = rest_damping;
  whole_damping_ += J.transpose().lazyProduct(scaled);
  scaled = stiffness_.lazyProduct(J);
  whole_stiffness_ = rest_stiffness;
  whole_stiffness_ += J.transpose().lazyProduct(scaled);
  const Twist pull = spring_ - drift_, led = damping_.lazyProduct(lead_);
  gradient_ = rest_force;
  gradient_ += J.transpose().lazyProduct(pull);
  carried_ = J.transpose().lazyProduct(led);
  held.compute(mass, whole_damping_, whole_stiffness_, gradient_, v, h, &carried_);

  const Twist left = J.lazyProduct(held.velocity) - lead_;
  const Twist on_task = damping_.lazyProduct(left);
  const Twist force = spring_ + on_task - drift_;
  on_null_ = held.ahead;
  on_null_ += rest_damping.lazyProduct(held.velocity);
  wanted = -rest_force - on_null_;
  wanted -= J.transpose().lazyProduct(force);
  sent = -held.spring - on_null_;
  sent -= J.transpose().lazyProduct(on_task);

  potential += rest_energy;
  const Twist away = J.lazyProduct(v) - lead_;
  damping_task = away.dot(on_task - drift_);
  damping_null = v.dot(on_null_);
  reference_power = -force.dot(lead_);
}

VMS_PH_WIDE void split_inertia(const MatrixV& mass, const Matrix6V& J, Matrix6V& momentum,
                               MatrixV& null_inertia) noexcept {
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, kMaxVelocities, 6> inverse = J.transpose();
  Cholesky(mass).solve_columns(inverse);
  MatrixV mobility = J.lazyProduct(inverse);
  mobility.diagonal().array() += kRegularisation;
  momentum = J;
  Cholesky(mobility).solve_columns(momentum);
  null_inertia = mass;
  null_inertia -= J.transpose().lazyProduct(momentum);
}

}  // namespace vms_ph
