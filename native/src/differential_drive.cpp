// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Drives a robot with two wheels on one axle to a pose, and its arm to joint positions.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/wheeled_controller.hpp"

namespace vms_ph {

/// A place in the plane, m, with a heading, rad.
struct PlanarPose {
  Eigen::Vector2d location = Eigen::Vector2d::Zero();
  double heading = 0.0;
};

namespace {

constexpr double kPi = 3.14159265358979323846;

// Peaks of the polynomial of degree five from rest to rest over a unit of length and time.
const double kPeakRate = 1.875, kPeakAcceleration = 10.0 / std::sqrt(3.0);

// Lengths that count as none, m and rad.
constexpr double kNegligible = 1e-9;

// Shortest time in which a motion is brought to rest, s.
constexpr double kShortestBraking = 0.2;

}  // namespace

/// A pose that comes to a target by turning on the spot, driving straight, and turning again; it is
/// described in vms_ph_controllers/references/drive_reference.py.
class DriveReference {
 public:
  /// Largest forward speed, m/s, rate of turning, rad/s, and their rates of change.
  struct Bounds {
    double max_speed, max_heading_rate, max_acceleration, max_heading_acceleration;
  };

  /// Rest at a pose.
  void restart(const PlanarPose& pose) noexcept {
    pose_ = pose;
    goal_.reset();
    next_goal_.reset();
    next_phase_ = kFinished;
    stop();
  }

  /// Set the target, to be turned to the shorter way; the one that it has is not taken again.
  void set_target(const PlanarPose& target) noexcept {
    const std::optional<PlanarPose>& goal = next_goal_ ? next_goal_ : goal_;
    if (goal && goal->heading == target.heading && goal->location == target.location) return;
    next_goal_ = target;
  }

  /// Advance by one time step, s.
  void advance(const Bounds& bounds, double dt) noexcept {
    if (next_goal_) {
      if (!segment_) {
        goal_ = next_goal_;
        next_goal_.reset();
        next_phase_ = kFirstTurn;
      } else if (!is_braking_) {
        brake(bounds);
      }
    }
    while (!segment_ && next_phase_ != kFinished) begin_segment(next_phase_++, bounds);
    if (!segment_) return;
    segment_time_ = std::min(segment_time_ + dt, segment_->duration);
    const Motion motion = segment_->motion_at(segment_time_);
    if (is_turning_) {
      pose_.heading = motion.position;
      heading_rate_ = motion.rate;
      heading_acceleration_ = motion.acceleration;
    } else {
      pose_.location = segment_origin_ + motion.position * heading_direction();
      speed_ = motion.rate;
      acceleration_ = motion.acceleration;
    }
    if (segment_time_ >= segment_->duration) stop();
  }

  const Eigen::Vector2d& location() const { return pose_.location; }  ///< m
  double heading() const { return pose_.heading; }       ///< rad, not limited to a turn
  double speed() const { return speed_; }                ///< forward, m/s
  double heading_rate() const { return heading_rate_; }  ///< about the vertical, rad/s
  double acceleration() const { return acceleration_; }  ///< rate of speed()
  double heading_acceleration() const { return heading_acceleration_; }  ///< rate of heading_rate()

 private:
  /// Position, rate and acceleration along a part of the way.
  struct Motion {
    double position = 0.0, rate = 0.0, acceleration = 0.0;
  };

  /// A polynomial of degree five from a motion to rest.
  struct Quintic {
    Quintic(const Motion& motion, double goal, double t) noexcept : duration(t), start(motion) {
      const double p = motion.position, v = motion.rate, a = motion.acceleration;
      const double remaining = goal - p - v * t - 0.5 * a * t * t;
      const double velocity_change = -v - a * t, acceleration_change = -a;
      const double t3 = t * t * t;
      c = (10.0 * remaining - 4.0 * velocity_change * t + 0.5 * acceleration_change * t * t) / t3;
      d = (-15.0 * remaining + 7.0 * velocity_change * t - acceleration_change * t * t) / (t3 * t);
      e = (6.0 * remaining - 3.0 * velocity_change * t + 0.5 * acceleration_change * t * t) /
          (t3 * t * t);
    }

