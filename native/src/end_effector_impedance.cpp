// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "vms_ph_native/end_effector_impedance.hpp"

#include <algorithm>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/pose_motion.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

// Damping ratio of an attitude of the base that is held by itself.
constexpr double kRatio = 0.9;

// Added to the eigenvalues of the task mobility: it bounds the task inertia where the arm is
// stretched out.
constexpr double kRegularisation = 1e-6;

Twist both(double linear, double angular) noexcept {
  Twist found;
  found << linear, linear, linear, angular, angular, angular;
  return found;
}

}  // namespace

const GainTable<ImpedanceGains>& ImpedanceGains::table() {
  using G = ImpedanceGains;
  static const GainTable<G> gains{
      OutputGains::table(),
      {
          {"stiffness", "stiffness of the end-effector position, N/m", &G::stiffness, 0.0, 5000.0},
          {"stiffness_rotation", "stiffness of its attitude, N m/rad", &G::stiffness_rotation, 0.0,
           500.0},
          {"damping", "damping of its velocity, N s/m", &G::damping, 0.0, 1000.0},
          {"damping_rotation", "damping of its angular velocity, N m s/rad", &G::damping_rotation,
           0.0, 100.0},
          {"damping_null", "rate at which the null-space motion is damped, 1/s", &G::damping_null,
           0.0, 100.0},
          {"frequency_base", "natural frequency of the base where it is held, rad/s",
           &G::frequency_base, 0.0, 50.0},
          {"hold_base", "hold the base where it was at the reset", &G::hold_base},
          {"hold_attitude", "hold the attitude of the base also where its place is not held",
           &G::hold_attitude},
          {"relative_to_base", "hold the end effector in the frame of the base",
           &G::relative_to_base},
          {"speed", "largest linear speed of the reference, m/s", &G::speed, 1e-3, 20.0},
          {"turn", "largest angular speed of the reference, rad/s", &G::turn, 1e-3, 20.0},
      }};
  return gains;
}

PoseImpedance::PoseImpedance(const Model& model, std::optional<Allocation> allocation,
                             bool base_actuated)
    : StagedController(
          model, std::make_unique<BaseActuation>(model, std::move(allocation), base_actuated)),
      spring_(model),
      held_(model),
      jacobian_(Matrix6V::Zero(6, model.nv())),
      momentum_(jacobian_),
      shape_inertia_(VectorV::Zero(n_)),
      positions_(shape_inertia_),
      wanted_(rest_),
      sent_(rest_),
      gradient_(rest_),
      drift_(rest_),
      rest_force_(rest_),
      rest_stiffness_(rest_),
      damping_(MatrixV::Zero(model.nv(), model.nv())),
      rest_damping_(damping_),
      stiffness_(damping_) {}

void PoseImpedance::hold() noexcept {
  relative_ = gains_now().relative_to_base;
  tool_.restart(tool_pose());
  potential_.restart(Pose::Identity());
  spring_.restart(d_);
  shape_inertia_ = d_.M_hat_m().diagonal();
  base_power_ = 0.0;
  holding_.restart();
  upright_.restart();
  attached_.restart();
}

const Command& PoseImpedance::control(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  const double h = horizon(dt, gains.delay);
  // Spring and damping fade out before the frame is changed, and in again.
  if (gains.relative_to_base != relative_ && attached_.share() == 0.0) {
    relative_ = gains.relative_to_base;
    tool_.restart(tool_pose());
  }
  const double attached = attached_.follow(gains.relative_to_base == relative_, dt);
  follow(reference, dt);
  const Pose error = se3::inverse(tool_.pose()) * tool_pose();
  potential_.follow(error);
  jacobian();
  const Matrix6V& J = jacobian_;
  const Twist eta = J.lazyProduct(d_.v());
  const Twist lead = se3::Ad(se3::inverse(error)) * tool_.twist();
  const double k_position = attached * gains.stiffness;
  const double k_rotation = attached * gains.stiffness_rotation;
  const Twist k = both(k_position, k_rotation);
  const Twist rate = both(attached * gains.damping, attached * gains.damping_rotation);
  const Twist spring = potential_.gradient(error, k_position, k_rotation);
  const Twist drift = h * k.cwiseProduct(lead);
  null_inertia();
  const Twist task_momentum = momentum_.lazyProduct(d_.v());
  rest(h, dt);

  Matrix6V scaled = rate.asDiagonal() * J;
  damping_ = rest_damping_;
  damping_.noalias() += J.transpose().lazyProduct(scaled);
  scaled = k.asDiagonal() * J;
  stiffness_ = J.transpose().lazyProduct(scaled);
  stiffness_.diagonal() += rest_stiffness_;
  const Twist pull = spring - drift, carried = rate.cwiseProduct(lead);
  gradient_ = rest_force_;
  gradient_.noalias() += J.transpose().lazyProduct(pull);
  drift_ = J.transpose().lazyProduct(carried);
  held_.compute(d_.M(), damping_, stiffness_, gradient_, d_.v(), h, &drift_);

  const Twist left = J.lazyProduct(held_.velocity);
  const Twist on_task = rate.cwiseProduct(left - lead);
  const Twist force = spring + on_task - drift;
  VectorV on_null = rest_damping_.lazyProduct(held_.velocity);
  on_null += held_.ahead;
  wanted_ = d_.g() - rest_force_ - on_null;
  wanted_.noalias() -= J.transpose().lazyProduct(force);
  if (!wanted_.allFinite()) return refuse();
  sent_ = d_.g() - held_.spring - on_null + held_.brake(d_, h);
  sent_.noalias() -= J.transpose().lazyProduct(on_task);
  const VectorV& given = pass(sent_, dt);

  ControlEnergy& energy = command_.energy;
  const double potential = potential_.value(error, k_position, k_rotation) + rest_energy_;
  energy.closed_loop_energy = d_.kinetic_energy() + potential;
  energy.shaped_potential = potential;
  energy.kinetic_task = 0.5 * task_momentum.dot(eta);
  energy.kinetic_null = d_.kinetic_energy() - energy.kinetic_task;
  energy.damping_task = (eta - lead).dot(on_task - drift);
  energy.damping_null = d_.v().dot(on_null);
  energy.reference_power = base_power_ - force.dot(lead);
  energy.clipped_power = (given - wanted_).dot(d_.v());
  command_.task_error = error.topRightCorner<3, 1>().norm();
  command_.smallest_singular_value = smallest_;
  return told(given, {held_.reason()});
}

