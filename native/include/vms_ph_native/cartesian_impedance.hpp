// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Cartesian impedance with null space, for arms and for robots on any base.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/observers/impulse_balance.hpp"
#include "vms_ph_native/pose_effort.hpp"
#include "vms_ph_native/pose_reference.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/springs.hpp"
#include "vms_ph_native/staged_controller.hpp"

namespace vms_ph {

/// A push of the end effector along one direction.
struct Push {
  Eigen::Vector3d direction = Eigen::Vector3d::UnitX();  ///< in end-effector axes, of length one
  VectorV effort;           ///< (nv,) generalised force that the law adds
  double damping = 0.0;     ///< along the direction, N s/m
  double authority = 1.0;   ///< share of the desired force in force, in [0, 1]
  const char* reason = "";  ///< why it is not the whole; empty otherwise
};

/// Gains of the impedance.
struct ImpedanceGains : OutputGains {
  double stiffness = 200.0, stiffness_rotation = 10.0, damping = 40.0, damping_rotation = 2.0;
  double damping_null = 2.0, frequency_base = 3.0;
  bool hold_base = true, hold_attitude = false, relative_to_base = false;
  double max_speed = 0.2, max_turn_rate = 0.5;
  double stiffness_share_x = 1.0, stiffness_share_y = 1.0, stiffness_share_z = 1.0;
  double stiffness_share_rx = 1.0, stiffness_share_ry = 1.0, stiffness_share_rz = 1.0;
  double damping_share_x = 1.0, damping_share_y = 1.0, damping_share_z = 1.0;
  double damping_share_rx = 1.0, damping_share_ry = 1.0, damping_share_rz = 1.0;
  bool tool_axes = false;
  double force_limit = 0.0, moment_limit = 0.0;
  double null_stiffness = 0.0, null_energy = 1.0, max_posture_speed = 0.5;
  double friction_compensation = 0.0, inertia_share = 1.0;

  static const GainTable<ImpedanceGains>& table();
};

/// The gain k of a wrench that is measured at an end effector and fed back to it; it is described
/// in vms_ph_controllers/laws/wrench_feedback.py.
class WrenchFeedback {
 public:
  void restart() noexcept;

  /// Take a wrench and return the gain k in force; without a wrench (null) the last fades out.
  double update_gain(const Twist* measured, double gain, const Twist& twist, double damping_power,
                     double h, double dt) noexcept;

  const Twist& wrench() const noexcept { return last_wrench_; }  ///< measured last
  /// Why feedback is off; empty where it is not.
  const char* reason() const noexcept { return allowance_ < 0.0 ? reasons::feedback_off : ""; }

 private:
  Twist last_wrench_, last_twist_;
  double allowance_, gain_;  // J, and k
  SwitchRamp ramp_;
};

/// The impedance of an end effector, for laws that differ in what they do with the base; it is
/// described in vms_ph_controllers/laws/cartesian_impedance.py.
class PoseImpedance : public StagedController {
 public:
  void note_missed_updates() noexcept override;

  /// Energy that the posture may still give, J.
  double null_level() const noexcept { return posture_energy_; }

  /// The share of the stiffness of the posture for each joint, as `null_weight.<joint>`.
  std::vector<Gain> null_weights() const;
  bool set_null_weight(const std::string& name, double value) noexcept;

 protected:
  PoseImpedance(const Model& model, std::optional<Allocation> allocation, bool base_actuated);

  void start_holding() noexcept override;
  const Command& control(const Reference& reference, double dt) noexcept override;
  const ImpedanceGains& active_gains() const noexcept override = 0;

  void store_limit_demand(ImpedanceGains& demand) const noexcept {
    StagedController::store_limit_demand(demand);
    demand.force_limit = effort_.limit_demand[0];
    demand.moment_limit = effort_.limit_demand[1];
  }

  /// The pose that the end effector is to have; none where its position alone is led.
  virtual std::optional<Pose> tool_target(const Reference& r) const noexcept { return r.pose; }

  /// Compute the spring of the base.
  virtual void hold_base(double dt) noexcept;

  /// What replaces the impedance along one direction; null where nothing does.
  virtual const Push* update_push(const Reference&, double) noexcept { return nullptr; }

  PoseReference tool_reference_;
  BaseSpring base_spring_;
  double base_power_ = 0.0;   // with which the base's reference moves the minimum, W
  bool is_relative_ = false;  // whether the end effector is held in the frame of the base
  VectorV last_effort_;       // (nv,) effort that was passed last

 private:
  Pose tool_pose() noexcept;
  void follow(const Reference& reference, double dt) noexcept;
  void compute_jacobian() noexcept;
  void hold_base_and_limits(double h, double dt) noexcept;
  AxisGains update_axis_gains(double spring_share, double scale, double dt) noexcept;
  void hold_posture(const Reference& reference, double dt) noexcept;
  void compensate_friction(double h) noexcept;