    Motion motion_at(double t) const noexcept {
      const double p = start.position, v = start.rate, a = start.acceleration;
      return {p + t * (v + t * (0.5 * a + t * (c + t * (d + t * e)))),
              v + t * (a + t * (3.0 * c + t * (4.0 * d + t * 5.0 * e))),
              a + t * (6.0 * c + t * (12.0 * d + t * 20.0 * e))};
    }

    double duration = 0.0;
    Motion start;
    double c, d, e;  // coefficients of t^3, t^4 and t^5
  };

  enum Phase : int { kFirstTurn, kDrive, kFinalTurn, kFinished };

  /// Begin a segment, unless its length is zero.
  void begin_segment(int phase, const Bounds& bounds) noexcept {
    const Eigen::Vector2d displacement = goal_->location - pose_.location;
    double start_position = pose_.heading, max_rate = bounds.max_heading_rate,
           max_acceleration = bounds.max_heading_acceleration, length = 0.0;
    if (phase == kFinalTurn) {
      length = std::remainder(goal_->heading - pose_.heading, 2.0 * kPi);
    } else if (phase == kFirstTurn) {
      // The robot may drive forwards or backwards.
      const bool is_far = displacement.norm() > kNegligible;
      length = is_far ? std::remainder(
                            std::atan2(displacement.y(), displacement.x()) - pose_.heading, kPi)
                      : 0.0;
    } else {
      length = displacement.dot(heading_direction());
      start_position = 0.0;
      max_rate = bounds.max_speed;
      max_acceleration = bounds.max_acceleration;
    }
    const double distance = std::abs(length);
    if (!(distance > kNegligible)) return;
    segment_origin_ = pose_.location;
    is_turning_ = phase != kDrive;
    const double duration = std::max(kPeakRate * distance / max_rate,
                                     std::sqrt(kPeakAcceleration * distance / max_acceleration));
    segment_ = Quintic({start_position, 0.0, 0.0}, start_position + length, duration);
    segment_time_ = 0.0;
  }

  /// Bring the present segment to rest and discard those after it.
  void brake(const Bounds& bounds) noexcept {
    const Motion motion = segment_->motion_at(segment_time_);
    const double bound = is_turning_ ? bounds.max_heading_acceleration : bounds.max_acceleration;
    const double duration = std::max(kPeakRate * std::abs(motion.rate) / bound, kShortestBraking);
    segment_ = Quintic(motion, motion.position + 0.5 * motion.rate * duration, duration);
    segment_time_ = 0.0;
    is_braking_ = true;
    next_phase_ = kFinished;
  }

  void stop() noexcept {
    segment_.reset();
    segment_time_ = 0.0;
    is_turning_ = is_braking_ = false;
    speed_ = heading_rate_ = acceleration_ = heading_acceleration_ = 0.0;
  }

  Eigen::Vector2d heading_direction() const noexcept {
    return {std::cos(pose_.heading), std::sin(pose_.heading)};
  }

  PlanarPose pose_;
  double speed_ = 0.0, heading_rate_ = 0.0, acceleration_ = 0.0, heading_acceleration_ = 0.0;
  std::optional<PlanarPose> goal_, next_goal_;
  std::optional<Quintic> segment_;
  Eigen::Vector2d segment_origin_ = Eigen::Vector2d::Zero();
  int next_phase_ = kFinished;
  double segment_time_ = 0.0;
  bool is_turning_ = false, is_braking_ = false;
};

/// Gains of driving.
struct DriveGains : LimitGains {
  double decay_rate = 25.0, rate_base = 2.0, rate_joints = 5.0, lateral_gain = 8.0,
         friction_share = 1.0;
  double max_speed = 0.4, max_turn_rate = 0.6, max_acceleration = 0.5, max_turn_acceleration = 1.0,
         max_joint_speed = 0.3;

