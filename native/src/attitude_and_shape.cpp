// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The attitude of a base and the joints of its arm, in the inertially decoupled coordinates: of a
// satellite on reaction wheels, and in flight on thrust along one axis of the base.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include <Eigen/Geometry>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/decoupled_effort.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of attitude and shape.
struct AttitudeGains : OutputGains {
  double frequency_attitude = 7.0, frequency_shape = 10.0, damping_ratio = 0.9;
  double max_base_speed = 0.5, max_base_turn_rate = 0.5, max_joint_speed = 0.5;
  double integral = 0.0;

  static const GainTable<AttitudeGains>& table() {
    using G = AttitudeGains;
    static const GainTable<G> gains{
        OutputGains::table(),
        {
            {"frequency_attitude", "natural frequency of the attitude, rad/s",
             &G::frequency_attitude, 0.0, 50.0},
            {"frequency_shape", gain_text::frequency_shape, &G::frequency_shape, 0.0, 100.0},
            {"damping_ratio", "damping ratio of all motions; 1 is critical", &G::damping_ratio, 0.0,
             10.0},
            {"base_speed", gain_text::base_speed, &G::max_base_speed, 1e-3, 20.0},
            {"base_turn", gain_text::base_turn_rate, &G::max_base_turn_rate, 1e-3, 20.0},
            {"joint_speed", gain_text::joint_speed, &G::max_joint_speed, 1e-3, 20.0},
            {"integral", gain_text::integral, &G::integral},
        }};
    return gains;
  }
};

/// Desired force and attitude of the base, and their energies; vectors in base axes.
struct BaseDemand {
  Eigen::Vector3d force = Eigen::Vector3d::Zero();  ///< N
  Eigen::Matrix3d attitude;                         ///< desired rotation, inertial frame
  Eigen::Vector3d angular_velocity;                 ///< of the desired attitude, rad/s
  double kinetic_energy = 0.0;                      ///< energy of the centre of mass, J
  double potential_energy = 0.0;                    ///< energy of its position, J
  double damping_power = 0.0;                       ///< of its damping, W
  double unactuated_power = 0.0;   ///< power of the force that the base cannot apply, W
  double equilibrium_power = 0.0;  ///< by which arm and reference move the equilibrium, W
  const char* reason = "";         ///< why the motion is limited; empty otherwise
};

/// Pose of the base and inertia of the robot with locked joints.
struct LockedBody {
  Eigen::Matrix3d rotation;  ///< of the base
  Eigen::Vector3d position;  ///< of the base, m
  Eigen::Vector3d centre;    ///< centre of mass in the frame of the base, m
  Eigen::Matrix3d inertia;   ///< about it
  double mass = 0.0;         ///< kg
};

/// Energy shaping of the attitude of a base and of the shape; see
/// vms_ph_controllers/laws/attitude_and_shape.py. A derived law defines the force on the base and
/// the desired attitude.
class AttitudeAndShape : public StagedController {
 protected:
  AttitudeAndShape(const Model& model, const Allocation& allocation)
      : StagedController(model, std::make_unique<PrioritisedActuation>(allocation)),
        joint_reference_(model),
        integral_(model.n()),
        impedance_(model) {
    shape_inertia_ = positions_ = joint_error_ = damping_torque_ = VectorV::Zero(n_);
    velocity_error_ = gradient_ = desired_effort_ = zero_velocity_;
    stiffness_ = damping_ = MatrixV::Zero(model.nv(), model.nv());
    locked_rate_map_.setZero(3, model.nv());
    for (int k = 0; k < 3; ++k) locked_rate_map_(k, 3 + k) = 1.0;
  }

  virtual BaseDemand base_demand(Evaluation& d, const LockedBody& body, double h) noexcept = 0;

  /// The attitude of the reference for a desired one.
  virtual Eigen::Matrix3d reference_attitude(const Eigen::Matrix3d& rotation) const noexcept = 0;

  /// The twist of the reference for a desired one.
  virtual Twist reference_twist(const Twist& twist) const noexcept = 0;

  /// The bandwidth of the reference of the base, 1/s.
  virtual double bandwidth() const noexcept = 0;
  const AttitudeGains& active_gains() const noexcept override = 0;

