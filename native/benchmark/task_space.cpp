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

// The task-space law: at rest, on a moving reference, and with everything it can do switched on.
#include <memory>

#include "contender.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace vms_ph {
namespace {

// A law with what it is asked.
struct Course {
  Course(const Model& model, const std::vector<Gain>& changed) : law(model) {
    for (const auto& gain : changed) law.set_gain(gain.name, gain.value);
    // Near the middle of the ranges, away from singular postures, and not twice the same.
    Eigen::VectorXd middle = Eigen::VectorXd::Constant(model.nv(), 0.4);
    for (int i = 0; i < model.n(); ++i) {
      const double centre = 0.5 * (model.lower()[i] + model.upper()[i]);
      if (std::isfinite(centre)) middle[i] += centre;
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

  TaskSpaceIDAPBC law;
  std::vector<RobotState> states;
  Reference references[2];
};

Contender contender(const std::string& name, const Model& model, const std::vector<Gain>& gains,
                    bool moves) {
  const auto course = std::make_shared<Course>(model, gains);
  if (moves) {
    course->references[0].velocity = Eigen::Vector3d(0.0, 0.05, 0.0);
    course->references[1].velocity = Eigen::Vector3d(0.0, -0.05, 0.0);
  }
  return {name, [course](int k) {
            const auto& state = course->states[static_cast<std::size_t>(k) % 256];
            course->law.update(state, course->references[(k / 1000) % 2], 1e-3);
          }};
}

}  // namespace

Contenders task_space(const Model& model) {
  if (model.base() != Base::fixed || model.n() < PositionTask::kDimension) return {};
  const auto gain = [](const char* name, double value) { return Gain{name, "", value, 0, 0}; };
  const std::vector<Gain> all = {gain("cancel_coupling", 1),  gain("stiffness", 1000),
                                 gain("task_stiffness", 300), gain("tank_capacity", 1),
                                 gain("torque_rate", 1000),   gain("power", 50)};
  return {contender("TaskSpaceIDAPBC in C++", model, {}, false),
          contender("TaskSpaceIDAPBC in C++, moving reference", model, {}, true),
          contender("TaskSpaceIDAPBC in C++, all features", model, all, true)};
}

}  // namespace vms_ph
