// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Impedance of the end effector of a robot on wheels, in the velocities that its wheels allow.
#include <algorithm>
#include <memory>
#include <vector>

#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/springs.hpp"
#include "vms_ph_native/wheeled_controller.hpp"

namespace vms_ph {

/// Gains of the impedance on wheels.
struct WheeledGains : LimitGains {
  double stiffness = 100.0, stiffness_rotation = 5.0, damping = 40.0, damping_rotation = 1.0;
  double damping_null = 1.0, limit_margin = 0.05, limit_frequency = 10.0;
  double max_speed = 0.2, max_turn_rate = 0.5;

  static const GainTable<WheeledGains>& table() {
    using G = WheeledGains;
    static const GainTable<G> gains{
        LimitGains::table(),
        {
            {"stiffness", gain_text::stiffness, &G::stiffness, 0.0, 5000.0},
            {"stiffness_rotation", gain_text::stiffness_rotation, &G::stiffness_rotation, 0.0,
             500.0},
            {"damping", gain_text::damping, &G::damping, 0.0, 1000.0},
            {"damping_rotation", gain_text::damping_rotation, &G::damping_rotation, 0.0, 100.0},
            {"damping_null", "rate at which motion beside it is damped, 1/s", &G::damping_null, 0.0,
             100.0},
            {"limit_margin", gain_text::limit_margin, &G::limit_margin},
            {"limit_frequency", gain_text::limit_frequency, &G::limit_frequency, 0.0, 100.0},
            {"speed", gain_text::speed, &G::max_speed, 1e-3, 20.0},
            {"turn", gain_text::turn_rate, &G::max_turn_rate, 1e-3, 20.0},
        }};
    return gains;
  }
};

/// A spring and a damper hold the end effector, and all joints follow as the wheels allow; the law
/// is described in vms_ph_controllers/laws/wheeled_impedance.py.
class WheeledImpedance final : public WheeledController<WheeledGains> {
 public:
  /// @throws ModelError  wheels that no joint moves, or a mistake in the wheels.
  WheeledImpedance(const Model& model, const std::vector<Wheel>& wheels)
      : WheeledController(model, wheels),
        joint_limits_(model),
        effort_(model, terms_.nu.size()),
        shape_inertia_(VectorV::Zero(n_)),
        positions_(shape_inertia_),
        desired_effort_(zero_velocity_),
        reason_(1024) {
    RobotState initial_state;
    initial_state.q = model.neutral_configuration();
    initial_state.v = zero_velocity_;
    if (!can_drive_all_motions(initial_state)) {
      throw ModelError("the joints of '" + model.name() +
                       "' do not move all motions that its wheels allow");
    }
    reset(initial_state);
  }

  bool reset(const RobotState& state) noexcept override {
    if (!model_.is_configuration(state.q)) return false;
    d_at_rest_.set(state.q, zero_velocity_);
    tool_reference_.restart(d_at_rest_.placement(model_.end_effector()).toHomogeneousMatrix());
    shape_inertia_ = d_at_rest_.M_hat_m().diagonal();
    effort_.restart();
    torque_limits_.restart();
    return true;
  }

 private:
  const char* write_command(const Reference& reference, double dt) noexcept override {
    Evaluation& d = terms_.evaluation();
    const WheeledGains& gains = gains_;
    const double bandwidth = 2.0 * gains.stiffness / std::max(gains.damping, 1e-3);
    tool_reference_.follow(reference, reference.pose, gains.max_speed, gains.max_turn_rate,
                           bandwidth, dt);
    const Pose placement = d.placement(model_.end_effector()).toHomogeneousMatrix();
    effort_.set_error(
        se3::inverse(tool_reference_.pose()) * placement, tool_reference_.pose(),
        tool_reference_.twist(),
        {gains.stiffness, gains.stiffness_rotation, gains.damping, gains.damping_rotation}, 0.0);
    multiply(d.frame_jacobian(model_.end_effector(), pinocchio::LOCAL), terms_.basis, jacobian_);
    split_inertia(terms_.mass, jacobian_, mass_inverse_jt_, momentum_map_, effort_.extra_damping);
    effort_.extra_damping *= gains.damping_null;
    compute_limit_springs();
    effort_.compute(terms_.mass, jacobian_, terms_.nu, horizon(dt, gains.delay, age_));
    multiply(transposed(terms_.basis), d.g(), desired_effort_);
    desired_effort_ += effort_.sampled_effort;
    if (const char* failure = set_torque(desired_effort_, dt)) return failure;
    ControlEnergy& energy = command_.energy;
    energy.closed_loop_energy = d.kinetic_energy() + effort_.potential_energy;
    energy.shaped_potential = effort_.potential_energy;
    energy.damping_task = effort_.task_damping_power;
    energy.damping_null = effort_.null_damping_power;
    energy.reference_power = effort_.reference_power;
    energy.clipped_power = (command_.torque - desired_torque_).dot(d.v().tail(n_));
    command_.task_error = effort_.distance;
    const char* const reason = effort_.impedance.reason();
    if (*reason != '\0') {
      reason_.set(torque_limits_.reason().empty() ? "%s%s" : "%s; %s",
                  torque_limits_.reason().text(), reason);
      command_.reason = reason_.text();
    }
    return nullptr;
  }

  /// Compute the springs at the limits of the joints, in the independent velocities.
  void compute_limit_springs() noexcept {
    model_.joint_positions(terms_.evaluation().q(), positions_);
    const VectorV stiffness = (gains_.limit_frequency * gains_.limit_frequency) * shape_inertia_;
    const VectorV rates = terms_.evaluation().v().tail(n_);
    const LimitSprings limit_springs =
        joint_limits_.springs(positions_, rates, stiffness, gains_.limit_margin, 0.0);
    MatrixV scaled_basis = terms_.basis.bottomRows(n_);
    const MatrixView joint_basis_transpose = MatrixView(terms_.basis).bottom_rows(n_).transposed();
    effort_.extra_energy = limit_springs.energy;
    multiply(joint_basis_transpose, limit_springs.force, effort_.extra_force);
    for (Eigen::Index i = 0; i < n_; ++i) scaled_basis.row(i) *= limit_springs.stiffness[i];
    multiply(joint_basis_transpose, scaled_basis, effort_.extra_stiffness);
  }

  JointLimitPotential joint_limits_;
  PoseReference tool_reference_;
  PoseEffort effort_;
  VectorV shape_inertia_, positions_, desired_effort_;  // first: diagonal of M_hat_m at the reset
  Matrix6V jacobian_, momentum_map_;  // of the end effector, and its momentum, for nu
  MatrixV6 mass_inverse_jt_;
  Reason reason_;
};

std::unique_ptr<Controller> make_wheeled_impedance(const LawSetup& setup) {
  return std::make_unique<WheeledImpedance>(setup.model, setup.wheels);
}

}  // namespace vms_ph
