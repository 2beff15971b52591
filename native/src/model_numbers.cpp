// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Models from plain numbers.
#include "vms_ph_native/model_numbers.hpp"

#include <utility>

#include "pinocchio_limits.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

pinocchio::JointModel joint_model(const ModelNumbers::Joint& joint) {
  const std::string& kind = joint.kind;
  const Eigen::Vector3d &axis = joint.axis, &slide = joint.slide;
  const auto is = [&](const char* name) { return kind == std::string("JointModel") + name; };
  if (is("FreeFlyer")) return pinocchio::JointModelFreeFlyer();
  if (is("Planar")) return pinocchio::JointModelPlanar();
  if (is("RX")) return pinocchio::JointModelRX();
  if (is("RY")) return pinocchio::JointModelRY();
  if (is("RZ")) return pinocchio::JointModelRZ();
  if (is("RevoluteUnaligned")) return pinocchio::JointModelRevoluteUnaligned(axis);
  if (is("RUBX")) return pinocchio::JointModelRUBX();
  if (is("RUBY")) return pinocchio::JointModelRUBY();
  if (is("RUBZ")) return pinocchio::JointModelRUBZ();
  if (is("RevoluteUnboundedUnaligned")) {
    return pinocchio::JointModelRevoluteUnboundedUnaligned(axis);
  }
  if (is("PX")) return pinocchio::JointModelPX();
  if (is("PY")) return pinocchio::JointModelPY();
  if (is("PZ")) return pinocchio::JointModelPZ();
  if (is("PrismaticUnaligned")) return pinocchio::JointModelPrismaticUnaligned(slide);
  const double pitch = slide.dot(axis);
  if (is("HX")) return pinocchio::JointModelHX(pitch);
  if (is("HY")) return pinocchio::JointModelHY(pitch);
  if (is("HZ")) return pinocchio::JointModelHZ(pitch);
  if (is("HelicalUnaligned")) return pinocchio::JointModelHelicalUnaligned(axis, pitch);
  if (joint.velocities != 1) throw not_single(joint.name, joint.velocities);
  throw not_fixed(joint.name, kind);
}

pinocchio::SE3 pose(const Eigen::Matrix4d& placement) {
  return {placement.topLeftCorner<3, 3>(), placement.topRightCorner<3, 1>()};
}

pinocchio::Model pinocchio_model(const ModelNumbers& numbers) {
  pinocchio::Model model;
  model.name = numbers.name;
  model.gravity.linear() = numbers.gravity;
  for (const ModelNumbers::Joint& joint : numbers.joints) {
    const auto id =
        model.addJoint(joint.parent, joint_model(joint), pose(joint.placement), joint.name);
    model.inertias[id] = pinocchio::Inertia(joint.mass, joint.centre, joint.inertia);
  }
  for (const ModelNumbers::Frame& frame : numbers.frames) {
    model.frames.emplace_back(frame.name, frame.joint, frame.parent, pose(frame.placement),
                              static_cast<pinocchio::FrameType>(frame.type));
  }
  model.nframes = static_cast<int>(model.frames.size());
  const auto take = [&model](const char* name, const Eigen::VectorXd& from, Eigen::VectorXd& to) {
    if (from.size() != to.size()) {
      throw ModelError(std::string("the ") + name + " of the robot '" + model.name +
                       "' must have " + std::to_string(to.size()) +
                       " entries; given: " + std::to_string(from.size()));
    }
    to = from;
  };
  take("lower position limits", numbers.lower, model.lowerPositionLimit);
  take("upper position limits", numbers.upper, model.upperPositionLimit);
  take("effort limits", numbers.effort, effort_of(model));
  take("velocity limits", numbers.velocity, velocity_of(model));
  take("armature", numbers.armature, model.armature);
  take("damping", numbers.damping, model.damping);
  take("dry friction", numbers.dry_friction, dry_friction_of(model));
  return model;
}

}  // namespace

Model::Model(const ModelNumbers& numbers, const std::string& end_effector,
             std::vector<Mimic> mimics)
    : Model(pinocchio_model(numbers), end_effector, std::move(mimics)) {}

}  // namespace vms_ph
