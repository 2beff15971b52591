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

// Models from URDF.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "vms_ph_native/model.hpp"

namespace vms_ph {
namespace {

// The name of the joint whose element encloses a position in the text of a URDF.
std::string name_of_joint_around(const std::string& xml, std::size_t at) {
  const auto joint = xml.rfind("<joint", at);
  const auto name = joint == std::string::npos ? joint : xml.find("name", joint);
  const auto begin = name == std::string::npos ? name : xml.find_first_of("\"'", name);
  if (begin == std::string::npos || begin > at) return "";
  return xml.substr(begin + 1, xml.find(xml[begin], begin + 1) - begin - 1);
}

// Sets the inertia of rotors, an attribute of <dynamics> that is not in the URDF standard.
void add_armature(const std::string& xml, pinocchio::Model& model) {
  const std::string attribute = "armature", space = " \t\r\n";
  for (auto at = xml.find(attribute); at != std::string::npos; at = xml.find(attribute, at + 1)) {
    const auto equals = xml.find_first_not_of(space, at + attribute.size());
    if (equals == std::string::npos || xml[equals] != '=') continue;
    const auto quote = xml.find_first_not_of(space, equals + 1);
    const std::string name = name_of_joint_around(xml, at);
    if (quote == std::string::npos || !model.existJointName(name)) continue;
    const double armature = std::strtod(xml.c_str() + quote + 1, nullptr);
    const auto joint = model.getJointId(name);
    if (!std::isfinite(armature) || armature < 0.0 || model.nvs[joint] != 1) {
      throw ModelError("the armature of joint '" + name +
                       "' must be finite, not negative and on a joint of one degree of freedom");
    }
    model.armature[model.idx_vs[joint]] = armature;
  }
}

}  // namespace

Model Model::from_urdf(const std::string& xml, Base base, const std::string& end_effector,
                       const std::vector<std::string>& locked_joints,
                       const Eigen::Vector3d& gravity) {
  for (auto at = xml.find("<mimic"); at != std::string::npos; at = xml.find("<mimic", at + 1)) {
    const std::string name = name_of_joint_around(xml, at);
    if (std::find(locked_joints.begin(), locked_joints.end(), name) == locked_joints.end()) {
      throw ModelError("the joint '" + name +
                       "' mimics another, which is not covered by the "
                       "native controllers; lock it, or use a Python controller");
    }
  }
  pinocchio::Model model;
  try {
    switch (base) {
      case Base::fixed:
        pinocchio::urdf::buildModelFromXML(xml, model);
        break;
      case Base::planar:
        pinocchio::urdf::buildModelFromXML(xml, pinocchio::JointModelPlanar(), model);
        break;
      case Base::floating:
        pinocchio::urdf::buildModelFromXML(xml, pinocchio::JointModelFreeFlyer(), model);
        break;
    }
  } catch (const std::exception& error) {
    throw ModelError(std::string("this is not the URDF of a robot: ") + error.what());
  }
  add_armature(xml, model);
  std::vector<pinocchio::JointIndex> locked;
  for (const auto& name : locked_joints) {
    if (!model.existJointName(name)) {
      throw ModelError("cannot lock '" + name + "': the robot '" + model.name +
                       "' has no such joint");
    }
    locked.push_back(model.getJointId(name));
  }
  if (!locked.empty()) {
    model = pinocchio::buildReducedModel(model, locked, pinocchio::neutral(model));
  }
  model.gravity.linear() = gravity;
  return Model(std::move(model), end_effector);
}

}  // namespace vms_ph