  /// The natural frequency of the position of the base, rad/s; 0 if it is not controlled.
  virtual double position_frequency() const noexcept { return 0.0; }

  const PoseReference& base_reference() const noexcept { return base_reference_; }
  const IntegralAction& integral() const noexcept { return integral_; }

 private:
  void start_holding() noexcept override {
    const MatrixV& mass = d_.M();
    mean_inertia_ = (mass(3, 3) + mass(4, 4) + mass(5, 5)) / 3.0;
    shape_inertia_ = d_.M_hat_m().diagonal();
    Pose pose = model_.base_pose(d_.q()).toHomogeneousMatrix();
    pose.topLeftCorner<3, 3>() = reference_attitude(pose.topLeftCorner<3, 3>());
    base_reference_.restart(pose);
    model_.joint_positions(d_.q(), positions_);
    joint_reference_.restart(positions_);
    integral_.restart();
    potential_.restart();
  }

  const Command& control(const Reference& reference, double dt) noexcept override {
    const AttitudeGains& gains = active_gains();
    const double h = horizon(dt, gains.delay, age_);
    follow(reference, dt);
    const LockedBody body = locked_body();
    const Vector3d position_error = body.position - base_reference_.pose().topRightCorner<3, 1>();
    model_.joint_positions(d_.q(), positions_);
    joint_error_ = joint_reference_.error_of(positions_);
    if (is_limited_) {
      integral_.hold_displacement();
    } else {
      integral_.advance(gains.integral * gains.damping_ratio, position_frequency(),
                        gains.frequency_shape, position_error, nullptr, joint_error_, dt, h);
    }
    joint_error_ -= integral_.joint_offset();
    const BaseDemand demand = base_demand(d_, body, h);
    Pose error = Pose::Identity();
    error.topLeftCorner<3, 3>() = demand.attitude.transpose() * body.rotation;
    const bool is_reversed = potential_.set_error(error);
    velocity_error_ = d_.v();
    velocity_error_.segment<3>(3) -= demand.angular_velocity;
    velocity_error_.tail(n_) -= joint_reference_.rates();
    const double spring_energy = compute_potentials(error, gains) + demand.potential_energy;
    compute_effort(demand, body, h);
    if (!desired_effort_.allFinite()) return reject_effort();
    const VectorV& output = apply_output_stage(desired_effort_, dt);

    const auto locked_velocity_error = product<Vector3d>(locked_rate_map_, velocity_error_);
    const VectorV joint_rate_error = velocity_error_.tail(n_);
    const VectorV shape_momentum = product<VectorV>(d_.M_hat_m(), joint_rate_error);
    ControlEnergy& energy = command_.energy;
    const Vector3d angular_momentum = body.inertia * locked_velocity_error;
    energy.kinetic_base = 0.5 * locked_velocity_error.dot(angular_momentum) + demand.kinetic_energy;
    energy.kinetic_shape = 0.5 * joint_rate_error.dot(shape_momentum);
    energy.shaped_potential = spring_energy;
    energy.closed_loop_energy = energy.kinetic_base + energy.kinetic_shape + spring_energy;
    energy.damping_base = damping_moment_.dot(locked_velocity_error) + demand.damping_power;
    energy.damping_shape = damping_torque_.dot(joint_rate_error);
    energy.reference_power = demand.equilibrium_power - integral_power(gains);
    energy.clipped_power =
        demand.unactuated_power + (output - desired_effort_).dot(velocity_error_);
    command_.task_error = position_error.norm();
    return make_command(output, {impedance_.reason(), is_reversed ? reasons::attitude_reversed : "",
                                 demand.reason});
  }

  /// Advance the references; a target that is not finite is ignored.
  void follow(const Reference& reference, double dt) noexcept {
    if (reference.pose && reference.pose->allFinite()) {
      Pose target = *reference.pose;
      target.topLeftCorner<3, 3>() = reference_attitude(reference.pose->topLeftCorner<3, 3>());
      base_reference_.set_target(target);
    }
    joint_reference_.set_target(reference);
    const bool has_twist = reference.twist && reference.twist->allFinite();
    Twist twist = Twist::Zero();
    if (has_twist) twist = reference_twist(*reference.twist);
    const AttitudeGains& gains = active_gains();
    base_reference_.advance(has_twist ? &twist : nullptr, gains.max_base_speed,
                            gains.max_base_turn_rate, bandwidth(), dt);
    joint_reference_.advance(gains.max_joint_speed, gains.frequency_shape, dt);
  }

