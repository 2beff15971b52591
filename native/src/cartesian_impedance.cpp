// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/cartesian_impedance.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {
namespace {

// Damping ratio of an attitude of the base that is held by itself.
constexpr double kDampingRatio = 0.9;

// Share of the energy for the posture below which its spring fades, and the least energy, J.
constexpr double kPostureReserve = 0.1, kPostureEnergy = 1e-3;

// Speed over which the compensated Coulomb friction changes its sign, rad/s or m/s.
constexpr double kFrictionSlip = 0.05;

// Energy that late feedback may add, J, and share of what damping takes; time of fading out, s.
constexpr double kWrenchAllowance = 0.05, kDampingShare = 0.5, kFadingTime = 0.1;

// A component of a wrench that is larger was not measured, N and N m.
constexpr double kLargestWrench = 1e6;

// Largest power at which stiffnesses and limits that grow load the springs, W.
constexpr double kMaxLoadingPower = 4.0;

const std::string kWeightPrefix = "null_weight.";

}  // namespace

const GainTable<ImpedanceGains>& ImpedanceGains::table() {
  using G = ImpedanceGains;
  static const GainTable<G> gains{
      OutputGains::table(),
      {
          {"stiffness", gain_text::stiffness, &G::stiffness, 0.0, 5000.0},
          {"stiffness_rotation", gain_text::stiffness_rotation, &G::stiffness_rotation, 0.0, 500.0},
          {"damping", gain_text::damping, &G::damping, 0.0, 1000.0},
          {"damping_rotation", gain_text::damping_rotation, &G::damping_rotation, 0.0, 100.0},
          {"damping_null", "damping rate of the null-space motion, 1/s", &G::damping_null, 0.0,
           100.0},
          {"frequency_base", gain_text::frequency_base, &G::frequency_base, 0.0, 50.0},
          {"hold_base", gain_text::hold_base, &G::hold_base},
          {"hold_attitude", "hold the attitude of the base even if not its place",
           &G::hold_attitude},
          {"relative_to_base", "hold the end effector in the frame of the base",
           &G::relative_to_base},
          {"speed", gain_text::speed, &G::max_speed, 1e-3, 20.0},
          {"turn", gain_text::turn_rate, &G::max_turn_rate, 1e-3, 20.0},
          {"stiffness_share_x", "share of the stiffness along x", &G::stiffness_share_x},
          {"stiffness_share_y", "share of the stiffness along y", &G::stiffness_share_y},
          {"stiffness_share_z", "share of the stiffness along z", &G::stiffness_share_z},
          {"stiffness_share_rx", "share of the stiffness about x", &G::stiffness_share_rx},
          {"stiffness_share_ry", "share of the stiffness about y", &G::stiffness_share_ry},
          {"stiffness_share_rz", "share of the stiffness about z", &G::stiffness_share_rz},
          {"damping_share_x", "share of the damping along x", &G::damping_share_x},
          {"damping_share_y", "share of the damping along y", &G::damping_share_y},
          {"damping_share_z", "share of the damping along z", &G::damping_share_z},
          {"damping_share_rx", "share of the damping about x", &G::damping_share_rx},
          {"damping_share_ry", "share of the damping about y", &G::damping_share_ry},
          {"damping_share_rz", "share of the damping about z", &G::damping_share_rz},
          {"tool_axes", "the axes of the shares are those of the reference", &G::tool_axes},
          {"force_limit", "largest force of the spring, N; 0: no limit", &G::force_limit, 0.0, 1e4,
           Ramp::ratio},
          {"moment_limit", "largest moment of the spring, N m; 0: no limit", &G::moment_limit, 0.0,
           1e3, Ramp::ratio},
          {"null_stiffness", "null-space stiffness of posture, N m/rad", &G::null_stiffness, 0.0,
           500.0},
          {"null_energy", "energy the posture may give beyond its own, J", &G::null_energy, 0.0,
           100.0},
          {"posture_speed", "largest speed of the posture, rad/s", &G::max_posture_speed, 1e-3,
           20.0},
          {"friction_compensation", "compensated share of the friction", &G::friction_compensation,
           0.0, 0.95},
          {"inertia_share", "share of its inertia felt with a force sensor", &G::inertia_share,
           0.55, 1.0},
      }};
  return gains;
}

