// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Flight on thrust along one axis of the base, with an arm that moves.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include <Eigen/Geometry>

#include "law_factories.hpp"
#include "vms_ph_native/attitude_and_shape.hpp"
#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"
#include "vms_ph_native/texts.hpp"

namespace vms_ph {

/// The axis of the thrusts of a base, and what they reach along it.
struct SingleAxis {
  Eigen::Vector3d axis;  ///< in the frame of the base, length one
  double least = 0.0;    ///< thrust along it, N
  double most = 0.0;     ///< thrust along it, N
};

/// @param name         of the robot, for messages.
/// @throws ModelError  there are several axes, or the base cannot be turned about all axes.
SingleAxis single_axis(const Allocation& allocation, const std::string& name);

/// The attitudes of a base whose thrust has one axis; see
/// vms_ph_controllers/laws/thrust_direction.py.
class ThrustDirection {
 public:
  /// @param axis  of the thrust in the frame of the base, length one.
  explicit ThrustDirection(const Eigen::Vector3d& axis);

  /// The rotation whose thrust is along a force that is not zero, nose near that of a heading.
  Eigen::Matrix3d attitude(const Eigen::Vector3d& force,
                           const Eigen::Matrix3d& heading) const noexcept;

  /// A force, or one per mass, brought into a cone around the vertical.
  ///
  /// @param up      length one.
  /// @param weight  force, or one per mass, that holds the robot.
  /// @param tilt    largest angle from the vertical, rad.
  static Eigen::Vector3d within(const Eigen::Vector3d& force, const Eigen::Vector3d& up,
                                double weight, double tilt) noexcept;

 private:
  Eigen::Matrix3d body_axes_;  // nose, left side and axis
};

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Least share of the weight that a desired force carries, so that its direction is defined.
constexpr double kLeastLift = 0.3;

// Largest desired force, in weights.
constexpr double kMostLift = 3.0;

// Singular values below this share of the largest count as zero.
constexpr double kRank = 1e-6;

/// Of A A^T: the squares of the singular values, in increasing order, and the left vectors.
SymmetricEigen squares(const Eigen::MatrixXd& A) {
  SymmetricEigen eigen;
  eigen.compute(product<Eigen::MatrixXd>(A, transposed(A)));
  return eigen;
}

}  // namespace

SingleAxis single_axis(const Allocation& allocation, const std::string& name) {
  const Eigen::MatrixXd forces = allocation.matrix().topRows(3);
  const SymmetricEigen along = squares(forces);
  const Eigen::VectorXd& sizes = along.values();
  if (!(sizes[2] > 0.0) || std::max(sizes[1], 0.0) > kRank * kRank * sizes[2]) {
    throw ModelError("the rotors of '" + name +
                     "' push along several axes or none; UnderactuatedFlight is for one axis, "
                     "DecoupledVMSController for all");
  }
  Vector3d axis = along.vectors().col(2);
  Eigen::VectorXd shares = product<Eigen::VectorXd>(transposed(forces), axis);
  if (shares.sum() < 0.0) {
    axis = -axis;
    shares = -shares;
  }
  const Eigen::VectorXd levers = squares(allocation.matrix()).values();
  if (levers.size() < 4 || !(levers[2] > kRank * kRank * levers[5])) {
    throw ModelError("the rotors of '" + name + "' cannot turn it about all axes");
  }
  const Eigen::VectorXd low = shares.cwiseProduct(allocation.lower());
  const Eigen::VectorXd high = shares.cwiseProduct(allocation.upper());
  return {axis, low.cwiseMin(high).sum(), low.cwiseMax(high).sum()};
}

ThrustDirection::ThrustDirection(const Vector3d& axis) {
  const Vector3d forward = std::abs(axis.x()) > 0.9 ? Vector3d::UnitY() : Vector3d::UnitX();
  const Vector3d nose = (forward - axis * axis.dot(forward)).normalized();
  body_axes_ << nose, axis.cross(nose), axis;
}

Matrix3d ThrustDirection::attitude(const Vector3d& force, const Matrix3d& heading) const noexcept {
  const Vector3d along = force / force.norm();
  Vector3d nose = heading * body_axes_.col(0);
  Vector3d flat = nose - along * along.dot(nose);
  if (flat.squaredNorm() < 1e-6) {
    nose = (heading * body_axes_.col(1)).cross(along);
    flat = nose - along * along.dot(nose);
  }
  flat /= flat.norm();
  Matrix3d desired;
  desired << flat, along.cross(flat), along;
  return desired * body_axes_.transpose();
}

Vector3d ThrustDirection::within(const Vector3d& force, const Vector3d& up, double weight,
                                 double tilt) noexcept {
  const double along = force.dot(up);
  const double lift = std::min(std::max(along, kLeastLift * weight), kMostLift * weight);
  const Vector3d across = force - up * along;
  const double size = across.norm();
  const double most = std::cos(tilt) > 0.0 ? lift * std::tan(tilt) : size;
  return lift * up + across * std::min(1.0, most / std::max(size, 1e-12));
}

/// Gains of the flight.
struct UnderactuatedFlightGains : AttitudeGains {
  double frequency_position = 1.2, largest_tilt = 0.6;

  static const GainTable<UnderactuatedFlightGains>& table();
};