void PoseImpedance::follow(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  const double bandwidth = 2.0 * gains.stiffness / std::max(gains.damping, 1e-3);
  tool_.follow(reference, reference.pose, gains.speed, gains.turn, bandwidth, dt);
}

void PoseImpedance::hold_base(double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  const bool able = output_.base_is_actuated();
  const double held = holding_.follow(gains.hold_base && able, dt);
  const double upright = upright_.follow((gains.hold_base || gains.hold_attitude) && able, dt);
  spring_.compute(model_.base_pose(d_.q()).toHomogeneousMatrix(), gains.frequency_base, held,
                  upright);
}

/// The pose of the end effector in the frame that it is held in.
Pose PoseImpedance::tool_pose() noexcept {
  const pinocchio::SE3& pose = d_.placement(model_.end_effector());
  if (!relative_) return pose.toHomogeneousMatrix();
  return se3::inverse(model_.base_pose(d_.q()).toHomogeneousMatrix()) * pose.toHomogeneousMatrix();
}

/// Compute the Jacobian of the end effector in that frame, and its smallest singular value.
void PoseImpedance::jacobian() noexcept {
  jacobian_ = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  if (relative_) jacobian_.leftCols(b_).setZero();
  const int moving = relative_ && n_ > 0 ? n_ : b_ + n_;
  smallest_ = smallest_singular_value(jacobian_.rightCols(moving), small_, eigen_);
}

/// Compute the momentum of the task, Lambda J, and the damping of its null space.
VMS_PH_WIDE void PoseImpedance::null_inertia() noexcept {
  const Matrix6V& J = jacobian_;
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, kMaxVelocities, 6> inverse = J.transpose();
  Cholesky(d_.M()).solve_columns(inverse);
  small_ = J.lazyProduct(inverse);
  small_.diagonal().array() += kRegularisation;
  momentum_ = J;
  Cholesky(small_).solve_columns(momentum_);
  rest_damping_ = d_.M();
  rest_damping_.noalias() -= J.transpose().lazyProduct(momentum_);
  rest_damping_ *= gains_now().damping_null;
}

/// Compute the springs that hold base and joints, and add the damping of an attitude.
void PoseImpedance::rest(double h, double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  model_.joint_positions(d_.q(), positions_);
  const VectorV depth = joint_limits_.depth(positions_, gains.limit_margin);
  const VectorV soon = positions_ + h * d_.v().tail(n_);
  const VectorV ahead = joint_limits_.depth(soon, gains.limit_margin);
  const VectorV wall = (gains.limit_frequency * gains.limit_frequency) * shape_inertia_;
  hold_base(dt);
  rest_energy_ = spring_.energy + 0.5 * wall.dot(depth.cwiseAbs2());
  rest_force_.head(b_) = spring_.force;
  rest_force_.tail(n_) = wall.cwiseProduct(depth);
  rest_stiffness_.head(b_) = spring_.stiffness;
  for (Eigen::Index i = 0; i < n_; ++i) {
    // Springs at limits that are about to act count as well.
    rest_stiffness_[b_ + i] = depth[i] != 0.0 || ahead[i] != 0.0 ? wall[i] : 0.0;
  }
  if (b_ == 0) return;
  const int turn = b_ == 6 ? 3 : 2, size = b_ - turn;
  const double share = std::max(upright_.share() - holding_.share(), 0.0);
  const double turning = 2.0 * kRatio * share * gains.frequency_base;
  rest_damping_.block(turn, turn, size, size) += turning * d_.M_b().block(turn, turn, size, size);
}

}  // namespace vms_ph
