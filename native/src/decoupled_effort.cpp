// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/decoupled_effort.hpp"

#include <algorithm>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// Bounds of the displacement of the reference: the spring force on the base over its mass, m/s^2,
// and the angle of the attitude or the displacement of a joint, rad or m.
constexpr double kLargestAcceleration = 0.5 * 9.80665, kMaxAngle = 0.5;

// Largest rate of the correction, over the horizon: a quarter of that of the largest damping.
constexpr double kLargestRate = 0.25;

Eigen::Vector3d clip_length(const Eigen::Vector3d& vector, double max_length) noexcept {
  const double length = vector.norm();
  return length <= max_length ? vector : Eigen::Vector3d(vector * (max_length / length));
}

}  // namespace

IntegralAction::IntegralAction(int n)
    : joint_offset_(VectorV::Zero(n)), joint_rates_(VectorV::Zero(n)) {
  restart();
}

void IntegralAction::restart() noexcept {
  position_.setZero();
  rotation_vector_.setZero();
  rotation_.setIdentity();
  joint_offset_.setZero();
  hold_displacement();
}

void IntegralAction::hold_displacement() noexcept {
  position_rate_.setZero();
  angular_velocity_.setZero();
  joint_rates_.setZero();
}

void IntegralAction::advance(double gain, double omega_base, double omega_shape,
                             const Eigen::Vector3d& position_error,
                             const Eigen::Matrix3d* rotation_error, const VectorV& joint_error,
                             double dt, double h) noexcept {
  if (gain == 0.0) {
    restart();
    return;
  }
  if (dt == 0.0) {
    hold_displacement();
    return;
  }
  Eigen::Vector3d next_position = Eigen::Vector3d::Zero();
  const double max_share = dt * kLargestRate / h,
               error_share = std::min(dt * gain * omega_base, max_share);
  if (omega_base > 0.0)
    next_position = clip_length(position_ - error_share * position_error,
                                kLargestAcceleration / (omega_base * omega_base));
  if (rotation_error != nullptr) {
    rotation_vector_ = clip_length(
        rotation_vector_ - error_share * se3::rotation_vector(*rotation_error), kMaxAngle);
    const Eigen::Matrix3d last_rotation = rotation_;
    rotation_ = se3::rotation(rotation_vector_);
    angular_velocity_ = se3::rotation_vector(last_rotation.transpose() * rotation_) / dt;
  }
  position_rate_ = (next_position - position_) / dt;
  position_ = next_position;
  for (Eigen::Index i = 0; i < joint_offset_.size(); ++i) {
    const double offset_change = -std::min(dt * gain * omega_shape, max_share) * joint_error[i];
    const double next_offset = std::clamp(joint_offset_[i] + offset_change, -kMaxAngle, kMaxAngle);
    joint_rates_[i] = (next_offset - joint_offset_[i]) / dt;
    joint_offset_[i] = next_offset;
  }
}

DecoupledEffort::DecoupledEffort(const Model& model)
    : velocity_error(VectorV::Zero(model.nv())),
      continuous_effort(velocity_error),
      sampled_effort(velocity_error),
      b_(model.b()),
      n_(model.n()),
      joint_limits_(model),
      joint_positions_(VectorV::Zero(model.n())),
      impedance_(model) {
  demand.gradient = demand.stiffness = demand.velocity = demand.acceleration = velocity_error;
}

double DecoupledEffort::set_springs(const Evaluation& d, const Springs& springs,
                                    const PosePotential& potential, const Pose& pose,
                                    const VectorV& joint_error) noexcept {
  d.model().joint_positions(d.q(), joint_positions_);
  const LimitSprings limit_springs = joint_limits_.springs(
      joint_positions_, d.v().tail(n_), springs.k_limit, springs.limit_margin, demand.h);
  const double k_position = springs.k_position, k_rotation = springs.k_rotation;
  demand.gradient.head(b_) = base_components(potential.gradient(pose, k_position, k_rotation), b_);
  Twist base_stiffness;
  base_stiffness << k_position, k_position, k_position, k_rotation, k_rotation, k_rotation;
  demand.stiffness.head(b_) = base_components(base_stiffness, b_);
  double energy = potential.energy(pose, k_position, k_rotation) + limit_springs.energy;
  for (int k = 0; k < n_; ++k) {
    const double stiffness = springs.k_shape[k];
    demand.gradient[b_ + k] = stiffness * joint_error[k] + limit_springs.force[k];
    demand.stiffness[b_ + k] = stiffness + limit_springs.stiffness[k];
    energy += 0.5 * stiffness * joint_error[k] * joint_error[k];
  }
  return energy;
}

