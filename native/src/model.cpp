#include "vms_ph_native/model.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include <pinocchio/algorithm/model.hpp>
#include <pinocchio/parsers/urdf.hpp>
#include <pinocchio/serialization/model.hpp>

namespace vms_ph {
namespace {

Base base_of(const pinocchio::Model& model) {
  if (model.njoints < 2) {
    throw ModelError("the robot '" + model.name + "' has no joint that moves");
  }
  const std::string first = model.joints[1].shortname();
  if (first == "JointModelFreeFlyer") return Base::floating;
  if (first == "JointModelPlanar") return Base::planar;
  return Base::fixed;
}

int dimension(Base base) {
  switch (base) {
    case Base::planar:
      return 3;
    case Base::floating:
      return 6;
    case Base::fixed:
      break;
  }
  return 0;
}

pinocchio::FrameIndex frame_named(const pinocchio::Model& model, const std::string& name) {
  if (name.empty()) {
    for (auto i = static_cast<pinocchio::FrameIndex>(model.nframes); i-- > 0;) {
      if (model.frames[i].type == pinocchio::BODY) return i;
    }
  } else if (model.existFrame(name)) {
    return model.getFrameId(name);
  }
  throw ModelError("the robot '" + model.name + "' has no frame '" + name +
                   "'; give the name of a link or joint of its URDF");
}

}  // namespace

Model::Model(pinocchio::Model model, const std::string& end_effector)
    : model_(std::move(model)),
      base_(base_of(model_)),
      b_(dimension(base_)),
      n_(model_.nv - b_),
      end_effector_(frame_named(model_, end_effector)),
      lower_(n_),
      upper_(n_),
      effort_(n_) {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto first = static_cast<pinocchio::JointIndex>(base_ == Base::fixed ? 1 : 2);
  for (pinocchio::JointIndex i = first; i < static_cast<pinocchio::JointIndex>(model_.njoints); ++i) {
    const auto& joint = model_.joints[i];
    if (joint.nv() != 1) {
      throw ModelError("the joint '" + model_.names[i] + "' has " + std::to_string(joint.nv()) +
                       " freedoms; besides the base only revolute, continuous and prismatic joints "
                       "are covered: split it into single ones");
    }
    const int k = joint.idx_v() - b_;
    const bool continuous = joint.nq() == 2;
    const auto finite = [&](double limit, double without) {
      return std::abs(limit) < std::numeric_limits<double>::max() ? limit : without;
    };
    joint_names_.push_back(model_.names[i]);
    lower_[k] = continuous ? -infinite
                           : finite(model_.lowerPositionLimit[joint.idx_q()], -infinite);
    upper_[k] = continuous ? infinite : finite(model_.upperPositionLimit[joint.idx_q()], infinite);
#if PINOCCHIO_MAJOR_VERSION >= 4
    const double effort = model_.upperEffortLimit[joint.idx_v()];
#else
    const double effort = model_.effortLimit[joint.idx_v()];
#endif
    effort_[k] = finite(effort, infinite);
  }
}

Model Model::from_urdf(const std::string& xml, Base base, const std::string& end_effector,
                       const std::vector<std::string>& locked_joints) {
  if (xml.find("<mimic") != std::string::npos) {
    throw ModelError("joints that mimic others are not covered by the native controllers; lock "
                     "them in the URDF, or use a Python controller");
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
      throw ModelError("cannot lock '" + name + "': the robot '" + model.name + "' has no such joint");
    }
    locked.push_back(model.getJointId(name));
  }
  if (!locked.empty()) {
    model = pinocchio::buildReducedModel(model, locked, pinocchio::neutral(model));
  }
  return Model(std::move(model), end_effector);
}

Model Model::from_archive(const std::string& text, const std::string& end_effector) {
  pinocchio::Model model;
  try {
    model.loadFromString(text);
  } catch (const std::exception& error) {
    throw ModelError(std::string("this is not a model saved by this version of Pinocchio: ") +
                     error.what());
  }
  return Model(std::move(model), end_effector);
}

}  // namespace vms_ph
