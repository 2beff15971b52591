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

constexpr double kRadius = 0.1;  // of wheels, m

/// Six rotors around a vehicle, tilted or upright, or three wheels under a cart.
Allocation actuators(const Model& model, double tilt) {
  std::vector<Rotor> rotors;
  const int count = model.base() == Base::planar ? 3 : 6;
  for (int i = 0; i < count; ++i) {
    const double angle = 2.0 * 3.14159265358979 * i / count, sign = i % 2 == 0 ? 1.0 : -1.0;
    const Eigen::Vector3d outward(std::cos(angle), std::sin(angle), 0.0);
    const Eigen::Vector3d aside(-outward.y(), outward.x(), 0.0);
    const Eigen::Vector3d along =
        model.base() == Base::planar ? aside : tilt * sign * aside + Eigen::Vector3d::UnitZ();
    rotors.push_back({0.4 * outward, along, 0.02 * sign, -500.0, 500.0});
  }
  return Allocation(rotors, model.base());
}

/// The arm of a robot on two wheels with one axle.
Model on_two_wheels(const Model& model, const std::vector<Wheel>& wheels) {
  pinocchio::Model tree = model.pinocchio();
  for (std::size_t i = 0; i < wheels.size(); ++i) {
    const Eigen::Vector3d position(0.0, i == 0 ? 0.3 : -0.3, kRadius),
        diagonal(0.004, 0.007, 0.004);
    const auto joint =
        tree.addJoint(1, pinocchio::JointModelRY(),
                      pinocchio::SE3(Eigen::Matrix3d::Identity(), position), wheels[i].joint);
    tree.addJointFrame(joint);
    const Eigen::Matrix3d inertia = diagonal.asDiagonal();
    tree.appendBodyToJoint(joint, pinocchio::Inertia(1.5, Eigen::Vector3d::Zero(), inertia));
  }
  return Model(tree, tree.frames[model.end_effector()].name);
}

// A law with what it is asked.
struct LawRun {
  LawRun(const Model& model, std::unique_ptr<Controller> its_law, const std::vector<Gain>& changed)
      : law(std::move(its_law)) {
    for (const Gain& gain : changed) law->set_gain(gain.name, gain.value);
    // Near the middle of the ranges, away from singular postures, and not twice the same.
    const double aside = model.base() == Base::fixed ? 0.4 : 0.0;
    Eigen::VectorXd middle = Eigen::VectorXd::Zero(model.nv());
    for (int i = 0; i < model.n(); ++i) {
      const double centre = 0.5 * (model.lower()[i] + model.upper()[i]);
      middle[model.b() + i] = aside + (std::isfinite(centre) ? centre : 0.0);
    }
    for (int k = 0; k < 256; ++k) {
      RobotState state;
      state.q.resize(model.nq());
      const Eigen::VectorXd displacement = 0.2 * Eigen::VectorXd::Random(model.nv());
      model.integrate(model.neutral_configuration(), middle + displacement, state.q);
      state.v = Eigen::VectorXd::Random(model.nv());
      states.push_back(state);
    }
    law->reset(states[0]);
  }

  /// Velocities, twists and joint positions that change every second.
  void move(const Model& model) {
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
  bool moves = true;
  double payload = 0.0;  ///< kg
};

Contender contender(const std::string& law, const char* variant, const Model& model,
                    const Setting& setting) {
  const auto robot = std::make_shared<const Model>(model);
  auto built = make_law(law, *robot, setting.allocation, true, setting.wheels);
  if (setting.payload > 0.0) {
    built = std::make_unique<PayloadCompensation>(*robot, std::move(built));
    built->carry(setting.payload, Eigen::Vector3d::Zero(), 0.0);
  }
  const auto law_run = std::make_shared<LawRun>(*robot, std::move(built), setting.gains);
  if (setting.moves) law_run->move(*robot);
  return {law + " in C++" + variant, [robot, law_run](int k) {
            const auto& state = law_run->states[static_cast<std::size_t>(k) % 256];
            law_run->law->update(state, law_run->references[(k / 1000) % 2], 1e-3);
          }};
}

}  // namespace

Contenders laws(const Model& model) {
  const bool fixed = model.base() == Base::fixed;
  if (fixed && model.n() < PositionTask::kDimension) return {};
  const char *moving = ", moving reference", *full = ", all features";
  const auto gain = [](const char* name, double value) { return Gain{name, "", value, 0, 0}; };
  Setting all{{},
              {},
              {gain("tank_capacity", 1), gain("torque_rate", 1000), gain("power", 50),
               gain("cancel_coupling", 1), gain("hold_attitude", 1)}};
  const std::string usual = fixed ? "TaskSpaceIDAPBC" : "DecoupledVMSController";
  Contenders contenders{contender(usual, "", model, {{}, {}, {}, false}),
                        contender(usual, moving, model, {})};
  if (!fixed) all.allocation = actuators(model, 1.0);
  Setting shaped = all;
  shaped.gains.insert(shaped.gains.end(), {gain("stiffness", 1000), gain("task_stiffness", 300)});
  contenders.push_back(contender(usual, full, model, fixed ? shaped : all));
  for (const char* name :
       {"PoseIDAPBC", "CartesianImpedance", "PushingImpedance", "MobileManipulation"}) {
    if (fixed && std::string(name) == "MobileManipulation") continue;
    contenders.push_back(contender(name, full, model, all));
  }
  Setting loaded = all;
  loaded.payload = 1.0;
  contenders.push_back(
      contender("CartesianImpedance", ", all features and a payload", model, loaded));
  if (model.base() == Base::planar) {
    const std::vector<Wheel> wheels{{"left wheel", kRadius}, {"right wheel", kRadius}};
    for (const char* name : {"DifferentialDrive", "WheeledImpedance"}) {
      contenders.push_back(
          contender(name, full, on_two_wheels(model, wheels), {{}, wheels, all.gains}));
    }
  }
  if (model.base() != Base::floating) return contenders;
  contenders.push_back(contender("ResolvedMotion", full, model, all));
  // Rotors of one axis, and wheels that turn a satellite.
  Setting special = all;
  special.allocation = actuators(model, 0.0);
  contenders.push_back(contender("UnderactuatedFlight", full, model, special));
  Eigen::MatrixXd wheels = Eigen::MatrixXd::Zero(6, 3);
  wheels.bottomRows(3).setIdentity();
  const Eigen::VectorXd limit = Eigen::VectorXd::Constant(3, 20.0);
  special.allocation = Allocation(wheels, -limit, limit);
  contenders.push_back(
      contender("AttitudeControl", full, model.with_gravity({0.0, 0.0, 0.0}), special));
  return contenders;
}

}  // namespace vms_ph