  LockedBody locked_body() noexcept {
    LockedBody body;
    const auto pose = model_.base_pose(d_.q());
    const MatrixV& mass = d_.M();  // of the base in its first rows and columns
    body.rotation = pose.rotation();
    body.position = pose.translation();
    body.mass = mass(0, 0);
    // M_b has m [c]x in its corner, with the centre of mass c in the frame of the base.
    const Matrix3d centre_cross = (1.0 / body.mass) * mass.block<3, 3>(3, 0);
    body.centre = {centre_cross(2, 1), centre_cross(0, 2), centre_cross(1, 0)};
    const Matrix3d centre_cross_squared = centre_cross * centre_cross;
    body.inertia = mass.block<3, 3>(3, 3);
    body.inertia += body.mass * centre_cross_squared;
    return body;
  }

  /// Write gradient and stiffness of the potentials of attitude and shape; returns their energy, J.
  double compute_potentials(const Pose& error, const AttitudeGains& gains) noexcept {
    const double k_attitude = gains.frequency_attitude * gains.frequency_attitude * mean_inertia_;
    const VectorV depth = joint_limits_.depth(positions_, gains.limit_margin);
    const Twist attitude_gradient = potential_.gradient(error, 0.0, k_attitude);
    double energy = potential_.energy(error, 0.0, k_attitude);
    gradient_.segment<3>(3) = attitude_gradient.tail<3>();
    stiffness_.diagonal().segment<3>(3).setConstant(k_attitude);
    for (Eigen::Index i = 0; i < n_; ++i) {
      const double k_shape = gains.frequency_shape * gains.frequency_shape * shape_inertia_[i];
      const double k_limit = gains.limit_frequency * gains.limit_frequency * shape_inertia_[i];
      gradient_[6 + i] = k_shape * joint_error_[i] + k_limit * depth[i];
      stiffness_(6 + i, 6 + i) = k_shape + (depth[i] != 0.0 ? k_limit : 0.0);
      energy += 0.5 * (k_shape * joint_error_[i] * joint_error_[i] + k_limit * depth[i] * depth[i]);
    }
    return energy;
  }

  /// The power of the integral action, which displaces the joint reference, W.
  double integral_power(const AttitudeGains& gains) const noexcept {
    const double power = shape_inertia_.cwiseProduct(joint_error_).dot(integral_.joint_rates());
    return gains.frequency_shape * gains.frequency_shape * power;
  }

  /// Compute the desired effort from the velocity error and the potentials.
  void compute_effort(const BaseDemand& demand, const LockedBody& body, double h) noexcept {
    const AttitudeGains& gains = active_gains();
    const double attitude_damping_rate = 2.0 * gains.damping_ratio * gains.frequency_attitude;
    const double shape_damping_rate = 2.0 * gains.damping_ratio * gains.frequency_shape;
    const MatrixBN& connection = d_.A();
    const MatrixV& shape_inertia = d_.M_hat_m();
    const VectorV& weight = d_.g();
    const MatrixView turning_connection = MatrixView(connection).bottom_rows(3);
    locked_rate_map_.rightCols(n_) = connection.bottomRows<3>();
    const Matrix3d rotational_damping = attitude_damping_rate * body.inertia;
    const Matrix3V damping_map = product<Matrix3V>(rotational_damping, locked_rate_map_);
    multiply(transposed(locked_rate_map_), damping_map, damping_);
    damping_.bottomRightCorner(n_, n_) += shape_damping_rate * shape_inertia;
    impedance_.compute(d_.M(), damping_, stiffness_, gradient_, velocity_error_, h);

    const VectorV spring_force = impedance_.spring_force + impedance_.predicted_spring_force;
    const VectorV& damped_velocity = impedance_.damping_velocity;
    multiply(damping_map, damped_velocity, damping_moment_);
    multiply(shape_inertia, damped_velocity.tail(n_), damping_torque_);
    damping_torque_ *= shape_damping_rate;
    const Vector3d angular_momentum = body.inertia * demand.angular_velocity;
    const Vector3d attitude_moment = spring_force.segment<3>(3);
    Vector3d locked_rate = d_.v().segment<3>(3);
    add_product(turning_connection, d_.v().tail(n_), locked_rate);
    desired_effort_.head<3>() = demand.force;
    desired_effort_.segment<3>(3) = locked_rate.cross(angular_momentum) - attitude_moment -
                                    damping_moment_ + body.centre.cross(demand.force);
    desired_effort_.tail(n_) = weight.tail(n_) - spring_force.tail(n_) - damping_torque_;
    add_product(transposed(turning_connection), attitude_moment, desired_effort_.tail(n_));
    Twist weightless_wrench = desired_effort_.head<6>();
    weightless_wrench -= weight.head<6>();
    add_product(transposed(connection), weightless_wrench, desired_effort_.tail(n_));
    desired_effort_.tail(n_) += impedance_.brake(d_, h).tail(n_);
  }

