// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/cartesian_impedance.hpp"

#include <algorithm>
#include <utility>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {
namespace {

// Bandwidth of the observer of the force, 1/s, and of its correction.
constexpr double kObserverBandwidth = 30.0, kCorrectionBandwidth = 4.0;

// Share of the desired force by which the correction may change it.
constexpr double kCorrectionShare = 0.5;

// Share of the capacity of the tank below which the force decreases with its level.
constexpr double kReserveShare = 0.1;

// Below this force nothing is pushed, N.
constexpr double kMinForce = 1e-6;

// Standard deviations of a contact before anything is measured, N and N m.
constexpr double kContactForceDeviation = 300.0, kContactMomentDeviation = 60.0;

}  // namespace

const GainTable<PushGains>& PushGains::table() {
  using G = PushGains;
  static const GainTable<G> gains{
      ImpedanceGains::table(),
      {
          {"push_force", "largest force of a push, N", &G::push_force, 0.0, 1e4},
          {"push_speed", "speed of a push without contact, m/s", &G::push_speed, 1e-3, 2.0},
          {"push_energy", "energy that pushes may give, J", &G::push_energy, 0.0, 1e6, Ramp::none},
          {"push_routing", "share of other damping that pushes may give", &G::push_routing},
          {"push_rate", "rate at which the force of a push changes, N/s", &G::push_rate, 0.1, 1e5},
          {"push_feedback", "corrected share of the observed force error", &G::push_feedback},
      }};
  return gains;
}

PushingImpedance::PushingImpedance(const Model& model, std::optional<Allocation> allocation,
                                   bool base_actuated)
    : PostureGains(model, std::move(allocation), base_actuated),
      impulse_balance_(model, NoiseModel(), true),
      momentum_observer_(model, kObserverBandwidth),
      wrench_map_(impulse_balance_, kContactForceDeviation, kContactMomentDeviation, 0.0, 0.0),
      tool_jacobian_(Matrix6V::Zero(6, model.nv())),
      tool_rotation_(Eigen::Matrix3d::Identity()),
      tool_position_(Eigen::Vector3d::Zero()) {
  push_.effort = zero_velocity_;
  reset_to_neutral();
}

bool PushingImpedance::reset(const RobotState& state) noexcept {
  if (!PoseImpedance::reset(state)) return false;
  tank_.reset();
  return true;
}

void PushingImpedance::note_missed_updates() noexcept {
  PoseImpedance::note_missed_updates();
  impulse_balance_.restart();
  last_force_.reset();
}

void PushingImpedance::start_holding() noexcept {
  PoseImpedance::start_holding();
  impulse_balance_.restart();
  momentum_observer_.restart();
  last_force_.reset();
  desired_force_.setZero();
  push_axis_ = Eigen::Vector3d::UnitX();
  push_force_ = force_correction_ = observed_force_ = routable_power_ = 0.0;
}

const Push* PushingImpedance::update_push(const Reference& reference, double dt) noexcept {
  const PushGains& gains = active_gains();
  const pinocchio::SE3& placement = d_.placement(model_.end_effector());
  tool_rotation_ = placement.rotation();
  tool_position_ = placement.translation();
  tool_jacobian_ = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  update_tank(dt);
  if (!update_direction(reference, dt)) return nullptr;
  move_reference();
  const double capacity = std::max(gains.push_energy, 1e-12);
  push_.authority = std::min(1.0, std::max(0.0, push_level()) / (kReserveShare * capacity));
  const double force = push_.authority * (push_force_ + update_force_correction(dt));
  last_force_ = AppliedForce{tool_position_, force, push_axis_};
  multiply(transposed(tool_rotation_), push_axis_, push_.direction);
  const MatrixView linear_rows = MatrixView(tool_jacobian_).top_rows(3);
  const auto effort_row = product<VectorV>(transposed(linear_rows), push_.direction);
  VectorV acceleration = effort_row;
  Cholesky(d_.M()).solve(acceleration.data());
  const double speed_gain = horizon(dt, gains.delay, age_) * force * effort_row.dot(acceleration);
  push_.damping = force / std::max(gains.push_speed - speed_gain, 0.5 * gains.push_speed);
  push_.effort = force * effort_row;
  push_.reason = "";
  if (push_.authority < 1.0) {
    push_.damping = std::max(push_.damping, gains.damping);
    push_.reason = reasons::push_energy_used_up;
  }
  return &push_;
}

