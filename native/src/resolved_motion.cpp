// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/resolved_motion.hpp"

#include <algorithm>
#include <optional>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

const Model& checked(const Model& model) {
  if (model.base() != Base::floating) {
    throw ModelError("ResolvedMotion is for robots that float in space; '" + model.name() +
                     "' is on a " + (model.b() == 0 ? "fixed" : "planar") + " base");
  }
  return model;
}

}  // namespace

const GainTable<ResolvedGains>& ResolvedGains::table() {
  using G = ResolvedGains;
  static const GainTable<G> gains{
      OutputGains::table(),
      {
          {"bandwidth", "rate at which tool errors decay, 1/s", &G::bandwidth, 0.0, 20.0},
          {"bandwidth_attitude", "rate at which attitude errors of the base decay, 1/s",
           &G::bandwidth_attitude, 0.0, 20.0},
          {"bandwidth_rates", "rate at which errors of the joint rates decay, 1/s",
           &G::bandwidth_rates, 0.0, 200.0},
          {"least_singular_value", "singular value below which the inverse of a Jacobian is damped",
           &G::least_singular_value, 1e-6, 1.0},
          {"hold_attitude", "hold the attitude of the base by the joints", &G::hold_attitude},
          {"joint_speed", "largest joint rate, rad/s or m/s", &G::joint_speed, 1e-3, 20.0},
          {"speed", "largest linear speed of the reference, m/s", &G::speed, 1e-3, 20.0},
          {"turn", "largest angular speed of the reference, rad/s", &G::turn, 1e-3, 20.0},
      }};
  return gains;
}

ResolvedMotion::ResolvedMotion(const Model& model)
    : RampedGains(checked(model), std::make_unique<BaseActuation>(model, std::nullopt, false)),
      wanted_rates_(n_),
      last_(VectorV::Zero(n_)),
      acceleration_(last_),
      limit_inertia_(last_),
      positions_(last_),
      wanted_(rest_),
      velocity_terms_(rest_) {
  begin();
}

void ResolvedMotion::hold() noexcept {
  attitude_ = model_.base_pose(d_.q()).rotation();
  tool_.restart(d_.placement(model_.end_effector()).toHomogeneousMatrix());
  limit_inertia_ = d_.M_hat_m().diagonal();
  has_last_ = false;
}

void ResolvedMotion::missed_updates() noexcept {
  has_last_ = false;
  StagedController::missed_updates();
}

const Command& ResolvedMotion::control(const Reference& reference, double dt) noexcept {
  const ResolvedGains& gains = gains_now();
  tool_.follow(reference, reference.pose, gains.speed, gains.turn,
               std::max(2.0 * gains.bandwidth, 1e-3), dt);
  const Twist error = away();
  want_rates(error);
  const VectorV& rates = wanted_rates_.rates;
  double bandwidth = gains.bandwidth_rates;
  if (dt > 0.0) bandwidth = std::min(bandwidth, 0.5 / dt);
  for (int k = 0; k < n_; ++k) {
    acceleration_[k] = bandwidth * (rates[k] - d_.v()[6 + k]);
    if (has_last_ && dt > 0.0) acceleration_[k] += (rates[k] - last_[k]) / dt;
  }
  last_ = rates;
  has_last_ = true;
  shape_force();
  model_.joint_positions(d_.q(), positions_);
  const VectorV depth = joint_limits_.depth(positions_, gains.limit_margin);
  const double squared = gains.limit_frequency * gains.limit_frequency;
  for (int k = 0; k < n_; ++k) wanted_[6 + k] -= squared * limit_inertia_[k] * depth[k];
  if (!wanted_.allFinite()) return refuse();
  const VectorV& given = pass(wanted_, dt);
  ControlEnergy& energy = command_.energy;
  energy.closed_loop_energy = d_.kinetic_energy();
  energy.reference_power = (wanted_ - d_.g()).dot(d_.v());
  energy.clipped_power = (given - wanted_).dot(d_.v());
  command_.task_error = error.head<3>().norm();
  command_.smallest_singular_value = wanted_rates_.smallest;
  return told(given, {});
}

/// The way of the tool to its reference, in inertial axes.
Twist ResolvedMotion::away() noexcept {
  const pinocchio::SE3& pose = d_.placement(model_.end_effector());
  const Eigen::Matrix3d goal = tool_.pose().topLeftCorner<3, 3>();
  Twist error;
  error.head<3>() = tool_.pose().topRightCorner<3, 1>() - pose.translation();
  const Eigen::Vector3d turn = se3::rotation_vector(pose.rotation().transpose() * goal);
  error.tail<3>() = goal * turn;
  return error;
}

/// Compute the joint rates that at the present momentum move the tool as wanted.
void ResolvedMotion::want_rates(const Twist& error) noexcept {
  const ResolvedGains& gains = gains_now();
  const Eigen::Matrix3d goal = tool_.pose().topLeftCorner<3, 3>();
  const MatrixBN& A = d_.A();
  Twist locked = d_.v().head<6>();
  add_product(A, d_.v().tail(n_), locked);
  const auto& full = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL_WORLD_ALIGNED);
  const auto tool = [&](Eigen::Index rows) {
    jacobian_ = full.topRightCorner(rows, n_);
    add_product(full.topLeftCorner(rows, 6), A, jacobian_, -1.0);
  };
  Twist twist = gains.bandwidth * error;
  add_product(goal, tool_.twist().head<3>(), twist.head<3>());
  add_product(goal, tool_.twist().tail<3>(), twist.tail<3>());
  add_product(full.leftCols<6>(), locked, twist, -1.0);
  const auto add = [&](const VectorB& wanted) {
    wanted_rates_.add(jacobian_, wanted, gains.least_singular_value, gains.joint_speed);
  };
  wanted_rates_.restart();
  if (gains.hold_attitude) {
    const Eigen::Matrix3d rotation = model_.base_pose(d_.q()).rotation();
    const Eigen::Vector3d turned = se3::rotation_vector(attitude_.transpose() * rotation);
    jacobian_ = A.bottomRows<3>();
    add(locked.tail<3>() + gains.bandwidth_attitude * turned);
    tool(3);
    add(twist.head<3>());
  } else {
    tool(6);
    add(twist);
  }
}

/// Compute the forces that give joint accelerations on a base without actuators, with gravity.
void ResolvedMotion::shape_force() noexcept {
  multiply(d_.C(), d_.v(), velocity_terms_);
  wanted_ = d_.g();
  wanted_.tail(n_) += velocity_terms_.tail(n_);
  add_product(d_.M_hat_m(), acceleration_, wanted_.tail(n_));
  add_product(transposed(d_.A()), velocity_terms_.head(6), wanted_.tail(n_), -1.0);
}

}  // namespace vms_ph