  PosePotential potential_;
  PoseReference base_reference_;
  JointReference joint_reference_;
  IntegralAction integral_;
  SampledImpedance impedance_;
  double mean_inertia_ = 0.0;
  VectorV shape_inertia_, positions_, joint_error_, velocity_error_, gradient_, desired_effort_;
  MatrixV stiffness_, damping_;
  Matrix3V locked_rate_map_;  // (3,nv) from velocities to the locked angular velocity
  Eigen::Vector3d damping_moment_;
  VectorV damping_torque_;
};

/// Gains of the attitude in space.
struct AttitudeControlGains : AttitudeGains {
  AttitudeControlGains() {
    frequency_attitude = 0.3;
    frequency_shape = 4.0;
  }

  static const GainTable<AttitudeControlGains>& table() {
    static const GainTable<AttitudeControlGains> gains{AttitudeGains::table(), {}};
    return gains;
  }
};

namespace {

// Squares of singular values below this share of the largest count as zero.
constexpr double kZeroShare = 1e-6 * 1e-6;

/// Of A A^T: the squares of the singular values, in increasing order, and the left vectors.
SymmetricEigen gram_eigen(const Eigen::MatrixXd& A) {
  SymmetricEigen eigen;
  eigen.compute(product<Eigen::MatrixXd>(A, transposed(A)));
  return eigen;
}

const Allocation& checked_actuators(const Model& model, const std::optional<Allocation>& allocation,
                                    bool base_actuated) {
  if (model.base() != Base::floating || !model.gravity().isZero(0.0)) {
    throw ModelError(
        "AttitudeControl is for robots that float freely in space, without gravity and fluid; '" +
        model.name() + "' does not");
  }
  if (!allocation || !base_actuated) {
    throw ModelError("AttitudeControl needs what turns '" + model.name() +
                     "'; give its allocation, as actuators:=own does");
  }
  const SymmetricEigen moment_eigen = gram_eigen(allocation->matrix().bottomRows(3));
  if (!(moment_eigen.values()[0] > kZeroShare * moment_eigen.values()[2])) {
    throw ModelError("the actuators of '" + model.name() + "' cannot turn it about all axes");
  }
  return *allocation;
}

}  // namespace

/// Holds the attitude of a base by moments alone, and its joints; the position is free. The law is
/// described in vms_ph_controllers/laws/attitude_and_shape.py.
class AttitudeControl final : public RampedGains<AttitudeAndShape, AttitudeControlGains> {
 public:
  /// @throws ModelError  the base does not float without gravity, or nothing turns it.
  AttitudeControl(const Model& model, const std::optional<Allocation>& allocation,
                  bool base_actuated = true)
      : RampedGains(model, checked_actuators(model, allocation, base_actuated)) {
    reset_to_neutral();
  }

