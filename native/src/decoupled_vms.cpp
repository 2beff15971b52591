// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Decoupled control of vehicle-manipulator systems: one energy for each of vehicle and shape.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/decoupled_effort.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// Gains of the decoupled law.
struct DecoupledVmsGains : OutputGains {
  double frequency_base = 1.5, frequency_shape = 4.0, damping_ratio = 0.8;
  double max_base_speed = 0.3, max_base_turn_rate = 0.5, max_joint_speed = 0.5;
  double integral = 0.0;

  static const GainTable<DecoupledVmsGains>& table() {
    using G = DecoupledVmsGains;
    static const GainTable<G> gains{
        OutputGains::table(),
        {
            {"frequency_base", "natural frequency of the base motion, rad/s", &G::frequency_base,
             0.0, 50.0},
            {"frequency_shape", gain_text::frequency_shape, &G::frequency_shape, 0.0, 100.0},
            {"damping_ratio", "damping ratio of both motions; 1 is critical", &G::damping_ratio,
             0.0, 10.0},
            {"base_speed", gain_text::base_speed, &G::max_base_speed, 1e-3, 20.0},
            {"base_turn", gain_text::base_turn_rate, &G::max_base_turn_rate, 1e-3, 20.0},
            {"joint_speed", gain_text::joint_speed, &G::max_joint_speed, 1e-3, 20.0},
            {"integral", gain_text::integral, &G::integral},
        }};
    return gains;
  }
};

namespace {

constexpr double kFullTurn = 2.0 * 3.14159265358979323846;

const Model& check_model(const Model& model) {
  if (model.base() == Base::fixed) {
    throw ModelError("DecoupledVMSController is for robots on a planar or floating base; '" +
                     model.name() + "' has a fixed one");
  }
  return model;
}

std::vector<bool> continuous_joints(const Model& model) {
  std::vector<bool> is_continuous;
  for (int i = 0; i < model.n(); ++i) {
    const bool is_unlimited =
        std::isinf(model.min_position()[i]) && std::isinf(model.max_position()[i]);
    is_continuous.push_back(is_unlimited && !model.is_prismatic(i));
  }
  return is_continuous;
}

}  // namespace

/// Energy shaping and damping in the inertially decoupled coordinates of [A (59)].
/// The storage function H_cl = 1/2 e^T M e + V_b(h) + V_m(q) with the velocity error e decreases by
/// the damping of the locked velocity error e_b + A e_m and of the shape part e_m. The law is
/// described in vms_ph_controllers/laws/decoupled_vms.py.
class DecoupledVMSController final : public RampedGains<StagedController, DecoupledVmsGains> {
 public:
  /// @throws ModelError  a fixed base, or an allocation for another base.
  explicit DecoupledVMSController(const Model& model, std::optional<Allocation> allocation = {},
                                  bool base_actuated = true)
      : RampedGains(check_model(model),
                    std::make_unique<BaseActuation>(model, std::move(allocation), base_actuated)),
        joint_reference_(model.n()),
        integral_(model.n()),
        base_share_(stage_.base_is_actuated() ? 1.0 : 0.0),
        is_continuous_(continuous_joints(model)),
        effort_(model) {
    shape_inertia_ = joint_positions_ = joint_error_ = VectorV::Zero(n_);
    reset_to_neutral();
  }

 private:
  void start_holding() noexcept override {
    const int linear_size = b_ == 6 ? 3 : 2;
    const VectorV diagonal = d_.M().diagonal();
    mean_mass_ = diagonal.head(linear_size).mean();
    mean_inertia_ = diagonal.segment(linear_size, b_ - linear_size).mean();
    shape_inertia_ = d_.M_hat_m().diagonal();
    base_reference_.restart(model_.base_pose(d_.q()).toHomogeneousMatrix());
    model_.joint_positions(d_.q(), joint_positions_);
    joint_reference_.restart(joint_positions_);
    integral_.restart();
    potential_.restart();
  }

  const Command& control(const Reference& reference, double dt) noexcept override {
    const DecoupledVmsGains& gains = active_gains();
    const double h = horizon(dt, gains.delay, age_);
    follow(reference, dt);
    const Pose pose = model_.base_pose(d_.q()).toHomogeneousMatrix();
    const Eigen::Vector3d position_error =
        pose.topRightCorner<3, 1>() - base_reference_.pose().topRightCorner<3, 1>();
    model_.joint_positions(d_.q(), joint_positions_);
    integrate(pose, position_error, dt);
    Pose minimum_pose = base_reference_.pose();
    minimum_pose.topLeftCorner<3, 3>() = product<Eigen::Matrix3d>(
        base_reference_.pose().topLeftCorner<3, 3>(), integral_.rotation());
    minimum_pose.topRightCorner<3, 1>() += integral_.position();
    const Pose error = se3::inverse(minimum_pose) * pose;
    const bool is_reversed = potential_.set_error(error);
    DecoupledEffort::Demand& demand = effort_.demand;
    demand.base_damping = base_share_ * 2.0 * gains.damping_ratio * gains.frequency_base;
    demand.shape_damping = 2.0 * gains.damping_ratio * gains.frequency_shape;
    demand.h = h;
    update_springs();
    const double spring_energy = effort_.set_springs(d_, springs_, potential_, error, joint_error_);
    if (is_resting()) {
      effort_.set_reference_at_rest();
    } else {
      Pose correction = Pose::Identity();
      correction.topLeftCorner<3, 3>() = integral_.rotation();
      const Pose reference_error = correction * error;  // in the reference, not the minimum
      effort_.set_reference(d_, reference_error, base_reference_.twist(),
                            base_reference_.acceleration(), joint_reference_.rates(),
                            joint_reference_.accelerations());
    }
    effort_.compute(d_);
    if (!effort_.continuous_effort.allFinite()) return reject_effort();
    const VectorV& output = apply_output_stage(effort_.sampled_effort, dt);

    ControlEnergy& energy = command_.energy;
    energy.kinetic_base = effort_.base_kinetic_energy;
    energy.kinetic_shape = effort_.shape_kinetic_energy;
    energy.shaped_potential = spring_energy;
    energy.closed_loop_energy = energy.kinetic_base + energy.kinetic_shape + spring_energy;
    energy.damping_base = effort_.base_damping_power;
    energy.damping_shape = effort_.shape_damping_power;
    energy.reference_power = -integral_power(pose, error);
    energy.clipped_power = (output - effort_.continuous_effort).dot(effort_.velocity_error);
    command_.task_error = position_error.norm();
    return make_command(output, {effort_.reason(), is_reversed ? reasons::attitude_reversed : ""});
  }

