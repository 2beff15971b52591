// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Models from URDF.
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "urdf_text.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

// Sets the inertia of rotors, an attribute of <dynamics> that is not in the URDF standard.
void add_armature(const std::string& xml, pinocchio::Model& model) {
  for (auto at = xml.find("<dynamics"); at != std::string::npos;
       at = xml.find("<dynamics", at + 1)) {
    const auto attribute_text = urdf::attribute(urdf::tag_at(xml, at), "armature");
    const auto name = urdf::attribute(urdf::joint_around(xml, at), "name").value_or("");
    if (!attribute_text || !model.existJointName(name)) continue;
    const double armature = std::strtod(attribute_text->c_str(), nullptr);
    const auto joint = model.getJointId(name);
    if (!std::isfinite(armature) || armature < 0.0 || model.nvs[joint] != 1) {
      throw ModelError("the armature of joint '" + name +
                       "' must be finite, not negative and on a joint of one degree of freedom");
    }
    model.armature[model.idx_vs[joint]] = armature;
  }
}

// The model with joints fixed at their positions.
pinocchio::Model locked_at(const std::map<std::string, double>& positions,
                           const pinocchio::Model& model) {
  std::vector<pinocchio::JointIndex> joints;
  Eigen::VectorXd q = pinocchio::neutral(model);
  for (const auto& [name, position] : positions) {
    if (!model.existJointName(name)) {
      throw ModelError("cannot lock '" + name + "': the robot '" + model.name +
                       "' has no such joint");
    }
    const auto joint = model.getJointId(name);
    joints.push_back(joint);
    const int at = model.idx_qs[joint];
    if (model.nqs[joint] == 1) {
      q[at] = position;
    } else if (model.nqs[joint] == 2) {
      q.segment<2>(at) << std::cos(position), std::sin(position);
    }
  }
  return pinocchio::buildReducedModel(model, joints, q);
}

}  // namespace

Model Model::from_urdf(const std::string& xml, Base base, const std::string& end_effector,
                       const std::vector<std::string>& locked_joints,
                       const Eigen::Vector3d& gravity) {
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
  const std::string text = urdf::without_comments(xml);
  add_armature(text, model);
  std::map<std::string, double> locked;
  for (const auto& name : locked_joints) locked[name] = 0.0;
  ResolvedMimics resolved = resolve_mimics(mimics_of_urdf(text), locked);
  if (!resolved.locked.empty()) model = locked_at(resolved.locked, model);
  model.gravity.linear() = gravity;
  return Model(model, end_effector, std::move(resolved.mimics));
}

}  // namespace vms_ph
