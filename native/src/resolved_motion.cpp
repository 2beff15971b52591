// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Resolved motion of a free-floating robot: the tool by its joints alone, the base held or free.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Rates u (n,) of joints with J_k u = w_k for several tasks, in the order of their priority. The
/// inverse of a Jacobian is damped below a singular value, continuously, and what a damped
/// direction leaves is free for the next task.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class PrioritisedRates {
 public:
  explicit PrioritisedRates(int joints)
      : rates(VectorV::Zero(joints)), null_projector_(MatrixV::Identity(joints, joints)) {}

  /// Begin anew, without any task.
  void restart() noexcept {
    rates.setZero();
    null_projector_.setIdentity();
  }

  /// Add the rates of the next task.
  ///
  /// @param jacobian  (m,n), of at most six rows.
  /// @param task_velocity  (m,).
  /// @param cutoff    singular value below which the inverse is damped, as a share of the largest
  ///                  entry of the Jacobian.
  /// @param max_rate  of a joint, rad/s or m/s; the step of a task is shortened to it.
  void add(const MatrixBN& jacobian, const VectorB& task_velocity, double cutoff,
           double max_rate) noexcept;

  VectorV rates;                         ///< u, rad/s or m/s
  double smallest_singular_value = 0.0;  ///< of the last task, in the null space of the others

 private:
  double step_share(double bound) const noexcept;

  MatrixV null_projector_;
  VectorV step_;  // rates that the present task adds
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxVelocities, 6> right_vectors_,
      inverse_right_vectors_;
  MatrixB left_vectors_;
};

namespace {

// Keeps divisions by what may vanish finite.
constexpr double kTiny = 1e-30;

const Model& checked_floating(const Model& model) {
  if (model.base() != Base::floating) {
    throw ModelError("ResolvedMotion is for robots that float in space; '" + model.name() +
                     "' is on a " + name_of(model.base()) + " base");
  }
  return model;
}

}  // namespace

VMS_PH_FMA void PrioritisedRates::add(const MatrixBN& jacobian, const VectorB& task_velocity,
                                      double cutoff, double max_rate) noexcept {
  // SVD U S V^T (null space): right_vectors_ V S, inverse_right_vectors_ V / S, left_vectors_ U.
  multiply(null_projector_, transposed(jacobian), right_vectors_);
  make_columns_orthogonal(right_vectors_, left_vectors_);
  const Eigen::Index column_count = right_vectors_.cols();
  const double damping_threshold = cutoff * jacobian.cwiseAbs().maxCoeff();
  VectorB sigmas(column_count), residual = task_velocity;
  add_product(jacobian, rates, residual, -1.0);
  VectorB coordinates = product<VectorB>(transposed(left_vectors_), residual);
  inverse_right_vectors_ = right_vectors_;
  for (Eigen::Index k = 0; k < column_count; ++k) {
    const double sigma = right_vectors_.col(k).norm();
    Eigen::Index slot = k;  // of the singular values in increasing order
    for (; slot > 0 && sigmas[slot - 1] > sigma; --slot) sigmas[slot] = sigmas[slot - 1];
    sigmas[slot] = sigma;
    // The inverse is damped below the threshold, exact above it and continuous at it.
    const double damped_sigma = std::max(sigma, damping_threshold);
    const double inverse_square = 1.0 / std::max(damped_sigma * damped_sigma, kTiny);
    coordinates[k] *= inverse_square;
    inverse_right_vectors_.col(k) *= inverse_square;
  }
  multiply(right_vectors_, coordinates, step_);
  rates += step_share(max_rate) * step_;
  add_product(inverse_right_vectors_, transposed(right_vectors_), null_projector_, -1.0);
  // There are as many singular values as rows or columns, whatever is less.
  smallest_singular_value = sigmas[std::max<Eigen::Index>(column_count - jacobian.cols(), 0)];
}

/// The share of the step with which all rates stay within a bound.
double PrioritisedRates::step_share(double bound) const noexcept {
  double share = 1.0;
  for (Eigen::Index i = 0; i < rates.size(); ++i) {
    const double used_rate = step_[i] < 0.0 ? -rates[i] : step_[i] > 0.0 ? rates[i] : 0.0;
    share = std::min(share, std::max(bound - used_rate, 0.0) / std::max(std::abs(step_[i]), kTiny));
  }
  return share;
}

