// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/attitude_and_shape.hpp"

#include <Eigen/Geometry>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/texts.hpp"

namespace vms_ph {

using Eigen::Matrix3d;
using Eigen::Vector3d;

const GainTable<AttitudeGains>& AttitudeGains::table() {
  using G = AttitudeGains;
  static const GainTable<G> gains{
      OutputGains::table(),
      {
          {"frequency_attitude", "natural frequency of the attitude, rad/s", &G::frequency_attitude,
           0.0, 50.0},
          {"frequency_shape", gain_text::frequency_shape, &G::frequency_shape, 0.0, 100.0},
          {"damping_ratio", "damping ratio of all motions; 1 is critical damping",
           &G::damping_ratio, 0.0, 10.0},
          {"base_speed", gain_text::base_speed, &G::base_speed, 1e-3, 20.0},
          {"base_turn", gain_text::base_turn, &G::base_turn, 1e-3, 20.0},
          {"joint_speed", gain_text::joint_speed, &G::joint_speed, 1e-3, 20.0},
          {"integral", gain_text::integral, &G::integral, 0.0, 1.0},
      }};
  return gains;
}

AttitudeAndShape::AttitudeAndShape(const Model& model, const Allocation& allocation)
    : StagedController(model, std::make_unique<PrioritisedActuation>(allocation)),
      joints_(model.n()),
      integral_(model.n()),
      impedance_(model),
      shape_inertia_(VectorV::Zero(n_)),
      positions_(shape_inertia_),
      offset_(shape_inertia_),
      error_(rest_),
      gradient_(rest_),
      desired_(rest_),
      stiffness_(MatrixV::Zero(model.nv(), model.nv())),
      damping_(stiffness_),
      damping_torque_(shape_inertia_) {
  locked_.setZero(3, model.nv());
  for (int k = 0; k < 3; ++k) locked_(k, 3 + k) = 1.0;
}

void AttitudeAndShape::hold() noexcept {
  const MatrixV& mass = d_.M();
  inertia_ = (mass(3, 3) + mass(4, 4) + mass(5, 5)) / 3.0;
  shape_inertia_ = d_.M_hat_m().diagonal();
  Pose pose = model_.base_pose(d_.q()).toHomogeneousMatrix();
  pose.topLeftCorner<3, 3>() = attitude_of(pose.topLeftCorner<3, 3>());
  base_.restart(pose);
  model_.joint_positions(d_.q(), positions_);
  joints_.restart(positions_);
  integral_.restart();
  potential_.restart();
}

const Command& AttitudeAndShape::control(const Reference& reference, double dt) noexcept {
  const AttitudeGains& gains = gains_now();
  const double h = horizon(dt, gains.delay, age_);
  follow(reference, dt);
  const LockedBody body = locked_body();
  const Vector3d position_error = body.position - base_.pose().topRightCorner<3, 1>();
  model_.joint_positions(d_.q(), positions_);
  offset_ = positions_ - joints_.positions();
  if (is_limited_) {
    integral_.rest();
  } else {
    integral_.advance(gains.integral * gains.damping_ratio, position_frequency(),
                      gains.frequency_shape, position_error, nullptr, offset_, dt, h);
  }
  offset_ -= integral_.joints();
  const BaseMotion base = base_motion(d_, body, h);
  Pose error = Pose::Identity();
  const Matrix3d turn = base.attitude.transpose() * body.rotation;
  error.topLeftCorner<3, 3>() = turn;
  const bool is_reversed = potential_.follow(error);
  error_ = d_.v();
  error_.segment<3>(3) -= base.angular_velocity;
  error_.tail(n_) -= joints_.rates();
  const double potential = compute_potentials(error, gains) + base.potential;
  compute_effort(base, body, h);
  if (!desired_.allFinite()) return refuse();
  const VectorV& force = pass(desired_, dt);

  const auto slip = product<Vector3d>(locked_, error_);
  const VectorV shape_error = error_.tail(n_);
  const VectorV momentum = product<VectorV>(d_.M_hat_m(), shape_error);
  ControlEnergy& energy = command_.energy;
  const Vector3d spin = body.inertia * slip;
  energy.kinetic_base = 0.5 * slip.dot(spin) + base.kinetic;
  energy.kinetic_shape = 0.5 * shape_error.dot(momentum);
  energy.shaped_potential = potential;
  energy.closed_loop_energy = energy.kinetic_base + energy.kinetic_shape + potential;
  energy.damping_base = damping_moment_.dot(slip) + base.damping;
  energy.damping_shape = damping_torque_.dot(shape_error);
  energy.reference_power = base.minimum_power - integral_power(gains);
  energy.clipped_power = base.unactuated_power + (force - desired_).dot(error_);
  command_.task_error = position_error.norm();
  return make_command(
      force, {impedance_.reason(), is_reversed ? reasons::attitude_reversed : "", base.reason});
}

LockedBody AttitudeAndShape::locked_body() noexcept {
  LockedBody body;
  const auto pose = model_.base_pose(d_.q());
  const MatrixV& mass = d_.M();  // of the base in its first rows and columns
  body.rotation = pose.rotation();
  body.position = pose.translation();
  body.mass = mass(0, 0);
  // M_b has m [c]x in its corner, with the centre of mass c in the frame of the base.
  const Matrix3d corner = (1.0 / body.mass) * mass.block<3, 3>(3, 0);
  body.centre = {corner(2, 1), corner(0, 2), corner(1, 0)};
  const Matrix3d squared = corner * corner;
  body.inertia = mass.block<3, 3>(3, 3);
  body.inertia += body.mass * squared;
  return body;
}

/// Write gradient and stiffness of the potentials of attitude and shape; returns their energy, J.
double AttitudeAndShape::compute_potentials(const Pose& error,
                                            const AttitudeGains& gains) noexcept {
  const double k_turn = gains.frequency_attitude * gains.frequency_attitude * inertia_;
  const VectorV depth = joint_limits_.depth(positions_, gains.limit_margin);
  const Twist turn = potential_.gradient(error, 0.0, k_turn);
  double energy = potential_.value(error, 0.0, k_turn);
  for (Eigen::Index i = 3; i < 6; ++i) {
    gradient_[i] = turn[i];
    stiffness_(i, i) = k_turn;
  }
  for (Eigen::Index i = 0; i < n_; ++i) {
    const double k_shape = gains.frequency_shape * gains.frequency_shape * shape_inertia_[i];
    const double k_limit = gains.limit_frequency * gains.limit_frequency * shape_inertia_[i];
    gradient_[6 + i] = k_shape * offset_[i] + k_limit * depth[i];
    stiffness_(6 + i, 6 + i) = k_shape + (depth[i] != 0.0 ? k_limit : 0.0);
    energy += 0.5 * (k_shape * offset_[i] * offset_[i] + k_limit * depth[i] * depth[i]);
  }
  return energy;
}

/// The power of the integral action, which displaces the joint reference, W.
double AttitudeAndShape::integral_power(const AttitudeGains& gains) const noexcept {
  double power = 0.0;
  for (Eigen::Index i = 0; i < n_; ++i) {
    power += shape_inertia_[i] * offset_[i] * integral_.joint_rates()[i];
  }
  return gains.frequency_shape * gains.frequency_shape * power;
}

/// Compute the desired effort from the velocity error and the potentials.
void AttitudeAndShape::compute_effort(const BaseMotion& base, const LockedBody& body,
                                      double h) noexcept {
  const AttitudeGains& gains = gains_now();
  const double rate_turn = 2.0 * gains.damping_ratio * gains.frequency_attitude;
  const double rate_shape = 2.0 * gains.damping_ratio * gains.frequency_shape;
  const MatrixBN& connection = d_.A();
  const MatrixV& shape_inertia = d_.M_hat_m();
  const VectorV& weight = d_.g();
  const MatrixView turning_connection = MatrixView(connection).bottom_rows(3);
  locked_.rightCols(n_) = connection.bottomRows<3>();
  const Matrix3d rotational_damping = rate_turn * body.inertia;
  const Matrix3V damping_map = product<Matrix3V>(rotational_damping, locked_);
  multiply(transposed(locked_), damping_map, damping_);
  damping_.bottomRightCorner(n_, n_) += rate_shape * shape_inertia;
  impedance_.compute(d_.M(), damping_, stiffness_, gradient_, error_, h);

  const VectorV spring = impedance_.spring + impedance_.predicted_spring;
  const VectorV& damped_velocity = impedance_.velocity;
  multiply(damping_map, damped_velocity, damping_moment_);
  multiply(shape_inertia, damped_velocity.tail(n_), damping_torque_);
  damping_torque_ *= rate_shape;
  const Vector3d spin = body.inertia * base.angular_velocity;
  const Vector3d turn = spring.segment<3>(3);
  Vector3d locked_rate = d_.v().segment<3>(3);
  add_product(turning_connection, d_.v().tail(n_), locked_rate);
  desired_.head<3>() = base.force;
  desired_.segment<3>(3) =
      locked_rate.cross(spin) - turn - damping_moment_ + body.centre.cross(base.force);
  for (Eigen::Index i = 0; i < n_; ++i) {
    desired_[6 + i] = weight[6 + i] - spring[6 + i] - damping_torque_[i];
  }
  add_product(transposed(turning_connection), turn, desired_.tail(n_));
  Twist active_wrench = desired_.head<6>();
  active_wrench -= weight.head<6>();
  add_product(transposed(connection), active_wrench, desired_.tail(n_));
  desired_.tail(n_) += impedance_.brake(d_, h).tail(n_);
}

/// Advance the references; a target that is not finite is ignored.
void AttitudeAndShape::follow(const Reference& reference, double dt) noexcept {
  if (reference.pose && reference.pose->allFinite()) {
    Pose desired = *reference.pose;
    desired.topLeftCorner<3, 3>() = attitude_of(reference.pose->topLeftCorner<3, 3>());
    base_.set_target(desired);
  }
  if (reference.has_joints && reference.joints.size() == n_ && reference.joints.allFinite()) {
    joints_.set_target(reference.joints);
  }
  const bool moving = reference.twist && reference.twist->allFinite();
  Twist twist = Twist::Zero();
  if (moving) twist = twist_of(*reference.twist);
  const AttitudeGains& gains = gains_now();
  base_.advance(moving ? &twist : nullptr, gains.base_speed, gains.base_turn, bandwidth(), dt);
  joints_.advance(gains.joint_speed, gains.frequency_shape, dt);
}

}  // namespace vms_ph