  static const GainTable<DriveGains>& table() {
    using G = DriveGains;
    static const GainTable<G> gains{
        LimitGains::table(),
        {
            {"rate", "rate r at which errors of the velocities decay, 1/s", &G::decay_rate, 0.0,
             1e3},
            {"rate_base", "rate k at which the base follows its reference, 1/s", &G::rate_base, 0.0,
             50.0},
            {"rate_joints", "rate k_q of the joints to their reference, 1/s", &G::rate_joints, 0.0,
             50.0},
            {"lateral", "turn against a lateral error while driving, 1/m^2", &G::lateral_gain, 0.0,
             1e3},
            {"friction", "share of the joints' friction that is compensated", &G::friction_share},
            {"speed", "largest speed of the reference of the base, m/s", &G::max_speed, 1e-3, 20.0},
            {"turn", "largest rate of its heading, rad/s", &G::max_turn_rate, 1e-3, 20.0},
            {"acceleration", "largest rate of its speed, m/s^2", &G::max_acceleration, 1e-3, 50.0},
            {"turn_acceleration", "largest rate of its turn, rad/s^2", &G::max_turn_acceleration,
             1e-3, 50.0},
            {"joint_speed", "largest joint reference rate, rad/s or m/s", &G::max_joint_speed, 1e-3,
             20.0},
        }};
    return gains;
  }
};

namespace {

// Share of the rate of the velocities up to which errors are fed back to them.
constexpr double kFeedbackShare = 0.25;

PlanarPose planar_pose(const pinocchio::SE3& pose) noexcept {
  return {pose.translation().head<2>(), std::atan2(pose.rotation()(1, 0), pose.rotation()(0, 0))};
}

}  // namespace

/// The base comes to a pose by turning and driving, while the joints go to their positions; it is
/// described in vms_ph_controllers/laws/differential_drive.py.
class DifferentialDrive final : public WheeledController<DriveGains> {
 public:
  /// @param wheels       two of them, or more that leave a base its speed and turn.
  /// @throws ModelError  the wheels are not of that kind, or on an axle beside the base's origin.
  DifferentialDrive(const Model& model, const std::vector<Wheel>& wheels)
      : WheeledController(model, wheels),
        joint_reference_(model),
        max_joint_rates_(model.max_velocity()),
        viscous_(model.damping()),
        coulomb_(model.dry_friction()),
        positions_(VectorV::Zero(n_)) {
    for (Eigen::Index i = 0; i < n_; ++i) {
      const std::string& name = model.joint_names()[static_cast<std::size_t>(i)];
      const auto is_wheel = [&](const Wheel& wheel) { return wheel.joint == name; };
      if (std::none_of(wheels.begin(), wheels.end(), is_wheel)) arm_joints_.push_back(i);
    }
    const int m = terms_.dimension();
    RobotState initial_state;
    initial_state.q = model.neutral_configuration();
    initial_state.v.setZero(model.nv());
    bool is_valid =
        terms_.compute(initial_state) && static_cast<std::size_t>(m) == 2 + arm_joints_.size();
    if (is_valid) {
      select_outputs(terms_.basis, output_map_);
      factorised_map_ = output_map_;
      right_side_.setZero(m, 1);
      is_valid = solve_square(factorised_map_, right_side_, kRankTolerance);
    }
    if (!is_valid) {
      throw ModelError(
          "DifferentialDrive is for two wheels on one axle, which leave a base its speed and turn; "
          "the wheels of '" +
          model.name() + "' leave " + std::to_string(m) + " motions with " +
          std::to_string(arm_joints_.size()) + " other joints");
    }
    if (terms_.basis.row(1).cwiseAbs().maxCoeff() > kRankTolerance) {  // lateral velocity
      throw ModelError("the origin of the base of '" + model.name() +
                       "' is not on the axle of its wheels: it moves sideways as the base turns");
    }
    if (!can_drive_all_motions(initial_state)) {
      throw ModelError("no joint of '" + model.name() + "' drives its base; name its wheels");
    }
    nu_ = nu_rate_ = reference_nu_ = VectorV::Zero(m);
    reset(initial_state);
  }

