#include "vms_ph_native/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
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
  } else if (model.existFrame(name, pinocchio::BODY)) {
    return model.getFrameId(name, pinocchio::BODY);
  } else if (model.existFrame(name)) {
    return model.getFrameId(name);
  }
  throw ModelError("the robot '" + model.name + "' has no frame '" + name +
                   "'; give the name of a link or joint of its URDF");
}

// The name of the joint whose element encloses a position in the text of a URDF.
std::string name_of_joint_around(const std::string& xml, std::size_t at) {
  const auto joint = xml.rfind("<joint", at);
  const auto name = joint == std::string::npos ? joint : xml.find("name", joint);
  const auto begin = name == std::string::npos ? name : xml.find_first_of("\"'", name);
  if (begin == std::string::npos || begin > at) return "";
  return xml.substr(begin + 1, xml.find(xml[begin], begin + 1) - begin - 1);
}

// URDF writers put 0 where they mean "not given", Pinocchio the largest double.
constexpr double kNoLimit = 1e100;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double limit(double value) { return value > 0.0 && value < kNoLimit ? value : kInfinity; }

}  // namespace

Model::Model(pinocchio::Model model, const std::string& end_effector)
    : model_(std::move(model)),
      base_(base_of(model_)),
      b_(dimension(base_)),
      n_(model_.nv - b_),
      end_effector_(frame_named(model_, end_effector)),
      lower_(n_),
      upper_(n_),
      effort_(n_),
      velocity_(n_),
      neutral_(pinocchio::neutral(model_)),
      total_mass_(pinocchio::computeTotalMass(model_)),
      base_gravity_(model_.gravity.linear()) {
  if (base_ != Base::fixed) {
    base_gravity_ = model_.jointPlacements[1].rotation().transpose() * model_.gravity.linear();
  }
  if (!model_.armature.head(b_).isZero(0.0)) {
    throw ModelError("the base of '" + model_.name +
                     "' has an armature; it is accepted on joints only: set these entries to zero "
                     "and give the base link the inertia itself");
  }
  const auto first = static_cast<pinocchio::JointIndex>(base_ == Base::fixed ? 1 : 2);
  for (pinocchio::JointIndex i = first; i < static_cast<pinocchio::JointIndex>(model_.njoints);
       ++i) {
    const auto& joint = model_.joints[i];
    if (joint.nv() != 1) {
      throw ModelError(
          "the joint '" + model_.names[i] + "' has " + std::to_string(joint.nv()) +
          " degrees of freedom; besides the base only revolute, continuous and prismatic joints "
          "are covered: split it into single ones");
    }
    const int k = joint.idx_v() - b_;
    joint_names_.push_back(model_.names[i]);
    lower_[k] = -kInfinity;
    upper_[k] = kInfinity;
    if (joint.nq() == 1) {
      const double low = model_.lowerPositionLimit[joint.idx_q()];
      const double high = model_.upperPositionLimit[joint.idx_q()];
      if (low < high && low > -kNoLimit) lower_[k] = low;
      if (low < high && high < kNoLimit) upper_[k] = high;
    }
#if PINOCCHIO_MAJOR_VERSION >= 4
    effort_[k] = limit(model_.upperEffortLimit[joint.idx_v()]);
    velocity_[k] = limit(model_.upperVelocityLimit[joint.idx_v()]);
#else
    effort_[k] = limit(model_.effortLimit[joint.idx_v()]);
    velocity_[k] = limit(model_.velocityLimit[joint.idx_v()]);
#endif
  }
}

pinocchio::FrameIndex Model::frame_id(const std::string& name) const {
  return frame_named(model_, name);
}

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