/// Gains of resolved motion.
struct ResolvedGains : OutputGains {
  double bandwidth = 1.0, bandwidth_attitude = 2.0, bandwidth_rates = 20.0;
  double least_singular_value = 0.02;
  bool hold_attitude = true;
  double max_joint_speed = 0.5, max_speed = 0.1, max_turn_rate = 0.2;

  static const GainTable<ResolvedGains>& table() {
    using G = ResolvedGains;
    static const GainTable<G> gains{
        OutputGains::table(),
        {
            {"bandwidth", "rate at which tool errors decay, 1/s", &G::bandwidth, 0.0, 20.0},
            {"bandwidth_attitude", "decay rate of attitude errors, 1/s", &G::bandwidth_attitude,
             0.0, 20.0},
            {"bandwidth_rates", "decay rate of joint rate errors, 1/s", &G::bandwidth_rates, 0.0,
             200.0},
            {"least_singular_value", "least singular value without damping",
             &G::least_singular_value, 1e-6, 1.0},
            {"hold_attitude", "hold the attitude of the base by the joints", &G::hold_attitude},
            {"joint_speed", "largest joint rate, rad/s or m/s", &G::max_joint_speed, 1e-3, 20.0},
            {"speed", gain_text::speed, &G::max_speed, 1e-3, 20.0},
            {"turn", gain_text::turn_rate, &G::max_turn_rate, 1e-3, 20.0},
        }};
    return gains;
  }
};

/// Joint rates by the generalised Jacobian and the reaction null space, and the torques that give
/// them; the law is described in vms_ph_controllers/laws/resolved_motion.py.
class ResolvedMotion final : public RampedGains<StagedController, ResolvedGains> {
 public:
  /// @throws ModelError  the base is not floating.
  explicit ResolvedMotion(const Model& model)
      : RampedGains(checked_floating(model),
                    std::make_unique<BaseActuation>(model, std::nullopt, false)),
        rate_solver_(n_) {
    last_rates_ = acceleration_ = shape_inertia_ = positions_ = VectorV::Zero(n_);
    desired_effort_ = coriolis_effort_ = zero_velocity_;
    reset_to_neutral();
  }

  void note_missed_updates() noexcept override {
    has_last_rates_ = false;
    StagedController::note_missed_updates();
  }

 private:
  void start_holding() noexcept override {
    attitude_ = model_.base_pose(d_.q()).rotation();
    tool_reference_.restart(d_.placement(model_.end_effector()).toHomogeneousMatrix());
    shape_inertia_ = d_.M_hat_m().diagonal();
    has_last_rates_ = false;
  }

  const Command& control(const Reference& reference, double dt) noexcept override {
    ResolvedGains gains = active_gains();
    const double bandwidth_limit = age_ > 0.0 ? 0.25 / age_ : kInfinity;
    for (double* rate : {&gains.bandwidth, &gains.bandwidth_attitude, &gains.limit_frequency}) {
      *rate = std::min(*rate, bandwidth_limit);
    }
    tool_reference_.follow(reference, reference.pose, gains.max_speed, gains.max_turn_rate,
                           std::max(2.0 * gains.bandwidth, 1e-3), dt);
    const Twist error = pose_error();
    compute_rates(error, gains);
    const VectorV& rates = rate_solver_.rates;
    double bandwidth = gains.bandwidth_rates;
    const double h = horizon(dt, 0.0, age_);
    if (h > 0.0) bandwidth = std::min(bandwidth, 0.5 / h);
    acceleration_ = bandwidth * (rates - d_.v().tail(n_));
    if (has_last_rates_ && dt > 0.0) acceleration_ += (rates - last_rates_) / dt;
    last_rates_ = rates;
    has_last_rates_ = true;
    compute_desired_effort();
    model_.joint_positions(d_.q(), positions_);
    const VectorV depth = joint_limits_.depth(positions_, gains.limit_margin);
    const double stiffness_per_inertia = gains.limit_frequency * gains.limit_frequency;
    desired_effort_.tail(n_) -= stiffness_per_inertia * shape_inertia_.cwiseProduct(depth);
    if (!desired_effort_.allFinite()) return reject_effort();
    const VectorV& output = apply_output_stage(desired_effort_, dt);
    ControlEnergy& energy = command_.energy;
    energy.closed_loop_energy = d_.kinetic_energy();
    energy.reference_power = (desired_effort_ - d_.g()).dot(d_.v());
    energy.clipped_power = (output - desired_effort_).dot(d_.v());
    command_.task_error = error.head<3>().norm();
    command_.smallest_singular_value = rate_solver_.smallest_singular_value;
    return make_command(output, {});
  }