 private:
  BaseDemand base_demand(Evaluation&, const LockedBody& body, double) noexcept override {
    BaseDemand demand;
    demand.attitude = base_reference().pose().topLeftCorner<3, 3>();
    const Eigen::Vector3d angular_velocity = base_reference().twist().tail<3>();
    const Eigen::Vector3d inertial_angular_velocity = demand.attitude * angular_velocity;
    demand.angular_velocity = body.rotation.transpose() * inertial_angular_velocity;
    return demand;
  }

  Eigen::Matrix3d reference_attitude(const Eigen::Matrix3d& rotation) const noexcept override {
    return rotation;
  }
  Twist reference_twist(const Twist& twist) const noexcept override { return twist; }
  double bandwidth() const noexcept override { return active_gains().frequency_attitude; }
};

std::unique_ptr<Controller> make_attitude_control(const LawSetup& setup) {
  return std::make_unique<AttitudeControl>(setup.model, setup.allocation, setup.base_actuated);
}

/// The axis of the thrusts of a base, and what they reach along it.
struct ThrustAxis {
  Eigen::Vector3d axis;     ///< in the frame of the base, length one
  double min_thrust = 0.0;  ///< thrust along it, N
  double max_thrust = 0.0;  ///< thrust along it, N
};

namespace {

// Least share of the weight that a desired force carries, so that its direction is defined.
constexpr double kMinLift = 0.3;

// Largest desired force, in weights.
constexpr double kMaxLift = 3.0;

}  // namespace

/// The axis of an allocation.
///
/// @param name         of the robot, for messages.
/// @throws ModelError  there are several axes, or the base cannot be turned about all axes.
ThrustAxis thrust_axis_of(const Allocation& allocation, const std::string& name) {
  const Eigen::MatrixXd forces = allocation.matrix().topRows(3);
  const SymmetricEigen force_eigen = gram_eigen(forces);
  const Eigen::VectorXd& eigenvalues = force_eigen.values();
  if (!(eigenvalues[2] > 0.0) || std::max(eigenvalues[1], 0.0) > kZeroShare * eigenvalues[2]) {
    throw ModelError("the rotors of '" + name +
                     "' push along several axes or none; UnderactuatedFlight is for one axis, "
                     "DecoupledVMSController for all");
  }
  Vector3d axis = force_eigen.vectors().col(2);
  Eigen::VectorXd axial_thrusts = product<Eigen::VectorXd>(transposed(forces), axis);
  if (axial_thrusts.sum() < 0.0) {
    axis = -axis;
    axial_thrusts = -axial_thrusts;
  }
  const Eigen::VectorXd wrench_eigenvalues = gram_eigen(allocation.matrix()).values();
  if (wrench_eigenvalues.size() < 4 ||
      !(wrench_eigenvalues[2] > kZeroShare * wrench_eigenvalues[5])) {
    throw ModelError("the rotors of '" + name + "' cannot turn it about all axes");
  }
  const Eigen::VectorXd lower = axial_thrusts.cwiseProduct(allocation.lower());
  const Eigen::VectorXd upper = axial_thrusts.cwiseProduct(allocation.upper());
  return {axis, lower.cwiseMin(upper).sum(), lower.cwiseMax(upper).sum()};
}

/// The attitudes of a base whose thrust has one axis; see
/// vms_ph_controllers/laws/underactuated_flight.py.
class ThrustDirection {
 public:
  /// @param axis  of the thrust in the frame of the base, length one.
  explicit ThrustDirection(const Vector3d& axis) {
    const Vector3d unit_axis = std::abs(axis.x()) > 0.9 ? Vector3d::UnitY() : Vector3d::UnitX();
    const Vector3d nose = (unit_axis - axis * axis.dot(unit_axis)).normalized();
    body_axes_ << nose, axis.cross(nose), axis;
  }

  /// The rotation whose thrust is along a force that is not zero, nose near that of a heading.
  Eigen::Matrix3d attitude(const Vector3d& force, const Matrix3d& heading) const noexcept {
    const Vector3d direction = force / force.norm();
    Vector3d nose = heading * body_axes_.col(0);
    Vector3d projected_nose = nose - direction * direction.dot(nose);
    if (projected_nose.squaredNorm() < 1e-6) {
      nose = (heading * body_axes_.col(1)).cross(direction);
      projected_nose = nose - direction * direction.dot(nose);
    }
    projected_nose /= projected_nose.norm();
    Matrix3d desired_axes;
    desired_axes << projected_nose, direction.cross(projected_nose), direction;
    return desired_axes * body_axes_.transpose();
  }

