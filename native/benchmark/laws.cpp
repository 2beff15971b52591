// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The laws: at rest, on moving references, and with everything they can do.
#include "vms_ph_native/laws.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "contender.hpp"
#include "vms_ph_native/pinocchio_model.hpp"
#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/supervisor.hpp"
#include "vms_ph_native/task_space.hpp"

namespace vms_ph {
namespace {

constexpr double kWheelRadius = 0.1;  // of wheels, m

/// Six rotors around a vehicle, tilted or upright, or three wheels under a cart.
Allocation base_allocation(const Model& model, double tilt) {
  std::vector<Rotor> rotors;
  const int count = model.base() == Base::planar ? 3 : 6;
  for (int i = 0; i < count; ++i) {
    const double angle = 2.0 * 3.14159265358979 * i / count, sign = i % 2 == 0 ? 1.0 : -1.0;
    const Eigen::Vector3d radial(std::cos(angle), std::sin(angle), 0.0);
    const Eigen::Vector3d tangent(-radial.y(), radial.x(), 0.0);
    const Eigen::Vector3d axis =
        model.base() == Base::planar ? tangent : tilt * sign * tangent + Eigen::Vector3d::UnitZ();
    rotors.push_back({0.4 * radial, axis, 0.02 * sign, -500.0, 500.0});
  }
  return Allocation(rotors, model.base());
}

/// The arm of a robot on two wheels with one axle.
Model with_two_wheels(const Model& model, const std::vector<Wheel>& wheels) {
  pinocchio::Model tree = model.pinocchio();
  for (std::size_t i = 0; i < wheels.size(); ++i) {
    const Eigen::Vector3d position(0.0, i == 0 ? 0.3 : -0.3, kWheelRadius),
        inertia_diagonal(0.004, 0.007, 0.004);
    const auto joint =
        tree.addJoint(1, pinocchio::JointModelRY(),
                      pinocchio::SE3(Eigen::Matrix3d::Identity(), position), wheels[i].joint);
    tree.addJointFrame(joint);
    const Eigen::Matrix3d inertia = inertia_diagonal.asDiagonal();
    tree.appendBodyToJoint(joint, pinocchio::Inertia(1.5, Eigen::Vector3d::Zero(), inertia));
  }
  return Model(tree, tree.frames[model.end_effector()].name);
}

// A law with what it is asked.
struct LawRun {
  LawRun(const Model& model, std::unique_ptr<Controller> owned_law, const std::vector<Gain>& gains)
      : law(std::move(owned_law)) {
    for (const Gain& gain : gains) law->set_gain(gain.name, gain.value);
    // Near the middle of the ranges, away from singular postures, and not twice the same.
    const double joint_offset = model.base() == Base::fixed ? 0.4 : 0.0;
    Eigen::VectorXd mid_range = Eigen::VectorXd::Zero(model.nv());
    for (int i = 0; i < model.n(); ++i) {
      const double centre = 0.5 * (model.min_position()[i] + model.max_position()[i]);
      mid_range[model.b() + i] = joint_offset + (std::isfinite(centre) ? centre : 0.0);
    }
    for (int k = 0; k < 256; ++k) {
      RobotState state;
      state.q.resize(model.nq());
      const Eigen::VectorXd displacement = 0.2 * Eigen::VectorXd::Random(model.nv());
      model.integrate(model.neutral_configuration(), mid_range + displacement, state.q);
      state.v = Eigen::VectorXd::Random(model.nv());
      states.push_back(state);
    }
    law->reset(states[0]);
  }

  /// Velocities, twists and joint positions that change every second.
  void set_moving_references(const Model& model) {
    for (std::size_t k = 0; k < 2; ++k) {
      references[k].velocity = Eigen::Vector3d(0.0, k == 0 ? 0.05 : -0.05, 0.0);
      references[k].twist = (k == 0 ? 0.1 : -0.1) * Twist::Ones();
      references[k].joints.resize(model.n());
      model.joint_positions(states[k].q, references[k].joints);
      references[k].has_joints = true;
      references[k].wrench = (k == 0 ? 5.0 : -5.0) * Twist::Ones();
      if (model.b() > 0) references[k].pose = model.base_pose(states[k].q).toHomogeneousMatrix();
    }
  }

