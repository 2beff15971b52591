// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// The laws of moving bases: at rest, on moving references, and with everything they can do.
#include "vms_ph_native/laws.hpp"

#include <cmath>
#include <memory>

#include "contender.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

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

// A law with what it is asked.
struct Course {
  Course(const Model& model, std::unique_ptr<Controller> its_law, const std::vector<Gain>& changed)
      : law(std::move(its_law)) {
    for (const Gain& gain : changed) law->set_gain(gain.name, gain.value);
    // Near the middle of the ranges, and not twice the same.
    Eigen::VectorXd middle = Eigen::VectorXd::Zero(model.nv());
    for (int i = 0; i < model.n(); ++i) {
      const double centre = 0.5 * (model.lower()[i] + model.upper()[i]);
      if (std::isfinite(centre)) middle[model.b() + i] = centre;
    }
    for (int k = 0; k < 256; ++k) {
      RobotState state;
      state.q.resize(model.nq());
      const Eigen::VectorXd away = 0.2 * Eigen::VectorXd::Random(model.nv());
      model.integrate(model.neutral_configuration(), middle + away, state.q);
      state.v = Eigen::VectorXd::Random(model.nv());
      states.push_back(state);
    }
    law->reset(states[0]);
  }

  /// Twists and joint positions that change every second.
  void move(const Model& model) {
    for (std::size_t k = 0; k < 2; ++k) {
      references[k].twist = (k == 0 ? 0.1 : -0.1) * Twist::Ones();
      references[k].joints.resize(model.n());
      model.joint_positions(states[k].q, references[k].joints);
      references[k].has_joints = true;
    }
  }

  std::unique_ptr<Controller> law;
  std::vector<RobotState> states;
  Reference references[2];
};

Contender contender(const std::string& law, const char* how, const Model& model,
                    const std::optional<Allocation>& allocation, const std::vector<Gain>& gains,
                    bool moves) {
  const auto robot = std::make_shared<const Model>(model);
  const auto course =
      std::make_shared<Course>(*robot, make_law(law, *robot, allocation, true), gains);
  if (moves) course->move(*robot);
  return {law + " in C++" + how, [robot, course](int k) {
            const auto& state = course->states[static_cast<std::size_t>(k) % 256];
            course->law->update(state, course->references[(k / 1000) % 2], 1e-3);
          }};
}

}  // namespace

Contenders base_laws(const Model& model) {
  if (model.base() == Base::fixed) return {};
  const auto gain = [](const char* name, double value) { return Gain{name, "", value, 0, 0}; };
  const std::vector<Gain> all = {gain("tank_capacity", 1), gain("torque_rate", 1000),
                                 gain("power", 50)};
  const char *moving = ", moving reference", *full = ", all features";
  const std::string usual = "DecoupledVMSController";
  Contenders contenders{contender(usual, "", model, {}, {}, false),
                        contender(usual, moving, model, {}, {}, true),
                        contender(usual, full, model, actuators(model, 1.0), all, true)};
  if (model.base() != Base::floating) return contenders;
  // Rotors of one axis, and wheels that turn a satellite.
  contenders.push_back(
      contender("UnderactuatedFlight", full, model, actuators(model, 0.0), all, true));
  Eigen::MatrixXd wheels = Eigen::MatrixXd::Zero(6, 3);
  wheels.bottomRows(3).setIdentity();
  const Eigen::VectorXd limit = Eigen::VectorXd::Constant(3, 20.0);
  contenders.push_back(contender("AttitudeControl", full, model.with_gravity({0.0, 0.0, 0.0}),
                                 Allocation(wheels, -limit, limit), all, true));
  return contenders;
}

}  // namespace vms_ph