  /// A force, or one per mass, brought into a cone around the vertical.
  ///
  /// @param up      length one.
  /// @param weight  force, or one per mass, that holds the robot.
  /// @param max_tilt  largest angle from the vertical, rad.
  static Eigen::Vector3d clip_to_cone(const Vector3d& force, const Vector3d& up, double weight,
                                      double max_tilt) noexcept {
    const double vertical_force = force.dot(up);
    const double lift = std::min(std::max(vertical_force, kMinLift * weight), kMaxLift * weight);
    const Vector3d horizontal_force = force - up * vertical_force;
    const double length = horizontal_force.norm();
    const double max_length = std::cos(max_tilt) > 0.0 ? lift * std::tan(max_tilt) : length;
    return lift * up + horizontal_force * std::min(1.0, max_length / std::max(length, 1e-12));
  }

 private:
  Eigen::Matrix3d body_axes_;  // nose, left side and axis
};

/// Gains of the flight.
struct UnderactuatedFlightGains : AttitudeGains {
  double frequency_position = 1.2, max_tilt = 0.6;

  static const GainTable<UnderactuatedFlightGains>& table() {
    using G = UnderactuatedFlightGains;
    static const GainTable<G> gains{
        AttitudeGains::table(),
        {
            {"frequency_position", "natural frequency of position, rad/s", &G::frequency_position,
             0.0, 10.0},
            {"largest_tilt", "largest tilt of the wanted thrust, rad", &G::max_tilt, 0.0, 1.2},
        }};
    return gains;
  }
};

