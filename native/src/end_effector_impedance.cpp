// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/end_effector_impedance.hpp"

#include <algorithm>
#include <memory>

#include "law_factories.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/texts.hpp"

namespace vms_ph {
namespace {

// Damping ratio of an attitude of the base that is held by itself.
constexpr double kRatio = 0.9;

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
          {"damping_null", "rate at which the null-space motion is damped, 1/s", &G::damping_null,
           0.0, 100.0},
          {"frequency_base", gain_text::frequency_base, &G::frequency_base, 0.0, 50.0},
          {"hold_base", gain_text::hold_base, &G::hold_base},
          {"hold_attitude", "hold the attitude of the base also where its place is not held",
           &G::hold_attitude},
          {"relative_to_base", "hold the end effector in the frame of the base",
           &G::relative_to_base},
          {"speed", gain_text::speed, &G::speed, 1e-3, 20.0},
          {"turn", gain_text::turn, &G::turn, 1e-3, 20.0},
      }};
  return gains;
}

PoseImpedance::PoseImpedance(const Model& model, std::optional<Allocation> allocation,
                             bool base_actuated)
    : StagedController(
          model, std::make_unique<BaseActuation>(model, std::move(allocation), base_actuated)),
      spring_(model),
      last_effort_(rest_),
      effort_(model),
      jacobian_(Matrix6V::Zero(6, model.nv())),
      momentum_(jacobian_),
      shape_inertia_(VectorV::Zero(n_)),
      positions_(shape_inertia_),
      desired_(rest_),
      sent_(rest_),
      eigen_(std::min(6, model.nv())),
      relative_eigen_(std::min(6, n_ > 0 ? n_ : model.nv())) {}

void PoseImpedance::hold() noexcept {
  relative_ = gains_now().relative_to_base;
  tool_.restart(tool_pose());
  effort_.restart();
  spring_.restart(d_);
  shape_inertia_ = d_.M_hat_m().diagonal();
  base_power_ = 0.0;
  last_effort_ = d_.g();
  holding_.restart();
  upright_.restart();
  attached_.restart();
}

const Command& PoseImpedance::control(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  const double h = horizon(dt, gains.delay, age_);
  // Spring and damping fade out before the frame is changed, and in again.
  if (gains.relative_to_base != relative_ && attached_.share() == 0.0) {
    relative_ = gains.relative_to_base;
    tool_.restart(tool_pose());
  }
  const double attached = attached_.follow(gains.relative_to_base == relative_, dt);
  follow(reference, dt);
  const Push* pushing = push(reference, dt);
  const Pose error = se3::inverse(tool_.pose()) * tool_pose();
  jacobian();
  const PoseGains attached_gains{attached * gains.stiffness, attached * gains.stiffness_rotation,
                                 attached * gains.damping, attached * gains.damping_rotation};
  effort_.set_error(error, tool_.twist(), attached_gains, h);
  if (pushing) effort_.release(pushing->direction, pushing->damping, h);
  split_inertia(d_.M(), jacobian_, momentum_, effort_.rest_damping);
  effort_.rest_damping *= gains.damping_null;
  rest(h, dt);
  effort_.compute(d_.M(), jacobian_, d_.v(), h);
  desired_ = d_.g() + effort_.continuous;
  if (pushing) desired_ += pushing->effort;
  if (!desired_.allFinite()) return refuse();
  sent_ = d_.g() + effort_.sampled + effort_.impedance.brake(d_, h);
  if (pushing) sent_ += pushing->effort;
  last_effort_ = pass(sent_, dt);

  ControlEnergy& energy = command_.energy;
  energy.closed_loop_energy = d_.kinetic_energy() + effort_.potential;
  energy.shaped_potential = effort_.potential;
  const auto task_momentum = product<Twist>(momentum_, d_.v());
  const auto eta = product<Twist>(jacobian_, d_.v());
  energy.kinetic_task = 0.5 * task_momentum.dot(eta);
  energy.kinetic_null = d_.kinetic_energy() - energy.kinetic_task;
  energy.damping_task = effort_.damping_task;
  energy.damping_null = effort_.damping_null;
  energy.reference_power = base_power_ + effort_.reference_power;
  if (pushing) energy.reference_power += pushing->effort.dot(d_.v());
  energy.clipped_power = (last_effort_ - desired_).dot(d_.v());
  command_.task_error = effort_.distance;
  command_.smallest_singular_value = smallest_;
  command_.authority = pushing ? pushing->authority : 1.0;
  return make_command(last_effort_, {effort_.impedance.reason(), pushing ? pushing->reason : ""});
}

void PoseImpedance::follow(const Reference& reference, double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  const double bandwidth = 2.0 * gains.stiffness / std::max(gains.damping, 1e-3);
  tool_.follow(reference, reference.pose, gains.speed, gains.turn, bandwidth, dt);
}

void PoseImpedance::hold_base(double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  const bool able = output_.base_is_actuated();
  const double attached_gains = holding_.follow(gains.hold_base && able, dt);
  const double upright = upright_.follow((gains.hold_base || gains.hold_attitude) && able, dt);
  spring_.compute(model_.base_pose(d_.q()).toHomogeneousMatrix(), gains.frequency_base,
                  attached_gains, upright);
}

/// The pose of the end effector in the frame that it is held in.
Pose PoseImpedance::tool_pose() noexcept {
  const pinocchio::SE3& pose = d_.placement(model_.end_effector());
  if (!relative_) return pose.toHomogeneousMatrix();
  return se3::inverse(model_.base_pose(d_.q()).toHomogeneousMatrix()) * pose.toHomogeneousMatrix();
}

/// Compute the Jacobian of the end effector in that frame, and its smallest singular value.
void PoseImpedance::jacobian() noexcept {
  jacobian_ = d_.frame_jacobian(model_.end_effector(), pinocchio::LOCAL);
  if (relative_) jacobian_.leftCols(b_).setZero();
  const int moving = relative_ && n_ > 0 ? n_ : b_ + n_;
  smallest_ = smallest_singular_value(jacobian_.rightCols(moving), gram_,
                                      relative_ ? relative_eigen_ : eigen_);
}

/// Compute the springs that hold base and joints, and add the damping of an attitude.
void PoseImpedance::rest(double h, double dt) noexcept {
  const ImpedanceGains& gains = gains_now();
  model_.joint_positions(d_.q(), positions_);
  const VectorV wall = (gains.limit_frequency * gains.limit_frequency) * shape_inertia_;
  const LimitSprings limits =
      joint_limits_.springs(positions_, d_.v().tail(n_), wall, gains.limit_margin, h);
  hold_base(dt);
  const double share = std::max(upright_.share() - holding_.share(), 0.0);
  const double turning = 2.0 * kRatio * share * gains.frequency_base;
  effort_.hold(d_, spring_.energy, spring_.force, spring_.stiffness, limits, turning);
}

std::unique_ptr<Controller> make_end_effector_impedance(const LawSetup& setup) {
  return std::make_unique<EndEffectorImpedance>(setup.model, setup.allocation, setup.base_actuated);
}

}  // namespace vms_ph