  bool is_resting() const noexcept {
    return base_reference_.is_resting() && joint_reference_.is_resting();
  }

  /// Advance the references; a target that is not finite is ignored.
  void follow(const Reference& reference, double dt) noexcept {
    if (reference.pose && reference.pose->allFinite()) base_reference_.set_target(*reference.pose);
    joint_reference_.set_target(reference);
    const bool has_twist = reference.twist && reference.twist->allFinite();
    const DecoupledVmsGains& gains = active_gains();
    base_reference_.advance(has_twist ? &*reference.twist : nullptr, gains.max_base_speed,
                            gains.max_base_turn_rate, gains.frequency_base, dt);
    joint_reference_.advance(gains.max_joint_speed, gains.frequency_shape, dt);
  }

  /// Advance the integral action; write how far the joints are from the minimum.
  void integrate(const Pose& pose, const Eigen::Vector3d& position_error, double dt) noexcept {
    const DecoupledVmsGains& gains = active_gains();
    const auto rotation_error = product<Eigen::Matrix3d>(
        transposed(base_reference_.pose().topLeftCorner<3, 3>()), pose.topLeftCorner<3, 3>());
    joint_error_ = joint_positions_ - joint_reference_.positions();
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (!is_continuous_[static_cast<std::size_t>(i)]) continue;
      joint_error_[i] -= kFullTurn * std::nearbyint(joint_error_[i] / kFullTurn);
    }
    if (is_limited_) {
      integral_.hold_displacement();
    } else {
      integral_.advance(gains.integral * gains.damping_ratio, base_share_ * gains.frequency_base,
                        gains.frequency_shape, position_error, &rotation_error, joint_error_, dt,
                        horizon(dt, gains.delay, age_));
    }
    joint_error_ -= integral_.joint_offset();
  }

  /// The power by which the integral action moves the minimum, with the opposite sign, W.
  double integral_power(const Pose& pose, const Pose& error) const noexcept {
    Twist twist;
    twist.head<3>() =
        product<Eigen::Vector3d>(transposed(pose.topLeftCorner<3, 3>()), integral_.position_rate());
    twist.tail<3>() = product<Eigen::Vector3d>(transposed(error.topLeftCorner<3, 3>()),
                                               integral_.angular_velocity());
    const double frequency = active_gains().frequency_shape;
    const VectorB base_force = effort_.demand.gradient.head(b_);
    const VectorV joint_force = shape_inertia_.cwiseProduct(joint_error_);
    return base_force.dot(base_components(twist, b_)) +
           frequency * frequency * joint_force.dot(integral_.joint_rates());
  }

  /// The springs at the present gains.
  void update_springs() noexcept {
    const DecoupledVmsGains& gains = active_gains();
    const double squared_frequency = base_share_ * gains.frequency_base * gains.frequency_base;
    springs_.k_position = squared_frequency * mean_mass_;
    springs_.k_rotation = squared_frequency * mean_inertia_;
    springs_.k_shape = (gains.frequency_shape * gains.frequency_shape) * shape_inertia_;
    springs_.k_limit =
        stable_omega_squared(gains.limit_frequency, effort_.demand.h) * shape_inertia_;
    springs_.limit_margin = gains.limit_margin;
  }

  PosePotential potential_;
  PoseReference base_reference_;
  JointReference joint_reference_;
  IntegralAction integral_;
  const double base_share_;                      // 1 for an actuated base, else 0
  std::vector<bool> is_continuous_;              // (n,) whether a joint is continuous
  double mean_mass_ = 0.0, mean_inertia_ = 0.0;  // of locked joints at the reset, kg and kg m^2
  VectorV shape_inertia_, joint_positions_, joint_error_;
  DecoupledEffort::Springs springs_;
  DecoupledEffort effort_;
};

std::unique_ptr<Controller> make_decoupled_vms(const LawSetup& setup) {
  return std::make_unique<DecoupledVMSController>(setup.model, setup.allocation,
                                                  setup.base_actuated);
}

}  // namespace vms_ph