namespace {

const Allocation& checked_rotors(const Model& model, const std::optional<Allocation>& allocation,
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

/// Geometric flight with a thrust along one axis, in the inertially decoupled coordinates of
/// [A (59)]. The law is described in vms_ph_controllers/laws/underactuated_flight.py.
class UnderactuatedFlight final : public RampedGains<AttitudeAndShape, UnderactuatedFlightGains> {
 public:
  /// @throws ModelError  the base does not float or has no rotors; or the rotors push along several
  ///                     axes, or cannot turn the base about all axes.
  UnderactuatedFlight(const Model& model, const std::optional<Allocation>& allocation,
                      bool base_actuated = true)
      : RampedGains(model, checked_rotors(model, allocation, base_actuated)),
        thrust_(thrust_axis_of(*allocation, model.name())),
        thrust_direction_(thrust_.axis),
        gravity_norm_(model.gravity().norm()),
        up_(-model.gravity() / std::max(gravity_norm_, 1e-12)) {
    reset_to_neutral();
  }

 private:
  BaseDemand base_demand(Evaluation& d, const LockedBody& body, double h) noexcept override {
    const UnderactuatedFlightGains& gains = active_gains();
    const Matrix3d& rotation = body.rotation;
    const PoseReference& reference = base_reference();
    const Matrix3d heading = reference.pose().topLeftCorner<3, 3>();
    const Vector3d local_velocity = reference.twist().head<3>(),
                   local_angular_velocity = reference.twist().tail<3>();
    const Vector3d reference_velocity = heading * local_velocity,
                   turn_rate = heading * local_angular_velocity;
    // The centre of mass belongs above the reference of the base, wherever the arm is.
    const Vector3d centre_offset = heading * body.centre;
    const Vector3d equilibrium = reference.pose().topRightCorner<3, 1>() + integral().position();
    const Vector3d centre = rotation * body.centre;
    const Vector3d deviation = body.position + centre - (equilibrium + centre_offset);
    const MatrixView coupling = MatrixView(d.M()).top_rows(3).right_columns(n_);
    const auto local_arm_momentum = product<Vector3d>(coupling, d.v().tail(n_));
    const Vector3d arm_momentum = heading * local_arm_momentum;
    const Vector3d equilibrium_velocity = arm_momentum / body.mass + turn_rate.cross(centre_offset);
    const Vector3d local_momentum = d.momentum().head<3>();
    const Vector3d momentum = rotation * local_momentum;
    const Vector3d velocity_error = momentum / body.mass - reference_velocity;
    const Vector3d local_acceleration = reference.acceleration().head<3>();
    const Vector3d reference_acceleration = heading * local_acceleration;
    const Vector3d feedforward = reference_acceleration + turn_rate.cross(reference_velocity);
    const double stiffness = gains.frequency_position * gains.frequency_position;
    double damping_rate = 2.0 * gains.damping_ratio * gains.frequency_position;
    // Damping of the velocity that it leaves.
    damping_rate = (damping_rate + h * stiffness) / (1.0 + h * (damping_rate + h * stiffness));
    const Vector3d hover_acceleration = gravity_norm_ * up_;
    const auto commanded_acceleration = [&](const Vector3d& offset, const Vector3d& velocity) {
      const Vector3d acceleration =
          hover_acceleration + feedforward - stiffness * offset - damping_rate * velocity;
      return ThrustDirection::clip_to_cone(acceleration, up_, gravity_norm_, gains.max_tilt);
    };

    const Vector3d desired_force = body.mass * commanded_acceleration(deviation, velocity_error);
    BaseDemand demand;
    demand.attitude = thrust_direction_.attitude(desired_force, heading);
    const Vector3d axis = rotation * thrust_.axis;
    const double axial_force = desired_force.dot(axis);
    const double thrust = std::min(std::max(axial_force, thrust_.min_thrust), thrust_.max_thrust);
    const Vector3d force = thrust * axis;
    const Vector3d acceleration_error = force / body.mass - hover_acceleration - feedforward;
    constexpr double kDeltaT = 1e-3;
    const Vector3d next_acceleration =
        commanded_acceleration(deviation + kDeltaT * (velocity_error - equilibrium_velocity),
                               velocity_error + kDeltaT * acceleration_error);
    const Matrix3d next_heading = heading * se3::rotation(kDeltaT * local_angular_velocity);
    const Matrix3d next_attitude = thrust_direction_.attitude(next_acceleration, next_heading);
    demand.force = thrust * thrust_.axis;
    const auto relative_rotation = product<Matrix3d>(transposed(demand.attitude), next_attitude);
    const Vector3d rotation_step = demand.attitude * se3::rotation_vector(relative_rotation);
    demand.angular_velocity = product<Vector3d>(transposed(rotation), rotation_step) / kDeltaT;
    demand.kinetic_energy = 0.5 * body.mass * velocity_error.squaredNorm();
    demand.potential_energy = 0.5 * body.mass * stiffness * deviation.squaredNorm();
    demand.damping_power = body.mass * damping_rate * velocity_error.squaredNorm();
    demand.unactuated_power = velocity_error.dot(force - desired_force);
    demand.equilibrium_power =
        -body.mass * stiffness * deviation.dot(equilibrium_velocity + integral().position_rate());
    demand.reason = axial_force > thrust_.min_thrust ? "" : reasons::turning_over;
    return demand;
  }

  Eigen::Matrix3d reference_attitude(const Eigen::Matrix3d& rotation) const noexcept override {
    return thrust_direction_.attitude(up_, rotation);
  }

  Twist reference_twist(const Twist& twist) const noexcept override {
    const Matrix3d rotation = base_reference().pose().topLeftCorner<3, 3>();
    const auto local_up = product<Vector3d>(transposed(rotation), up_);
    const Vector3d angular_velocity = twist.tail<3>();
    Twist yaw_twist = twist;
    yaw_twist.tail<3>() = local_up.dot(angular_velocity) * local_up;
    return yaw_twist;
  }

  double bandwidth() const noexcept override { return active_gains().frequency_position; }
  double position_frequency() const noexcept override { return active_gains().frequency_position; }

  const ThrustAxis thrust_;
  const ThrustDirection thrust_direction_;
  const double gravity_norm_;  // of gravity, m/s^2
  const Eigen::Vector3d up_;   // length one
};

std::unique_ptr<Controller> make_underactuated_flight(const LawSetup& setup) {
  return std::make_unique<UnderactuatedFlight>(setup.model, setup.allocation, setup.base_actuated);
}

}  // namespace vms_ph
