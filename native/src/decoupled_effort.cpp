// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/decoupled_effort.hpp"

#include <algorithm>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// Of the standard acceleration of gravity, m/s^2, as a force on the base relative to its mass; of
// the attitude and of a joint, rad or m. The displacement of the reference reaches no further.
constexpr double kLargestAcceleration = 0.5 * 9.80665, kMaxAngle = 0.5;

// Largest rate of the correction, over the horizon: a quarter of that of the largest damping.
constexpr double kLargestRate = 0.25;

Eigen::Vector3d clip_length(const Eigen::Vector3d& vector, double largest) noexcept {
  const double length = vector.norm();
  return length <= largest ? vector : Eigen::Vector3d(vector * (largest / length));
}

}  // namespace

IntegralAction::IntegralAction(int n) : joints_(VectorV::Zero(n)), joint_rates_(VectorV::Zero(n)) {
  restart();
}

void IntegralAction::restart() noexcept {
  position_.setZero();
  rotation_vector_.setZero();
  rotation_.setIdentity();
  joints_.setZero();
  zero_rates();
}

void IntegralAction::zero_rates() noexcept {
  position_rate_.setZero();
  angular_velocity_.setZero();
  joint_rates_.setZero();
}

void IntegralAction::advance(double share, double base, double shape,
                             const Eigen::Vector3d& position_error,
                             const Eigen::Matrix3d* rotation_error, const VectorV& offset,
                             double dt, double h) noexcept {
  if (share == 0.0) {
    restart();
    return;
  }
  if (dt == 0.0) {
    zero_rates();
    return;
  }
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  const double largest = dt * kLargestRate / h, rate = std::min(dt * share * base, largest);
  if (base > 0.0)
    position = clip_length(position_ - rate * position_error, kLargestAcceleration / (base * base));
  if (rotation_error != nullptr) {
    rotation_vector_ =
        clip_length(rotation_vector_ - rate * se3::rotation_vector(*rotation_error), kMaxAngle);
    const Eigen::Matrix3d before = rotation_;
    rotation_ = se3::rotation(rotation_vector_);
    angular_velocity_ = se3::rotation_vector(before.transpose() * rotation_) / dt;
  }
  position_rate_ = (position - position_) / dt;
  position_ = position;
  for (Eigen::Index i = 0; i < joints_.size(); ++i) {
    const double desired = joints_[i] - std::min(dt * share * shape, largest) * offset[i];
    const double joint = std::min(std::max(desired, -kMaxAngle), kMaxAngle);
    joint_rates_[i] = (joint - joints_[i]) / dt;
    joints_[i] = joint;
  }
}

DecoupledEffort::DecoupledEffort(const Model& model)
    : error(VectorV::Zero(model.nv())),
      continuous(error),
      sampled(error),
      b_(model.b()),
      n_(model.n()),
      joint_limits_(model),
      positions_(VectorV::Zero(model.n())),
      impedance_(model) {
  demand.gradient = demand.stiffness = demand.velocity = demand.acceleration = error;
}

double DecoupledEffort::set_springs(const Evaluation& d, const Springs& springs,
                                    const PosePotential& potential, const Pose& pose,
                                    const VectorV& offset) noexcept {
  d.model().joint_positions(d.q(), positions_);
  const LimitSprings limits =
      joint_limits_.springs(positions_, d.v().tail(n_), springs.limit, springs.margin, demand.h);
  const double position = springs.position, rotation = springs.rotation;
  demand.gradient.head(b_) = base_components(potential.gradient(pose, position, rotation), b_);
  Twist base;
  base << position, position, position, rotation, rotation, rotation;
  demand.stiffness.head(b_) = base_components(base, b_);
  double energy = potential.value(pose, position, rotation) + limits.energy;
  for (int k = 0; k < n_; ++k) {
    const double spring = springs.shape[k];
    demand.gradient[b_ + k] = spring * offset[k] + limits.force[k];
    demand.stiffness[b_ + k] = spring + limits.stiffness[k];
    energy += 0.5 * spring * offset[k] * offset[k];
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
  const VectorB relative_twist = d.v().head(b_) - demand.velocity.head(b_);
  Twist relative = Twist::Zero();
  if (b_ == 6) {
    relative = relative_twist;
  } else {
    relative << relative_twist[0], relative_twist[1], 0.0, 0.0, 0.0, relative_twist[2];
  }
  auto base_acceleration = product<Twist>(to_body, acceleration);
  add_product(se3::ad(relative), velocity, base_acceleration, -1.0);
  demand.acceleration.head(b_) = base_components(base_acceleration, b_);
  demand.acceleration.tail(n_) = accelerations;
}

void DecoupledEffort::set_rest() noexcept {
  demand.is_resting = true;
  demand.velocity.setZero();
  demand.acceleration.setZero();
}

void DecoupledEffort::compute(Evaluation& d) noexcept {
  const double base = demand.base, shape = demand.shape, h = demand.h;
  const MatrixV &mass = d.M(), &shape_inertia = d.M_hat_m();
  const MatrixBN& connection = d.A();
  error = d.v() - demand.velocity;
  const VectorV error_shape = error.tail(n_);
  VectorB locked = error.head(b_);
  add_product(connection, error_shape, locked);
  const VectorB momentum_base = product<VectorB>(d.M_b(), locked);
  const VectorV momentum_shape = product<VectorV>(shape_inertia, error_shape);
  damping_ = base * mass;
  damping_.bottomRightCorner(n_, n_) = shape * shape_inertia;
  add_product(transposed(connection), d.M_bm(), damping_.bottomRightCorner(n_, n_), base);
  stiffness_.setZero(b_ + n_, b_ + n_);
  stiffness_.diagonal() = demand.stiffness;
  impedance_.compute(mass, damping_, stiffness_, demand.gradient, error, h);

  const VectorV& end_velocity = impedance_.velocity;
  const VectorV end_rates = end_velocity.tail(n_);
  VectorB end_locked = end_velocity.head(b_);
  add_product(connection, end_rates, end_locked);
  VectorB force_base = product<VectorB>(d.M_b(), end_locked);
  force_base *= base;
  VectorV force_shape = product<VectorV>(shape_inertia, end_rates);
  force_shape *= shape;
  continuous = d.g();
  if (!demand.is_resting) {
    add_product(mass, demand.acceleration, continuous);
    add_product(d.C(), demand.velocity, continuous);
  }
  continuous -= demand.gradient + impedance_.predicted_spring;
  continuous.head(b_) -= force_base;
  // The damping of the locked motion also acts on the joints; its potential does not.
  continuous.tail(n_) -= force_shape;
  add_product(transposed(connection), force_base, continuous.tail(n_), -1.0);
  sampled = continuous + demand.gradient - impedance_.spring;
  sampled += impedance_.brake(d, h);
  kinetic_base = 0.5 * locked.dot(momentum_base);
  kinetic_shape = 0.5 * error_shape.dot(momentum_shape);
  damping_base = force_base.dot(locked) + impedance_.predicted_spring.head(b_).dot(error.head(b_));
  damping_shape =
      force_shape.dot(error_shape) + impedance_.predicted_spring.tail(n_).dot(error.tail(n_));
}

}  // namespace vms_ph