  bool reset(const RobotState& state) noexcept override {
    if (!model_.is_configuration(state.q)) return false;
    base_reference_.restart(planar_pose(model_.base_pose(state.q)));
    model_.joint_positions(state.q, positions_);
    joint_reference_.restart(positions_);
    torque_limits_.restart();
    return true;
  }

 private:
  const char* write_command(const Reference& reference, double dt) noexcept override {
    follow(reference, dt);
    if (!compute_desired_velocities()) return terms_.reason();
    Evaluation& d = terms_.evaluation();
    const double decay_rate =
        gains_.decay_rate / (1.0 + horizon(dt, gains_.delay, age_) * gains_.decay_rate);
    const VectorV velocity_error = terms_.nu - nu_;
    const VectorV desired_nu_rate = nu_rate_ - decay_rate * velocity_error;
    const MatrixView joint_basis = MatrixView(terms_.basis).bottom_rows(n_);
    // Friction is compensated at the rates of the reference.
    const auto rates = product<VectorV>(joint_basis, reference_nu_);
    VectorV effort = d.g();
    for (Eigen::Index i = 0; i < n_; ++i) {
      const double smoothed_sign = std::tanh(rates[i] / kSlip);
      effort[b_ + i] +=
          gains_.friction_share * (viscous_[i] * rates[i] + coulomb_[i] * smoothed_sign);
    }
    auto force = product<VectorV>(transposed(terms_.basis), effort);
    add_product(terms_.mass, desired_nu_rate, force);
    add_product(terms_.coriolis, nu_, force);
    if (const char* failure = set_torque(force, dt)) return failure;
    const auto momentum_error = product<VectorV>(terms_.mass, velocity_error);
    const double stored_energy = 0.5 * velocity_error.dot(momentum_error);
    const auto rate_error = product<VectorV>(joint_basis, velocity_error);
    command_.energy.closed_loop_energy = stored_energy;
    command_.energy.damping_task = 2.0 * decay_rate * stored_energy;
    command_.energy.clipped_power = (command_.torque - desired_torque_).dot(rate_error);
    const Eigen::Vector2d position_error =
        base_reference_.location() - planar_pose(model_.base_pose(d.q())).location;
    command_.task_error = position_error.norm();
    return nullptr;
  }

  /// Advance the references of base and joints; a target that is not finite is ignored.
  void follow(const Reference& reference, double dt) noexcept {
    if (reference.pose && reference.pose->allFinite()) {
      const Eigen::Matrix4d& pose = *reference.pose;
      base_reference_.set_target({pose.block<2, 1>(0, 3), std::atan2(pose(1, 0), pose(0, 0))});
    }
    joint_reference_.set_target(reference);
    base_reference_.advance({gains_.max_speed, gains_.max_turn_rate, gains_.max_acceleration,
                             gains_.max_turn_acceleration},
                            dt);
    joint_reference_.advance(VectorV(max_joint_rates_.cwiseMin(gains_.max_joint_speed)),
                             gains_.rate_joints, dt);
  }

  /// Write the rows of speed, turn and the rates of the arm of a matrix (nv,m).
  void select_outputs(const MatrixV& basis, MatrixV& outputs) const noexcept {
    outputs.resize(static_cast<Eigen::Index>(2 + arm_joints_.size()), basis.cols());
    outputs.row(0) = basis.row(0);
    outputs.row(1) = basis.row(2);
    Eigen::Index row = 2;
    for (const Eigen::Index i : arm_joints_) outputs.row(row++) = basis.row(b_ + i);
  }

