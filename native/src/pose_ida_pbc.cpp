// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Task-space IDA-PBC of a pose, on any base that is fully actuated.
#include <algorithm>
#include <memory>
#include <optional>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/springs.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of the law.
struct PoseIdaPbcGains : OutputGains {
  double stiffness = 200.0, stiffness_rotation = 10.0, damping = 40.0, damping_rotation = 2.0;
  double damping_null = 2.0, frequency_base = 3.0, frequency_posture = 0.0;
  bool hold_base = true, cancel_coupling = false;
  double max_speed = 0.2, max_turn_rate = 0.5;

  static const GainTable<PoseIdaPbcGains>& table() {
    using G = PoseIdaPbcGains;
    static const GainTable<G> gains{
        OutputGains::table(),
        {
            {"stiffness", gain_text::stiffness, &G::stiffness, 0.0, 5000.0},
            {"stiffness_rotation", gain_text::stiffness_rotation, &G::stiffness_rotation, 0.0,
             500.0},
            {"damping", gain_text::damping, &G::damping, 0.0, 1000.0},
            {"damping_rotation", gain_text::damping_rotation, &G::damping_rotation, 0.0, 100.0},
            {"damping_null", "rate of the null-space damping, 1/s", &G::damping_null, 0.0, 100.0},
            {"frequency_base", gain_text::frequency_base, &G::frequency_base, 0.0, 50.0},
            {"frequency_posture", "frequency of the posture, rad/s; 0: none", &G::frequency_posture,
             0.0, 50.0},
            {"hold_base", gain_text::hold_base, &G::hold_base},
            {"cancel_coupling", gain_text::cancel_coupling, &G::cancel_coupling},
            {"speed", gain_text::speed, &G::max_speed, 1e-3, 20.0},
            {"turn", gain_text::turn_rate, &G::max_turn_rate, 1e-3, 20.0},
        }};
    return gains;
  }
};

namespace {

// Smallest singular value of the task Jacobian below which the coupling of task and null space is
// left as it is: what cancels it grows there without bound.
constexpr double kMinSigma = 0.03;

const Model& check_model(const Model& model, const std::optional<Allocation>& allocation,
                         bool base_actuated) {
  const bool is_fully_actuated = base_actuated && (!allocation || allocation->is_fully_actuated());
  if (model.b() > 0 && !is_fully_actuated) {
    throw ModelError(
        "PoseIDAPBC shapes the energy of every motion, which the matching equation allows only "
        "where the base can apply every wrench; that of '" +
        model.name() +
        "' cannot. CartesianImpedance and, for robots in space, ResolvedMotion do without");
  }
  return model;
}

}  // namespace

/// Interconnection and damping assignment for a pose on SE(3) [D (37)]; see
/// vms_ph_controllers/laws/pose_ida_pbc.py.
class PoseIDAPBC final : public RampedGains<StagedController, PoseIdaPbcGains> {
 public:
  /// @throws ModelError  the base cannot apply every wrench, or the allocation is for another.
  explicit PoseIDAPBC(const Model& model, std::optional<Allocation> allocation = {},
                      bool base_actuated = true)
      : RampedGains(check_model(model, allocation, base_actuated),
                    std::make_unique<BaseActuation>(model, allocation, base_actuated)),
        base_spring_(model),
        motion_(model),
        effort_(model),
        posture_(model.neutral_configuration()),
        posture_error_(Eigen::VectorXd::Zero(model.nv())) {
    shape_inertia_ = positions_ = VectorV::Zero(n_);
    gyroscopic_force_ = desired_effort_ = sampled_effort_ = zero_velocity_;
    reset_to_neutral();
  }

 private:
  void start_holding() noexcept override {
    tool_reference_.restart(d_.placement(model_.end_effector()).toHomogeneousMatrix());
    effort_.restart();
    base_spring_.restart(d_);
    posture_ = d_.q();
    shape_inertia_ = d_.M_hat_m().diagonal();
    base_ramp_.restart();
    cancellation_ramp_.restart();
  }