/// Withdraw the work of the held force from the tank, and route dissipated energy into it.
void PushingImpedance::update_tank(double dt) noexcept {
  const PushGains& gains = active_gains();
  if (!tank_) tank_.emplace(gains.push_energy, gains.push_energy);
  tank_->capacity = gains.push_energy;
  if (last_force_) {
    tank_->withdraw(last_force_->force *
                    last_force_->direction.dot(tool_position_ - last_force_->position));
    tank_->deposit(gains.push_routing * std::max(0.0, routable_power_) * std::max(dt, 0.0));
  }
  const auto twist = product<Twist>(tool_jacobian_, d_.v());
  const Eigen::Vector3d velocity = twist.head<3>(), angular_velocity = twist.tail<3>();
  const auto direction = product<Eigen::Vector3d>(transposed(tool_rotation_), push_axis_);
  const Eigen::Vector3d lateral_velocity = velocity - direction.dot(velocity) * direction;
  // The smallest share of all directions: no more energy is routed than was taken out.
  const double damping_share =
      std::min({gains.damping_share_x, gains.damping_share_y, gains.damping_share_z});
  const double rotation_share =
      std::min({gains.damping_share_rx, gains.damping_share_ry, gains.damping_share_rz});
  routable_power_ = damping_share * gains.damping * lateral_velocity.squaredNorm();
  routable_power_ += rotation_share * gains.damping_rotation * angular_velocity.squaredNorm();
}

/// Advance direction and force towards the desired ones; false without a force reference.
bool PushingImpedance::update_direction(const Reference& reference, double dt) noexcept {
  const PushGains& gains = active_gains();
  if (reference.wrench && reference.wrench->allFinite())
    desired_force_ = reference.wrench->head<3>();
  const double desired_norm = desired_force_.norm();
  const bool changes_direction =
      desired_norm > kMinForce && desired_force_.dot(push_axis_) < 0.999 * desired_norm;
  // Before the direction changes, the force goes down to zero.
  const double target_force = changes_direction ? 0.0 : std::min(desired_norm, gains.push_force);
  const double force_step = dt > 0.0 ? gains.push_rate * dt : kInfinity;
  push_force_ += std::min(std::max(target_force - push_force_, -force_step), force_step);
  if (push_force_ > kMinForce) return true;
  push_force_ = force_correction_ = 0.0;
  if (desired_norm <= kMinForce) {
    impulse_balance_.restart();
    momentum_observer_.restart();
    last_force_.reset();
    return false;
  }
  push_axis_ = desired_force_ / desired_norm;
  return true;
}

/// Let the reference pose follow along the direction of the push.
void PushingImpedance::move_reference() noexcept {
  Eigen::Vector3d push_direction = push_axis_, position = tool_position_;
  if (is_relative_ && b_ > 0) {
    const auto base = model_.base_pose(d_.q());
    const Eigen::Vector3d base_offset = tool_position_ - base.translation();
    multiply(transposed(base.rotation()), push_axis_, push_direction);
    multiply(transposed(base.rotation()), base_offset, position);
  }
  const Eigen::Vector3d deviation = position - tool_reference_.pose().topRightCorner<3, 1>();
  tool_reference_.shift(push_direction.dot(deviation) * push_direction);
}

/// Return the correction of the force by the observed one, N.
double PushingImpedance::update_force_correction(double dt) noexcept {
  const ExternalImpulse* impulse = impulse_balance_.add(d_.q(), d_.v(), last_effort_, dt);
  if (impulse == nullptr) return force_correction_;
  momentum_observer_.add(*impulse);
  wrench_map_.estimate(*impulse->d, momentum_observer_);
  const Eigen::Vector3d force = wrench_map_.wrench().head<3>();
  const Eigen::Vector3d inertial_force = tool_rotation_ * force;
  observed_force_ = -push_axis_.dot(inertial_force);
  const double feedback_gain = active_gains().push_feedback;
  // A force that only accelerates the end effector is no contact: it is not corrected.
  if (feedback_gain > 0.0 && observed_force_ > kCorrectionShare * push_force_) {
    const double force_error = feedback_gain * (push_force_ - observed_force_),
                 max_correction = kCorrectionShare * push_force_;
    force_correction_ += std::min(1.0, kCorrectionBandwidth * dt) * force_error;
    force_correction_ = std::min(std::max(force_correction_, -max_correction), max_correction);
  } else {
    force_correction_ *= 1.0 - std::min(1.0, kObserverBandwidth * dt);
  }
  return force_correction_;
}

}  // namespace vms_ph