void WrenchFeedback::restart() noexcept {
  allowance_ = kWrenchAllowance;
  gain_ = 0.0;
  last_wrench_ = last_twist_ = Twist::Zero();
  ramp_.restart();
  ramp_.follow(false, 0.0);
}

double WrenchFeedback::update_gain(const Twist* measured, double gain, const Twist& twist,
                                   double damping_power, double h, double dt) noexcept {
  const bool is_measured = measured && (measured->array().abs() <= kLargestWrench).all();
  double energy_change = kDampingShare * std::max(0.0, damping_power) * dt;
  if (is_measured) {
    energy_change += 0.5 * h * gain_ * (*measured - last_wrench_).dot(last_twist_);
    last_wrench_ = *measured;
  } else {
    last_wrench_ *= std::max(0.0, 1.0 - dt / kFadingTime);
  }
  last_twist_ = is_measured ? twist : Twist::Zero();
  if (allowance_ >= 0.0 || gain == 0.0)
    allowance_ = std::min(std::max(allowance_, 0.0) + energy_change, kWrenchAllowance);
  gain_ = gain * ramp_.follow(is_measured && allowance_ >= 0.0, dt);
  return gain_;
}

PoseImpedance::PoseImpedance(const Model& model, std::optional<Allocation> allocation,
                             bool base_actuated)
    : StagedController(
          model, std::make_unique<BaseActuation>(model, std::move(allocation), base_actuated)),
      base_spring_(model),
      last_effort_(zero_velocity_),
      effort_(model),
      posture_reference_(model_),
      weights_(VectorV::Ones(n_)),
      ramped_weights_(weights_),
      jacobian_eigen_(std::min(6, model.nv())),
      joint_jacobian_eigen_(std::min(6, n_ > 0 ? n_ : model.nv())) {
  last_posture_ = last_stiffness_ = posture_error_ = posture_stiffness_ = VectorV::Zero(n_);
  shape_inertia_ = positions_ = last_posture_;
  friction_effort_ = posture_displacement_ = desired_effort_ = sampled_effort_ = zero_velocity_;
  jacobian_ = momentum_map_ = Matrix6V::Zero(6, model.nv());
}

void PoseImpedance::start_holding() noexcept {
  is_relative_ = active_gains().relative_to_base;
  tool_reference_.restart(tool_pose());
  effort_.restart();
  base_spring_.restart(d_);
  shape_inertia_ = d_.M_hat_m().diagonal();
  base_power_ = 0.0;
  last_effort_ = d_.g();
  for (SwitchRamp* ramp :
       {&base_position_ramp_, &base_attitude_ramp_, &frame_ramp_, &tool_axes_ramp_})
    ramp->restart();
  wrench_feedback_.restart();
  model_.joint_positions(d_.q(), positions_);
  posture_reference_.restart(positions_);
  last_posture_ = positions_;
  ramped_weights_ = weights_;
  last_axis_gains_.reset();
  posture_sample_.reset();
  posture_energy_ = active_gains().null_energy;
  last_stiffness_.setZero();
}

void PoseImpedance::note_missed_updates() noexcept {
  StagedController::note_missed_updates();
  posture_sample_.reset();
}

std::vector<Gain> PoseImpedance::null_weights() const {
  std::vector<Gain> weights;
  for (int i = 0; i < n_; ++i) {
    weights.push_back({kWeightPrefix + model_.joint_names()[static_cast<std::size_t>(i)],
                       "share of null_stiffness that holds the joint", weights_[i], 0.0, 1.0, 1.0});
  }
  return weights;
}

