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

// The decoupled law: at rest, on moving references, and with everything it can do switched on.
#include "vms_ph_native/decoupled_vms.hpp"

#include <cmath>
#include <memory>

#include "contender.hpp"

namespace vms_ph {
namespace {

/// Six tilted rotors around a vehicle, or three wheels under a cart.
Allocation actuators(const Model& model) {
  std::vector<Rotor> rotors;
  const int count = model.base() == Base::planar ? 3 : 6;
  for (int i = 0; i < count; ++i) {
    const double angle = 2.0 * 3.14159265358979 * i / count, sign = i % 2 == 0 ? 1.0 : -1.0;
    const Eigen::Vector3d outward(std::cos(angle), std::sin(angle), 0.0);
    const Eigen::Vector3d along(-outward.y(), outward.x(), model.base() == Base::planar ? 0 : sign);
    rotors.push_back({0.4 * outward, along, 0.02 * sign, -500.0, 500.0});
  }
  return Allocation(rotors, model.base());
}

// A law with what it is asked.
struct Course {
  Course(const Model& model, std::optional<Allocation> allocation, const std::vector<Gain>& changed)
      : law(model, std::move(allocation)) {
    for (const Gain& gain : changed) law.set_gain(gain.name, gain.value);
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
    law.reset(states[0]);
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

  DecoupledVMSController law;
  std::vector<RobotState> states;
  Reference references[2];
};

Contender contender(const std::string& name, const Model& model,
                    std::optional<Allocation> allocation, const std::vector<Gain>& gains,
                    bool moves) {
  const auto course = std::make_shared<Course>(model, std::move(allocation), gains);
  if (moves) course->move(model);
  return {name, [course](int k) {
            const auto& state = course->states[static_cast<std::size_t>(k) % 256];
            course->law.update(state, course->references[(k / 1000) % 2], 1e-3);
          }};
}

}  // namespace

Contenders decoupled_vms(const Model& model) {
  if (model.base() == Base::fixed) return {};
  const auto gain = [](const char* name, double value) { return Gain{name, "", value, 0, 0}; };
  const std::vector<Gain> all = {gain("tank_capacity", 1), gain("torque_rate", 1000),
                                 gain("power", 50)};
  return {
      contender("DecoupledVMSController in C++", model, {}, {}, false),
      contender("DecoupledVMSController in C++, moving reference", model, {}, {}, true),
      contender("DecoupledVMSController in C++, all features", model, actuators(model), all, true)};
}

}  // namespace vms_ph