  // What the posture did in the last sample.
  struct PostureSample {
    VectorQ q;             // at its start
    VectorV effort;        // (nv,) of the posture
    double damping_power;  // in the null space, W
  };

  PoseEffort effort_;
  SwitchRamp base_position_ramp_, frame_ramp_, base_attitude_ramp_, tool_axes_ramp_;
  WrenchFeedback wrench_feedback_;
  std::optional<AxisGains> last_axis_gains_;
  JointReference posture_reference_;
  VectorV weights_, ramped_weights_;  // (n,) of the posture's stiffness: as set, and in force
  VectorV last_posture_, last_stiffness_, posture_error_, posture_stiffness_;  // (n,)
  VectorV friction_effort_, posture_displacement_;                             // (nv,)
  std::optional<PostureSample> posture_sample_;
  double posture_energy_ = 0.0, smallest_singular_value_ = 0.0;  // J; of jacobian_
  Matrix6V jacobian_, momentum_map_;  // (6,nv) J, and the momentum of the task for a velocity
  MatrixV6 mass_inverse_jt_;          // (nv,6) M^-1 J^T
  VectorV shape_inertia_, positions_, desired_effort_, sampled_effort_;
  MatrixV gram_;
  SymmetricEigen jacobian_eigen_, joint_jacobian_eigen_;
};

/// The gains of an impedance, and the weights of its posture by joint.
template <class Gains>
class PostureGains : public RampedGains<PoseImpedance, Gains> {
 public:
  using Ramped = RampedGains<PoseImpedance, Gains>;
  using Ramped::Ramped;

  std::vector<Gain> gains() const override {
    std::vector<Gain> all = Ramped::gains();
    for (Gain& weight : this->null_weights()) all.push_back(std::move(weight));
    return all;
  }
  bool set_gain(const std::string& name, double value) noexcept override {
    return Ramped::set_gain(name, value) || this->set_null_weight(name, value);
  }
};

/// Spring and damper of an end effector, and a posture in its null space.
class CartesianImpedance final : public PostureGains<ImpedanceGains> {
 public:
  /// Control the end effector of a robot, which must outlive the controller.
  ///
  /// @param allocation     the actuators of the base; without them it can apply any wrench.
  /// @param base_actuated  false for a base without actuators; it is then not held.
  /// @throws ModelError    the allocation is for another base.
  explicit CartesianImpedance(const Model& model, std::optional<Allocation> allocation = {},
                              bool base_actuated = true)
      : PostureGains(model, std::move(allocation), base_actuated) {
    reset_to_neutral();
  }
};

/// Gains of the impedance that pushes.
struct PushGains : ImpedanceGains {
  double push_force = 50.0, push_speed = 0.05, push_energy = 2.0;
  double push_routing = 0.5, push_rate = 100.0, push_feedback = 1.0;

  static const GainTable<PushGains>& table();
};

/// The impedance of the end effector, and along one direction a force instead; it is described in
/// vms_ph_controllers/laws/pushing_impedance.py.
class PushingImpedance final : public PostureGains<PushGains> {
 public:
  /// As for CartesianImpedance.
  explicit PushingImpedance(const Model& model, std::optional<Allocation> allocation = {},
                            bool base_actuated = true);

  bool reset(const RobotState& state) noexcept override;
  void note_missed_updates() noexcept override;

  /// Energy that is left for pushing, J.
  double push_level() const noexcept { return tank_ ? tank_->level : active_gains().push_energy; }

  /// Force on the surroundings along the direction of the push, as observed, N.
  double observed_force() const noexcept { return observed_force_; }

 private:
  // A force that was held over the last sample.
  struct AppliedForce {
    Eigen::Vector3d position;  // of the end effector, m
    double force;              // N
    Eigen::Vector3d direction;
  };

  void start_holding() noexcept override;
  const Push* update_push(const Reference& reference, double dt) noexcept override;
  void update_tank(double dt) noexcept;
  bool update_direction(const Reference& reference, double dt) noexcept;
  void move_reference() noexcept;
  double update_force_correction(double dt) noexcept;

  ImpulseBalance impulse_balance_;
  MomentumObserver momentum_observer_;
  WrenchMap wrench_map_;
  Push push_;
  std::optional<EnergyTank> tank_;
  std::optional<AppliedForce> last_force_;
  Matrix6V tool_jacobian_;         // (6,nv) of the end effector, in its axes
  Eigen::Matrix3d tool_rotation_;  // its rotation
  Eigen::Vector3d tool_position_;  // its position, m
  Eigen::Vector3d desired_force_ = Eigen::Vector3d::Zero(), push_axis_ = Eigen::Vector3d::UnitX();
  double push_force_ = 0.0, force_correction_ = 0.0, observed_force_ = 0.0, routable_power_ = 0.0;
};

}  // namespace vms_ph