bool PoseImpedance::set_null_weight(const std::string& name, double value) noexcept {
  if (!(value >= 0.0 && value <= 1.0)) return false;
  for (int i = 0; i < n_; ++i) {
    const std::string& joint = model_.joint_names()[static_cast<std::size_t>(i)];
    if (name.rfind(kWeightPrefix, 0) != 0 ||
        name.compare(kWeightPrefix.size(), std::string::npos, joint) != 0)
      continue;
    weights_[i] = value;
    return true;
  }
  return false;
}

/// Advance the ramp of the axes; return stiffness and damping in force, a scale times those set.
AxisGains PoseImpedance::update_axis_gains(double spring_share, double scale, double dt) noexcept {
  const ImpedanceGains& gains = active_gains();
  const double share = scale * spring_share;
  AxisGains axis_gains(share * gains.stiffness, share * gains.stiffness_rotation,
                       share * gains.damping, share * gains.damping_rotation);
  Twist shares;
  shares << gains.stiffness_share_x, gains.stiffness_share_y, gains.stiffness_share_z,
      gains.stiffness_share_rx, gains.stiffness_share_ry, gains.stiffness_share_rz;
  axis_gains.stiffness.array() *= shares.array();
  shares << gains.damping_share_x, gains.damping_share_y, gains.damping_share_z,
      gains.damping_share_rx, gains.damping_share_ry, gains.damping_share_rz;
  axis_gains.damping.array() *= shares.array();
  axis_gains.reference_share = tool_axes_ramp_.follow(gains.tool_axes, dt);
  const Eigen::Array2d limits(gains.force_limit, gains.moment_limit);  // also of a blind sensor
  axis_gains.inverse_limits = (limits > 0.0).select(limits.max(1e-9).inverse(), 0.0);
  return axis_gains;
}

/// Move the posture, account for its spring, and compute its offset and its stiffness.
void PoseImpedance::hold_posture(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = active_gains();
  posture_reference_.set_target(reference);
  posture_reference_.advance(gains.max_posture_speed, gains.max_posture_speed / 0.05, dt);
  const double step = std::min(dt / kCrossingTime, 1.0);
  for (int i = 0; i < n_; ++i) ramped_weights_[i] = approach(ramped_weights_[i], weights_[i], step);
  model_.joint_positions(d_.q(), positions_);
  posture_error_ = posture_reference_.error_of(positions_);
  const VectorV last_error = posture_error_ + (posture_reference_.positions() - last_posture_);
  posture_stiffness_ = gains.null_stiffness * ramped_weights_;
  const double stored_energy =
      0.5 * (posture_stiffness_.array() * posture_error_.array().square()).sum();
  double level = posture_energy_ + stored_energy;
  level -= 0.5 * (last_stiffness_.array() * last_error.array().square()).sum();
  last_posture_ = posture_reference_.positions();
  last_stiffness_ = posture_stiffness_;
  if (posture_sample_) {
    model_.difference(posture_sample_->q, d_.q(), posture_displacement_);
    level -= posture_sample_->effort.dot(posture_displacement_) -
             std::max(posture_sample_->damping_power, 0.0) * dt;
  }
  posture_energy_ = std::min(level, gains.null_energy + stored_energy);
  const double reserve = kPostureReserve * std::max(gains.null_energy, kPostureEnergy);
  posture_stiffness_ *= std::min(std::max(posture_energy_ / reserve, 0.0), 1.0);
}

/// Compute the effort (nv,) that compensates a share of the friction in the joints.
void PoseImpedance::compensate_friction(double h) noexcept {
  const VectorV rates = d_.v().tail(n_);
  for (int i = 0; i < n_; ++i) {
    // Less and slower where a held effort would turn the motion round.
    const double max_damping = h > 0.0 ? shape_inertia_[i] / (4.0 * h) : HUGE_VAL;
    const double coulomb = model_.dry_friction()[i];
    const double slip_speed = std::max(kFrictionSlip, coulomb / max_damping);
    const double viscous = std::min(model_.damping()[i], max_damping) * rates[i];
    friction_effort_[b_ + i] = active_gains().friction_compensation *
                               (viscous + coulomb * std::tanh(rates[i] / slip_speed));
  }
}