  const Command& control(const Reference& reference, double dt) noexcept override {
    const PoseIdaPbcGains& gains = active_gains();
    const double h = horizon(dt, gains.delay, age_);
    const double bandwidth = 2.0 * gains.stiffness / std::max(gains.damping, 1e-3);
    tool_reference_.follow(reference, reference.pose, gains.max_speed, gains.max_turn_rate,
                           bandwidth, dt);
    const Pose placement = d_.placement(model_.end_effector()).toHomogeneousMatrix();
    const Pose error = se3::inverse(tool_reference_.pose()) * placement;
    motion_.compute(d_, model_.end_effector());
    const Matrix6V& J = motion_.J;
    effort_.set_error(
        error, tool_reference_.pose(), tool_reference_.twist(),
        {gains.stiffness, gains.stiffness_rotation, gains.damping, gains.damping_rotation}, h);
    effort_.extra_damping = gains.damping_null * motion_.null_inertia;
    compute_springs(h, dt);
    effort_.compute(d_.M(), J, d_.v(), h);

    const double null_to_task = -motion_.task_decoupling.dot(motion_.twist);
    const double sigma_min = motion_.smallest_singular_value;
    double cancellation = std::min(std::max(sigma_min / kMinSigma - 1.0, 0.0), 1.0);
    cancellation *= cancellation_ramp_.follow(gains.cancel_coupling, dt);
    gyroscopic_force_ = motion_.null_decoupling;
    add_product(transposed(J), motion_.task_decoupling, gyroscopic_force_);
    gyroscopic_force_ *= cancellation;
    desired_effort_ = d_.g() + gyroscopic_force_ + effort_.continuous_effort;
    if (!desired_effort_.allFinite()) return reject_effort();
    const bool is_gyroscopic = !gyroscopic_force_.isZero(0.0);
    sampled_effort_ = d_.g() + gyroscopic_force_ + effort_.sampled_effort;
    sampled_effort_ += effort_.impedance.brake(d_, h, is_gyroscopic ? &gyroscopic_force_ : nullptr);
    const VectorV& output = apply_output_stage(sampled_effort_, dt);

    ControlEnergy& energy = command_.energy;
    const auto momentum = product<Twist>(motion_.inertia, motion_.twist);
    energy.kinetic_task = 0.5 * motion_.twist.dot(momentum);
    energy.kinetic_null = d_.kinetic_energy() - energy.kinetic_task;
    energy.closed_loop_energy =
        energy.kinetic_task + energy.kinetic_null + effort_.potential_energy;
    energy.shaped_potential = effort_.potential_energy;
    energy.damping_task = effort_.task_damping_power;
    energy.damping_null = effort_.null_damping_power;
    energy.reference_power = effort_.reference_power;
    energy.clipped_power = (output - desired_effort_).dot(d_.v());
    energy.routing_power = gyroscopic_force_.dot(d_.v());
    energy.null_to_task = null_to_task;
    command_.task_error = effort_.distance;
    command_.smallest_singular_value = sigma_min;
    make_command(output, {effort_.impedance.reason()});
    if (command_.status == Status::ok && gains.cancel_coupling && sigma_min < 2.0 * kMinSigma) {
      command_.status = Status::degraded;
      reason_.set("near a singularity: smallest singular value %.3g", sigma_min);
    }
    return command_;
  }

  /// Compute the springs that hold the base, the posture and the joints within their limits.
  void compute_springs(double h, double dt) noexcept {
    const PoseIdaPbcGains& gains = active_gains();
    const double base_share = base_ramp_.follow(gains.hold_base, dt);
    base_spring_.compute(model_.base_pose(d_.q()).toHomogeneousMatrix(), gains.frequency_base,
                         base_share, base_share);
    model_.joint_positions(d_.q(), positions_);
    const VectorV k_limit = stable_omega_squared(gains.limit_frequency, h) * shape_inertia_;
    const LimitSprings limit_springs =
        joint_limits_.springs(positions_, d_.v().tail(n_), k_limit, gains.limit_margin, h);
    model_.difference(posture_, d_.q(), posture_error_);
    const double frequency_squared = gains.frequency_posture * gains.frequency_posture;
    effort_.set_springs(d_, base_spring_.energy, base_spring_.force, base_spring_.stiffness,
                        limit_springs, 0.0);
    const VectorV stiffness = frequency_squared * shape_inertia_;
    const VectorV force = stiffness.cwiseProduct(posture_error_.tail(n_));
    effort_.extra_energy += 0.5 * force.dot(posture_error_.tail(n_));
    effort_.extra_force.tail(n_) += force;
    effort_.extra_stiffness.diagonal().tail(n_) += stiffness;
  }

  SwitchRamp base_ramp_, cancellation_ramp_;
  BaseSpring base_spring_;
  PoseReference tool_reference_;
  PoseMotion motion_;
  PoseEffort effort_;
  VectorV shape_inertia_, positions_, gyroscopic_force_, desired_effort_, sampled_effort_;
  Eigen::VectorXd posture_, posture_error_;
};

std::unique_ptr<Controller> make_pose_ida_pbc(const LawSetup& setup) {
  return std::make_unique<PoseIDAPBC>(setup.model, setup.allocation, setup.base_actuated);
}

}  // namespace vms_ph