  std::unique_ptr<Controller> law;
  std::vector<RobotState> states;
  Reference references[2];
};

/// What a law is timed with, besides the robot.
struct Setting {
  std::optional<Allocation> allocation;
  std::vector<Wheel> wheels;
  std::vector<Gain> gains;
  bool has_moving_references = true;
  double payload_mass = 0.0;  ///< kg
};

Contender contender(const std::string& law, const char* variant, const Model& model,
                    const Setting& setting) {
  const auto robot = std::make_shared<const Model>(model);
  auto controller = make_law(law, *robot, setting.allocation, true, setting.wheels);
  if (setting.payload_mass > 0.0) {
    controller = std::make_unique<PayloadCompensation>(*robot, std::move(controller));
    controller->carry(setting.payload_mass, Eigen::Vector3d::Zero(), 0.0);
  }
  const auto law_run = std::make_shared<LawRun>(*robot, std::move(controller), setting.gains);
  if (setting.has_moving_references) law_run->set_moving_references(*robot);
  return {law + " in C++" + variant, [robot, law_run](int k) {
            const auto& state = law_run->states[static_cast<std::size_t>(k) % 256];
            law_run->law->update(state, law_run->references[(k / 1000) % 2], 1e-3);
          }};
}

}  // namespace

Contenders laws(const Model& model) {
  const bool is_fixed = model.base() == Base::fixed;
  if (is_fixed && model.n() < PositionTask::kDimension) return {};
  const char *moving_suffix = ", moving reference", *full_suffix = ", all features";
  const auto gain = [](const char* name, double value) { return Gain{name, "", value, 0, 0}; };
  Setting full_setting{{},
                       {},
                       {gain("tank_capacity", 1), gain("torque_rate", 1000), gain("power", 50),
                        gain("cancel_coupling", 1), gain("hold_attitude", 1)}};
  const std::string default_law = is_fixed ? "TaskSpaceIDAPBC" : "DecoupledVMSController";
  Contenders contenders{contender(default_law, "", model, {{}, {}, {}, false}),
                        contender(default_law, moving_suffix, model, {})};
  if (!is_fixed) full_setting.allocation = base_allocation(model, 1.0);
  Setting shaping_setting = full_setting;
  shaping_setting.gains.insert(shaping_setting.gains.end(),
                               {gain("stiffness", 1000), gain("task_stiffness", 300)});
  contenders.push_back(
      contender(default_law, full_suffix, model, is_fixed ? shaping_setting : full_setting));
  for (const char* name :
       {"PoseIDAPBC", "CartesianImpedance", "PushingImpedance", "MobileManipulation"}) {
    if (is_fixed && std::string(name) == "MobileManipulation") continue;
    contenders.push_back(contender(name, full_suffix, model, full_setting));
  }
  Setting loaded_setting = full_setting;
  loaded_setting.payload_mass = 1.0;
  contenders.push_back(
      contender("CartesianImpedance", ", all features and a payload", model, loaded_setting));
  if (model.base() == Base::planar) {
    const std::vector<Wheel> wheels{{"left wheel", kWheelRadius}, {"right wheel", kWheelRadius}};
    for (const char* name : {"DifferentialDrive", "WheeledImpedance"}) {
      contenders.push_back(contender(name, full_suffix, with_two_wheels(model, wheels),
                                     {{}, wheels, full_setting.gains}));
    }
  }
  if (model.base() != Base::floating) return contenders;
  contenders.push_back(contender("ResolvedMotion", full_suffix, model, full_setting));
  // Rotors of one axis, and wheels that turn a satellite.
  Setting special_setting = full_setting;
  special_setting.allocation = base_allocation(model, 0.0);
  contenders.push_back(contender("UnderactuatedFlight", full_suffix, model, special_setting));
  Eigen::MatrixXd moment_map = Eigen::MatrixXd::Zero(6, 3);
  moment_map.bottomRows(3).setIdentity();
  const Eigen::VectorXd limit = Eigen::VectorXd::Constant(3, 20.0);
  special_setting.allocation = Allocation(moment_map, -limit, limit);
  contenders.push_back(contender("AttitudeControl", full_suffix,
                                 model.with_gravity({0.0, 0.0, 0.0}), special_setting));
  return contenders;
}

}  // namespace vms_ph