const Command& PoseImpedance::control(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = active_gains();
  const double h = horizon(dt, gains.delay, age_);
  // Spring and damping fade out before the frame is changed, and in again.
  if (gains.relative_to_base != is_relative_ && frame_ramp_.share() == 0.0) {
    is_relative_ = gains.relative_to_base;
    tool_reference_.restart(tool_pose());
  }
  const double spring_share = frame_ramp_.follow(gains.relative_to_base == is_relative_, dt);
  follow(reference, dt);
  const Push* active_push = update_push(reference, dt);
  const Pose error = se3::inverse(tool_reference_.pose()) * tool_pose();
  compute_jacobian();
  const double feedback_gain = wrench_feedback_.update_gain(
      active_push ? nullptr : &wrench_, 1.0 / gains.inertia_share - 1.0,
      product<Twist>(jacobian_, d_.v()), effort_.task_damping_power, h, dt);
  AxisGains axis_gains = update_axis_gains(spring_share, 1.0 + feedback_gain, dt);
  double supplied_power = 0.0;  // by changes, W
  // Secants approach the bound of the energy, which a limit makes concave in the stiffness.
  for (int iteration = 0; iteration < 12; ++iteration) {
    effort_.set_error(error, tool_reference_.pose(), tool_reference_.twist(), axis_gains, h);
    if (!last_axis_gains_ || axis_gains.has_same_springs(*last_axis_gains_)) break;
    const double added_energy = effort_.potential_energy - effort_.energy(*last_axis_gains_);
    supplied_power = dt > 0.0 ? added_energy / dt : 0.0;
    if (added_energy <= kMaxLoadingPower * dt || iteration == 11) break;
    axis_gains.stay_near(*last_axis_gains_, kMaxLoadingPower * dt / added_energy);
  }
  last_axis_gains_ = axis_gains;
  hold_posture(reference, dt);
  if (active_push) effort_.replace_by_damper(active_push->direction, active_push->damping, h);
  split_inertia(d_.M(), jacobian_, mass_inverse_jt_, momentum_map_, effort_.extra_damping,
                smallest_singular_value_);
  effort_.extra_damping *= gains.damping_null;
  hold_base_and_limits(h, dt);
  effort_.posture_effort.setZero();
  if (posture_stiffness_.any())
    effort_.hold_posture(mass_inverse_jt_, momentum_map_, posture_error_, posture_stiffness_);
  effort_.compute(d_.M(), jacobian_, d_.v(), h);
  desired_effort_ = d_.g() + effort_.continuous_effort;
  sampled_effort_ = d_.g() + effort_.sampled_effort + effort_.impedance.brake(d_, h);
  const auto add = [&](const VectorV& effort) {
    desired_effort_ += effort;
    sampled_effort_ += effort;
    supplied_power += effort.dot(d_.v());
  };
  if (active_push) add(active_push->effort);
  if (gains.friction_compensation > 0.0) {
    compensate_friction(h);
    add(friction_effort_);
  }
  if (feedback_gain > 0.0)
    add(product<VectorV>(transposed(jacobian_), Twist(feedback_gain * wrench_feedback_.wrench())));
  if (!desired_effort_.allFinite()) return reject_effort();
  supplied_power += effort_.posture_effort.dot(d_.v());
  posture_sample_ = PostureSample{d_.q(), effort_.posture_effort, effort_.null_damping_power};
  last_effort_ = apply_output_stage(sampled_effort_, dt);

  ControlEnergy& energy = command_.energy;
  energy.closed_loop_energy = d_.kinetic_energy() + effort_.potential_energy;
  energy.shaped_potential = effort_.potential_energy;
  const auto task_momentum = product<Twist>(momentum_map_, d_.v());
  energy.kinetic_task = 0.5 * task_momentum.dot(product<Twist>(jacobian_, d_.v()));
  energy.kinetic_null = d_.kinetic_energy() - energy.kinetic_task;
  energy.damping_task = effort_.task_damping_power;
  energy.damping_null = effort_.null_damping_power;
  energy.reference_power = base_power_ + supplied_power + effort_.reference_power;
  energy.clipped_power = (last_effort_ - desired_effort_).dot(d_.v());
  command_.task_error = effort_.distance;
  command_.smallest_singular_value = smallest_singular_value_;
  command_.authority = active_push ? active_push->authority : 1.0;
  return make_command(
      last_effort_,
      {effort_.impedance.reason(), active_push ? active_push->reason : wrench_feedback_.reason()});
}