void DecoupledEffort::set_reference(const Evaluation& d, const Pose& pose, const Twist& twist,
                                    const Twist& acceleration, const ConstVector& rates,
                                    const ConstVector& accelerations) noexcept {
  const se3::Adjoint to_body = se3::Ad(se3::inverse(pose));
  const auto velocity = product<Twist>(to_body, twist);
  demand.is_resting = false;
  demand.velocity.head(b_) = base_components(velocity, b_);
  demand.velocity.tail(n_) = rates;
  const VectorB relative_v = d.v().head(b_) - demand.velocity.head(b_);
  Twist relative_twist = Twist::Zero();
  if (b_ == 6) {
    relative_twist = relative_v;
  } else {
    relative_twist << relative_v[0], relative_v[1], 0.0, 0.0, 0.0, relative_v[2];
  }
  auto base_acceleration = product<Twist>(to_body, acceleration);
  add_product(se3::ad(relative_twist), velocity, base_acceleration, -1.0);
  demand.acceleration.head(b_) = base_components(base_acceleration, b_);
  demand.acceleration.tail(n_) = accelerations;
}

void DecoupledEffort::set_reference_at_rest() noexcept {
  demand.is_resting = true;
  demand.velocity.setZero();
  demand.acceleration.setZero();
}

void DecoupledEffort::compute(Evaluation& d) noexcept {
  const double base_damping = demand.base_damping, shape_damping = demand.shape_damping,
               h = demand.h;
  const MatrixV &mass = d.M(), &shape_inertia = d.M_hat_m();
  const MatrixBN& connection = d.A();
  velocity_error = d.v() - demand.velocity;
  const VectorV joint_rate_error = velocity_error.tail(n_);
  VectorB locked_velocity_error = velocity_error.head(b_);
  add_product(connection, joint_rate_error, locked_velocity_error);
  const VectorB base_momentum = product<VectorB>(d.M_b(), locked_velocity_error);
  const VectorV shape_momentum = product<VectorV>(shape_inertia, joint_rate_error);
  damping_ = base_damping * mass;
  damping_.bottomRightCorner(n_, n_) = shape_damping * shape_inertia;
  add_product(transposed(connection), d.M_bm(), damping_.bottomRightCorner(n_, n_), base_damping);
  stiffness_.setZero(b_ + n_, b_ + n_);
  stiffness_.diagonal() = demand.stiffness;
  impedance_.compute(mass, damping_, stiffness_, demand.gradient, velocity_error, h);

  const VectorV& end_velocity = impedance_.damping_velocity;
  const VectorV end_rates = end_velocity.tail(n_);
  VectorB end_locked_velocity = end_velocity.head(b_);
  add_product(connection, end_rates, end_locked_velocity);
  VectorB base_force = product<VectorB>(d.M_b(), end_locked_velocity);
  base_force *= base_damping;
  VectorV shape_force = product<VectorV>(shape_inertia, end_rates);
  shape_force *= shape_damping;
  continuous_effort = d.g();
  if (!demand.is_resting) {
    add_product(mass, demand.acceleration, continuous_effort);
    add_product(d.C(), demand.velocity, continuous_effort);
  }
  continuous_effort -= demand.gradient + impedance_.predicted_spring_force;
  continuous_effort.head(b_) -= base_force;
  // The damping of the locked motion also acts on the joints; its potential does not.
  continuous_effort.tail(n_) -= shape_force;
  add_product(transposed(connection), base_force, continuous_effort.tail(n_), -1.0);
  sampled_effort = continuous_effort + demand.gradient - impedance_.spring_force;
  sampled_effort += impedance_.brake(d, h);
  base_kinetic_energy = 0.5 * locked_velocity_error.dot(base_momentum);
  shape_kinetic_energy = 0.5 * joint_rate_error.dot(shape_momentum);
  base_damping_power = base_force.dot(locked_velocity_error) +
                       impedance_.predicted_spring_force.head(b_).dot(velocity_error.head(b_));
  shape_damping_power = shape_force.dot(joint_rate_error) +
                        impedance_.predicted_spring_force.tail(n_).dot(velocity_error.tail(n_));
}

}  // namespace vms_ph
