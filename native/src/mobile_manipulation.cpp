// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// An end effector that is held or moved while the base drives.
#include <memory>
#include <optional>

#include "vms_ph_native/cartesian_impedance.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

/// Gains of the impedance on a base that drives.
struct MobileGains : ImpedanceGains {
  MobileGains() {
    stiffness = 800.0;
    stiffness_rotation = 40.0;
    damping = 120.0;
    damping_rotation = 6.0;
    frequency_base = 1.5;
  }
  double max_base_speed = 0.2, max_base_turn_rate = 0.3, motion_share = 0.0;

  static const GainTable<MobileGains>& table() {
    using G = MobileGains;
    static const GainTable<G> gains{
        ImpedanceGains::table(),
        {
            {"frequency_base", "natural frequency of the base, rad/s", &G::frequency_base, 0.0,
             50.0},
            {"base_speed", gain_text::base_speed, &G::max_base_speed, 1e-3, 20.0},
            {"base_turn", gain_text::base_turn_rate, &G::max_base_turn_rate, 1e-3, 20.0},
            {"base_share", "share of the reference motion that the base takes", &G::motion_share},
        }};
    return gains;
  }
};

namespace {

// Entries of poses that differ by less are the same.
constexpr double kPoseTolerance = 1e-12;

const Model& check_model(const Model& model, const std::optional<Allocation>& allocation,
                         bool base_actuated) {
  if (!(model.b() > 0 && base_actuated && (!allocation || allocation->is_fully_actuated()))) {
    throw ModelError("MobileManipulation moves a base that can apply every wrench; that of '" +
                     model.name() + "' cannot");
  }
  return model;
}

}  // namespace

/// The impedance of an end effector, on a base with a reference of its own; it is described in
/// vms_ph_controllers/laws/mobile_manipulation.py.
class MobileManipulation final : public PostureGains<MobileGains> {
 public:
  /// @throws ModelError  the base is fixed, has no actuators, or cannot apply every wrench.
  explicit MobileManipulation(const Model& model, const std::optional<Allocation>& allocation = {},
                              bool base_actuated = true)
      : PostureGains(check_model(model, allocation, base_actuated), allocation, base_actuated) {
    reset_to_neutral();
  }

  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override {
    if (reference.pose && reference.pose->allFinite()) base_target_ = *reference.pose;
    return PostureGains::update(state, reference, dt);
  }

 private:
  void start_holding() noexcept override {
    PoseImpedance::start_holding();
    base_target_ = model_.base_pose(d_.q()).toHomogeneousMatrix();
    base_reference_.restart(base_target_);
    tool_home_ = tool_reference_.pose().topRightCorner<3, 1>();
  }

  std::optional<Pose> tool_target(const Reference&) const noexcept override { return {}; }

  /// Move the spring of the base with its reference.
  void hold_base(double dt) noexcept override {
    const MobileGains& gains = active_gains();
    Eigen::Vector3d base_displacement =
        gains.motion_share * (tool_reference_.pose().topRightCorner<3, 1>() - tool_home_);
    if (model_.base() == Base::planar) base_displacement[2] = 0.0;
    Pose target = base_target_;
    target.topRightCorner<3, 1>() += base_displacement;
    if (!base_reference_.is_resting() ||
        (target - base_reference_.pose()).cwiseAbs().maxCoeff() > kPoseTolerance) {
      base_reference_.set_target(target);
    }
    base_reference_.advance(nullptr, gains.max_base_speed, gains.max_base_turn_rate,
                            2.0 * gains.frequency_base, dt);
    base_spring_.set_rest_pose(base_reference_.pose());
    PoseImpedance::hold_base(dt);
    const Pose error =
        se3::inverse(base_reference_.pose()) * model_.base_pose(d_.q()).toHomogeneousMatrix();
    const auto reference_twist =
        product<Twist>(se3::Ad(se3::inverse(error)), base_reference_.twist());
    base_power_ = -base_spring_.force.dot(base_components(reference_twist, b_));
  }

  PoseReference base_reference_;
  Pose base_target_ = Pose::Identity();                  // of the base, without what it takes over
  Eigen::Vector3d tool_home_ = Eigen::Vector3d::Zero();  // of the end effector, at the reset
};

std::unique_ptr<Controller> make_mobile_manipulation(const LawSetup& setup) {
  return std::make_unique<MobileManipulation>(setup.model, setup.allocation, setup.base_actuated);
}

}  // namespace vms_ph