/// Advance the reference of the end effector.
void PoseImpedance::follow(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = active_gains();
  if (gains.stiffness == 0.0) {  // guided by hand: the reference goes along
    Pose pose = tool_pose();
    if (gains.stiffness_rotation > 0.0)
      pose.topLeftCorner<3, 3>() = tool_reference_.pose().topLeftCorner<3, 3>();
    tool_reference_.restart(pose);
  }
  const double bandwidth = 2.2 * gains.stiffness / std::max(gains.damping, 1e-3);
  tool_reference_.follow(reference, tool_target(reference), gains.max_speed, gains.max_turn_rate,
                         bandwidth, dt);
}

void PoseImpedance::hold_base(double dt) noexcept {
  const ImpedanceGains& gains = active_gains();
  const bool is_actuated = stage_.base_is_actuated();
  const double position_share = base_position_ramp_.follow(gains.hold_base && is_actuated, dt);
  const double attitude_share =
      base_attitude_ramp_.follow((gains.hold_base || gains.hold_attitude) && is_actuated, dt);
  base_spring_.compute(model_.base_pose(d_.q()).toHomogeneousMatrix(), gains.frequency_base,
                       position_share, attitude_share);
}

/// The pose of the end effector in the frame that it is held in.
Pose PoseImpedance::tool_pose() noexcept {
  const pinocchio::SE3& pose = d_.placement(model_.end_effector());
  if (!is_relative_) return pose.toHomogeneousMatrix();
  return se3::inverse(model_.base_pose(d_.q()).toHomogeneousMatrix()) * pose.toHomogeneousMatrix();
}

/// Compute the Jacobian of the end effector in that frame, and its smallest singular value.
void PoseImpedance::compute_jacobian() noexcept {
  jacobian_ = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  if (is_relative_) jacobian_.leftCols(b_).setZero();
  const int columns = is_relative_ && n_ > 0 ? n_ : b_ + n_;
  smallest_singular_value_ = smallest_singular_value(
      jacobian_.rightCols(columns), gram_, is_relative_ ? joint_jacobian_eigen_ : jacobian_eigen_);
}

/// Compute the springs that hold base and joints, and add the damping of an attitude.
void PoseImpedance::hold_base_and_limits(double h, double dt) noexcept {
  const ImpedanceGains& gains = active_gains();
  model_.joint_positions(d_.q(), positions_);
  const VectorV k_limit = stable_omega_squared(gains.limit_frequency, h) * shape_inertia_;
  const LimitSprings limits =
      joint_limits_.springs(positions_, d_.v().tail(n_), k_limit, gains.limit_margin, h);
  hold_base(dt);
  const double share = std::max(base_attitude_ramp_.share() - base_position_ramp_.share(), 0.0);
  const double attitude_damping = 2.0 * kDampingRatio * share * gains.frequency_base;
  effort_.set_springs(d_, base_spring_.energy, base_spring_.force, base_spring_.stiffness, limits,
                      attitude_damping);
}

}  // namespace vms_ph