  /// Displacement and rotation vector of the tool to its reference, in inertial axes.
  Twist pose_error() noexcept {
    const pinocchio::SE3& pose = d_.placement(model_.end_effector());
    const Eigen::Matrix3d goal_rotation = tool_reference_.pose().topLeftCorner<3, 3>();
    Twist error;
    error.head<3>() = tool_reference_.pose().topRightCorner<3, 1>() - pose.translation();
    const Eigen::Vector3d phi = se3::rotation_vector(pose.rotation().transpose() * goal_rotation);
    error.tail<3>() = goal_rotation * phi;
    return error;
  }

  /// Compute the joint rates that at the present momentum move the tool as desired.
  void compute_rates(const Twist& error, const ResolvedGains& gains) noexcept {
    const Eigen::Matrix3d goal_rotation = tool_reference_.pose().topLeftCorner<3, 3>();
    const MatrixBN& A = d_.A();
    Twist locked_twist = d_.v().head<6>();
    add_product(A, d_.v().tail(n_), locked_twist);
    const auto& J_tool = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL_WORLD_ALIGNED);
    const auto set_tool_jacobian = [&](Eigen::Index rows) {
      jacobian_ = J_tool.topRightCorner(rows, n_);
      add_product(J_tool.topLeftCorner(rows, 6), A, jacobian_, -1.0);
    };
    Twist tool_twist = gains.bandwidth * error;
    add_product(goal_rotation, tool_reference_.twist().head<3>(), tool_twist.head<3>());
    add_product(goal_rotation, tool_reference_.twist().tail<3>(), tool_twist.tail<3>());
    add_product(J_tool.leftCols<6>(), locked_twist, tool_twist, -1.0);
    const auto add_task = [&](const VectorB& task_velocity) {
      rate_solver_.add(jacobian_, task_velocity, gains.least_singular_value, gains.max_joint_speed);
    };
    rate_solver_.restart();
    if (gains.hold_attitude) {
      const Eigen::Matrix3d rotation = model_.base_pose(d_.q()).rotation();
      const Eigen::Vector3d base_deviation = se3::rotation_vector(attitude_.transpose() * rotation);
      jacobian_ = A.bottomRows<3>();
      add_task(locked_twist.tail<3>() + gains.bandwidth_attitude * base_deviation);
      set_tool_jacobian(3);
      add_task(tool_twist.head<3>());
    } else {
      set_tool_jacobian(6);
      add_task(tool_twist);
    }
  }

  /// Compute the forces that give joint accelerations on a base without actuators, with gravity.
  void compute_desired_effort() noexcept {
    multiply(d_.C(), d_.v(), coriolis_effort_);
    desired_effort_ = d_.g();
    desired_effort_.tail(n_) += coriolis_effort_.tail(n_);
    add_product(d_.M_hat_m(), acceleration_, desired_effort_.tail(n_));
    add_product(transposed(d_.A()), coriolis_effort_.head(6), desired_effort_.tail(n_), -1.0);
  }

  PoseReference tool_reference_;
  PrioritisedRates rate_solver_;
  Eigen::Matrix3d attitude_ = Eigen::Matrix3d::Identity();  // of the base, at the reset
  bool has_last_rates_ = false;
  VectorV last_rates_, acceleration_, shape_inertia_, positions_, desired_effort_, coriolis_effort_;
  MatrixBN jacobian_;
};

std::unique_ptr<Controller> make_resolved_motion(const LawSetup& setup) {
  return std::make_unique<ResolvedMotion>(setup.model);
}

}  // namespace vms_ph