  /// Compute the desired independent velocities with their rates, and those of the reference.
  bool compute_desired_velocities() noexcept {
    const Eigen::VectorXd& q = terms_.evaluation().q();
    const double max_rate = kFeedbackShare * gains_.decay_rate;
    const double k = std::min(gains_.rate_base, max_rate),
                 k_joints = std::min(gains_.rate_joints, max_rate);
    const PlanarPose pose = planar_pose(model_.base_pose(q));
    const double c = std::cos(pose.heading), s = std::sin(pose.heading);
    const Eigen::Vector2d position_error = base_reference_.location() - pose.location;
    const double x = c * position_error.x() + s * position_error.y(),
                 y = c * position_error.y() - s * position_error.x();
    const double heading_error = base_reference_.heading() - pose.heading;
    const Eigen::VectorXd& v = terms_.evaluation().v();
    const double u = v[0], w = v[2], speed = base_reference_.speed();  // measured: u, w
    const double x_rate = w * y - u + speed * std::cos(heading_error),
                 y_rate = speed * std::sin(heading_error) - w * x;
    const double heading_error_rate = base_reference_.heading_rate() - w;
    model_.joint_positions(q, positions_);

    // Outputs, and those of the reference.
    right_side_.resize(terms_.dimension(), 2);
    right_side_(0, 0) = speed * std::cos(heading_error) + k * x;
    right_side_(1, 0) = base_reference_.heading_rate() + gains_.lateral_gain * speed * y +
                        k * std::sin(heading_error);
    right_side_(0, 1) = speed;
    right_side_(1, 1) = base_reference_.heading_rate();
    Eigen::Index row = 2;
    const VectorV joint_error = joint_reference_.error_of(positions_);
    for (const Eigen::Index i : arm_joints_) {
      right_side_(row, 0) = joint_reference_.rates()[i] - k_joints * joint_error[i];
      right_side_(row++, 1) = joint_reference_.rates()[i];
    }
    select_outputs(terms_.basis, output_map_);
    select_outputs(terms_.basis_rate, output_map_rate_);
    factorised_map_ = output_map_;
    if (!solve_square(factorised_map_, right_side_, 0.0)) return false;
    nu_ = right_side_.col(0);
    reference_nu_ = right_side_.col(1);

    nu_rate_.setZero();
    add_product(output_map_rate_, nu_, nu_rate_, -1.0);
    nu_rate_[0] += base_reference_.acceleration() * std::cos(heading_error) -
                   speed * std::sin(heading_error) * heading_error_rate + k * x_rate;
    nu_rate_[1] += base_reference_.heading_acceleration() +
                   gains_.lateral_gain * (base_reference_.acceleration() * y + speed * y_rate) +
                   k * std::cos(heading_error) * heading_error_rate;
    row = 2;
    for (const Eigen::Index i : arm_joints_) {
      nu_rate_[row++] += joint_reference_.accelerations()[i] +
                         k_joints * (joint_reference_.rates()[i] - v[b_ + i]);
    }
    right_side_ = nu_rate_;
    factorised_map_ = output_map_;
    if (!solve_square(factorised_map_, right_side_, 0.0)) return false;
    nu_rate_ = right_side_.col(0);
    return true;
  }

  DriveReference base_reference_;
  JointReference joint_reference_;
  std::vector<Eigen::Index> arm_joints_;         // joints that are no wheels
  VectorV max_joint_rates_, viscous_, coulomb_;  // (n,) of the joints; their friction
  // Speed, turn and the rates of the arm for independent velocities, (m,m), and their derivative.
  MatrixV output_map_, output_map_rate_, factorised_map_, right_side_;
  VectorV nu_, nu_rate_, reference_nu_;  // desired (m,), their rates, and those of the reference
  VectorV positions_;
};

std::unique_ptr<Controller> make_differential_drive(const LawSetup& setup) {
  return std::make_unique<DifferentialDrive>(setup.model, setup.wheels);
}

}  // namespace vms_ph
