// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/underactuated_flight.hpp"

#include <algorithm>

#include <Eigen/Geometry>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

const char* name_of(Base base) {
  if (base == Base::fixed) return "fixed";
  return base == Base::planar ? "planar" : "floating";
}

const Allocation& checked(const Model& model, const std::optional<Allocation>& allocation,
                          bool base_actuated) {
  if (model.base() != Base::floating) {
    throw ModelError("UnderactuatedFlight is for flying robots; the base of '" + model.name() +
                     "' is " + name_of(model.base()));
  }
  if (!allocation || !base_actuated) {
    throw ModelError("UnderactuatedFlight needs the rotors of '" + model.name() +
                     "'; give their allocation, as actuators:=own does");
  }
  return *allocation;
}

}  // namespace

const GainTable<UnderactuatedFlightGains>& UnderactuatedFlightGains::table() {
  using G = UnderactuatedFlightGains;
  static const GainTable<G> gains{
      AttitudeGains::table(),
      {
          {"frequency_position", "natural frequency of the motion of the centre of mass, rad/s",
           &G::frequency_position, 0.0, 10.0},
          {"largest_tilt", "largest angle of the wanted thrust from the vertical, rad",
           &G::largest_tilt, 0.0, 1.2},
      }};
  return gains;
}

UnderactuatedFlight::UnderactuatedFlight(const Model& model,
                                         const std::optional<Allocation>& allocation,
                                         bool base_actuated)
    : RampedGains(model, checked(model, allocation, base_actuated)),
      thrust_(single_axis(*allocation, model.name())),
      direction_(thrust_.axis),
      strength_(model.gravity().norm()),
      up_(-model.gravity() / std::max(strength_, 1e-12)) {
  begin();
}

BaseMotion UnderactuatedFlight::base_motion(Evaluation& d, const LockedBody& body,
                                            double h) noexcept {
  const UnderactuatedFlightGains& gains = gains_now();
  const Matrix3d& rotation = body.rotation;
  const PoseReference& reference = base();
  const Matrix3d level = reference.pose().topLeftCorner<3, 3>();
  const Vector3d own_velocity = reference.twist().head<3>(), own_turn = reference.twist().tail<3>();
  const Vector3d leading = level * own_velocity, turn = level * own_turn;
  // The centre of mass belongs above the reference of the base, wherever the arm is.
  const Vector3d arm = level * body.centre;
  const Vector3d minimum = reference.pose().topRightCorner<3, 1>() + integral().place();
  const Vector3d centre = rotation * body.centre;
  const Vector3d place = body.position + centre - (minimum + arm);
  const MatrixView coupling = MatrixView(d.M()).top_rows(3).right_columns(n_);
  const auto swung = product<Vector3d>(coupling, d.v().tail(n_));
  const Vector3d carrying = level * swung;
  const Vector3d sway = carrying / body.mass + turn.cross(arm);
  const Vector3d own_momentum = d.momentum().head<3>();
  const Vector3d momentum = rotation * own_momentum;
  const Vector3d speed = momentum / body.mass - leading;
  const Vector3d own_acceleration = reference.acceleration().head<3>();
  const Vector3d gaining = level * own_acceleration;
  const Vector3d ahead = gaining + turn.cross(leading);
  const double stiffness = gains.frequency_position * gains.frequency_position;
  double rate = 2.0 * gains.damping_ratio * gains.frequency_position;
  // Damping of the velocity that it leaves.
  rate = (rate + h * stiffness) / (1.0 + h * (rate + h * stiffness));
  const Vector3d weight = strength_ * up_;
  const auto wanted_acceleration = [&](const Vector3d& at, const Vector3d& velocity) {
    const Vector3d pull = weight + ahead - stiffness * at - rate * velocity;
    return ThrustDirection::within(pull, up_, strength_, gains.largest_tilt);
  };

  const Vector3d push = body.mass * wanted_acceleration(place, speed);
  BaseMotion motion;
  motion.attitude = direction_.attitude(push, level);
  const Vector3d axis = rotation * thrust_.axis;
  const double along = push.dot(axis);
  const double thrust = std::min(std::max(along, thrust_.least), thrust_.most);
  const Vector3d force = thrust * axis;
  const Vector3d gained = force / body.mass - weight - ahead;
  constexpr double kStep = 1e-3;
  const Vector3d later =
      wanted_acceleration(place + kStep * (speed - sway), speed + kStep * gained);
  const Matrix3d frame = level * se3::rotation(kStep * own_turn);
  const Matrix3d after = direction_.attitude(later, frame);
  motion.force = thrust * thrust_.axis;
  const auto between = product<Matrix3d>(transposed(motion.attitude), after);
  const Vector3d turned = motion.attitude * se3::rotation_vector(between);
  motion.turning = product<Vector3d>(transposed(rotation), turned) / kStep;
  motion.kinetic = 0.5 * body.mass * speed.squaredNorm();
  motion.potential = 0.5 * body.mass * stiffness * place.squaredNorm();
  motion.damping = body.mass * rate * speed.squaredNorm();
  motion.astray = speed.dot(force - push);
  motion.carried = -body.mass * stiffness * place.dot(sway + integral().place_rate());
  motion.reason = along > thrust_.least ? "" : "turning over: the least thrust";
  return motion;
}

Twist UnderactuatedFlight::twist_of(const Twist& twist) const noexcept {
  const Matrix3d rotation = base().pose().topLeftCorner<3, 3>();
  const auto up = product<Vector3d>(transposed(rotation), up_);
  const Vector3d turn = twist.tail<3>();
  Twist level = twist;
  level.tail<3>() = up.dot(turn) * up;
  return level;
}

}  // namespace vms_ph
