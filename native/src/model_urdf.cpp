// Models from URDF.
#include <algorithm>
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