/// Geometric flight with a thrust along one axis, in the inertially decoupled coordinates of
/// [A (59)]. The law is described in vms_ph_controllers/laws/underactuated_flight.py.
class UnderactuatedFlight final : public RampedGains<AttitudeAndShape, UnderactuatedFlightGains> {
 public:
  /// Control position and heading of the base and the joints of a robot, which must outlive the
  /// controller.
  ///
  /// @param allocation   its rotors, whose thrusts all have one axis.
  /// @throws ModelError  the base does not float or has no rotors; or the rotors push along several
  ///                     axes, or cannot turn the base about all axes.
  UnderactuatedFlight(const Model& model, const std::optional<Allocation>& allocation,
                      bool base_actuated = true);

 private:
  BaseMotion base_motion(Evaluation& d, const LockedBody& body, double h) noexcept override;
  Eigen::Matrix3d attitude_of(const Eigen::Matrix3d& rotation) const noexcept override {
    return direction_.attitude(up_, rotation);
  }
  Twist twist_of(const Twist& twist) const noexcept override;
  double bandwidth() const noexcept override { return gains_now().frequency_position; }
  double position_frequency() const noexcept override { return gains_now().frequency_position; }

  const SingleAxis thrust_;
  const ThrustDirection direction_;
  const double gravity_norm_;  // of gravity, m/s^2
  const Eigen::Vector3d up_;   // length one
};

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
      gravity_norm_(model.gravity().norm()),
      up_(-model.gravity() / std::max(gravity_norm_, 1e-12)) {
  begin();
}

BaseMotion UnderactuatedFlight::base_motion(Evaluation& d, const LockedBody& body,
                                            double h) noexcept {
  const UnderactuatedFlightGains& gains = gains_now();
  const Matrix3d& rotation = body.rotation;
  const PoseReference& reference = base();
  const Matrix3d level = reference.pose().topLeftCorner<3, 3>();
  const Vector3d local_velocity = reference.twist().head<3>(),
                 local_angular_velocity = reference.twist().tail<3>();
  const Vector3d reference_velocity = level * local_velocity, turn = level * local_angular_velocity;
  // The centre of mass belongs above the reference of the base, wherever the arm is.
  const Vector3d arm = level * body.centre;
  const Vector3d minimum = reference.pose().topRightCorner<3, 1>() + integral().position();
  const Vector3d centre = rotation * body.centre;
  const Vector3d deviation = body.position + centre - (minimum + arm);
  const MatrixView coupling = MatrixView(d.M()).top_rows(3).right_columns(n_);
  const auto local_arm_momentum = product<Vector3d>(coupling, d.v().tail(n_));
  const Vector3d arm_momentum = level * local_arm_momentum;
  const Vector3d minimum_velocity = arm_momentum / body.mass + turn.cross(arm);
  const Vector3d local_momentum = d.momentum().head<3>();
  const Vector3d momentum = rotation * local_momentum;
  const Vector3d velocity_error = momentum / body.mass - reference_velocity;
  const Vector3d local_acceleration = reference.acceleration().head<3>();
  const Vector3d reference_acceleration = level * local_acceleration;
  const Vector3d forward = reference_acceleration + turn.cross(reference_velocity);
  const double stiffness = gains.frequency_position * gains.frequency_position;
  double rate = 2.0 * gains.damping_ratio * gains.frequency_position;
  // Damping of the velocity that it leaves.
  rate = (rate + h * stiffness) / (1.0 + h * (rate + h * stiffness));
  const Vector3d weight = gravity_norm_ * up_;
  const auto commanded_acceleration = [&](const Vector3d& at, const Vector3d& velocity) {
    const Vector3d acceleration = weight + forward - stiffness * at - rate * velocity;
    return ThrustDirection::within(acceleration, up_, gravity_norm_, gains.largest_tilt);
  };

  const Vector3d desired_force = body.mass * commanded_acceleration(deviation, velocity_error);
  BaseMotion motion;
  motion.attitude = direction_.attitude(desired_force, level);
  const Vector3d axis = rotation * thrust_.axis;
  const double along = desired_force.dot(axis);
  const double thrust = std::min(std::max(along, thrust_.least), thrust_.most);
  const Vector3d force = thrust * axis;
  const Vector3d acceleration_error = force / body.mass - weight - forward;
  constexpr double kStep = 1e-3;
  const Vector3d next_acceleration =
      commanded_acceleration(deviation + kStep * (velocity_error - minimum_velocity),
                             velocity_error + kStep * acceleration_error);
  const Matrix3d frame = level * se3::rotation(kStep * local_angular_velocity);
  const Matrix3d next_attitude = direction_.attitude(next_acceleration, frame);
  motion.force = thrust * thrust_.axis;
  const auto relative_rotation = product<Matrix3d>(transposed(motion.attitude), next_attitude);
  const Vector3d rotation_step = motion.attitude * se3::rotation_vector(relative_rotation);
  motion.angular_velocity = product<Vector3d>(transposed(rotation), rotation_step) / kStep;
  motion.kinetic = 0.5 * body.mass * velocity_error.squaredNorm();
  motion.potential = 0.5 * body.mass * stiffness * deviation.squaredNorm();
  motion.damping = body.mass * rate * velocity_error.squaredNorm();
  motion.unactuated_power = velocity_error.dot(force - desired_force);
  motion.minimum_power =
      -body.mass * stiffness * deviation.dot(minimum_velocity + integral().position_rate());
  motion.reason = along > thrust_.least ? "" : reasons::turning_over;
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

std::unique_ptr<Controller> make_underactuated_flight(const LawSetup& setup) {
  return std::make_unique<UnderactuatedFlight>(setup.model, setup.allocation, setup.base_actuated);
}

}  // namespace vms_ph
