// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "urdf_text.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

double number(const std::string& tag, const std::string& name, double otherwise,
              const std::string& joint) {
  const auto text = urdf::attribute(tag, name);
  if (!text) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  const bool is_number =
      end != text->c_str() &&
      text->find_first_not_of(urdf::kSpace, static_cast<std::size_t>(end - text->c_str())) ==
          std::string::npos;
  if (!is_number || !std::isfinite(value)) {
    throw ModelError("the " + name + " of the <mimic> of joint '" + joint +
                     "' must be a finite number; given: '" + *text + "'");
  }
  return value;
}

}  // namespace

std::vector<Mimic> mimics_of_urdf(const std::string& xml) {
  const std::string begin = "<mimic";
  std::vector<Mimic> parsed;
  for (auto at = xml.find(begin); at != std::string::npos; at = xml.find(begin, at + 1)) {
    const std::string tag = urdf::tag_at(xml, at), joint = urdf::joint_around(xml, at);
    const bool is_longer_word =
        tag.size() > begin.size() &&
        (urdf::kSpace + std::string("/")).find(tag[begin.size()]) == std::string::npos;
    if (is_longer_word || urdf::attribute(joint, "type").value_or("") == "fixed") continue;
    const std::string name = urdf::attribute(joint, "name").value_or("");
    const auto of = urdf::attribute(tag, "joint");
    if (!of) throw ModelError("joint '" + name + "' has a <mimic> that gives no joint");
    parsed.push_back(
        {name, *of, number(tag, "multiplier", 1.0, name), number(tag, "offset", 0.0, name)});
  }
  return parsed;
}

ResolvedMimics resolve_mimics(const std::vector<Mimic>& mimics,
                              const std::map<std::string, double>& locked) {
  const auto mimic_named = [&](const std::string& name) {
    return std::find_if(mimics.begin(), mimics.end(),
                        [&](const Mimic& mimic) { return mimic.joint == name; });
  };
  ResolvedMimics resolved{{}, locked};
  for (const Mimic& mimic : mimics) {
    if (locked.count(mimic.joint) > 0) continue;
    Mimic combined{mimic.joint, mimic.of, mimic.multiplier, mimic.offset};
    std::string cycle = mimic.joint;
    for (std::size_t steps = 0; locked.count(combined.of) == 0; ++steps) {
      const auto next = mimic_named(combined.of);
      if (next == mimics.end()) break;
      if (combined.of == mimic.joint || steps == mimics.size()) {
        throw ModelError("the joints " + cycle + " mimic each other in a circle");
      }
      cycle += ", " + combined.of;
      combined.offset += combined.multiplier * next->offset;
      combined.multiplier *= next->multiplier;
      combined.of = next->of;
    }
    const auto locked_joint = locked.find(combined.of);
    if (locked_joint == locked.end()) {
      resolved.mimics.push_back(combined);
    } else {
      resolved.locked[combined.joint] =
          combined.multiplier * locked_joint->second + combined.offset;
    }
  }
  return resolved;
}

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

/// The mass of all bodies that move.
double total_mass_of(const pinocchio::Model& model) {
  double mass = 0.0;
  for (std::size_t i = 1; i < model.inertias.size(); ++i) mass += model.inertias[i].mass();
  return mass;
}

pinocchio::FrameIndex frame_named(const pinocchio::Model& model, const std::string& name) {
  if (name.empty()) {
    // A camera or a stand on the root link is none, wherever the file lists it.
    const pinocchio::JointIndex root = base_of(model) == Base::fixed ? 0 : 1;
    std::optional<pinocchio::FrameIndex> last, moving;
    for (pinocchio::FrameIndex i = 0; i < static_cast<pinocchio::FrameIndex>(model.nframes); ++i) {
      if (model.frames[i].type != pinocchio::BODY) continue;
      last = i;
      if (model.frames[i].parentJoint > root) moving = i;
    }
    if (last) return moving.value_or(*last);
  } else if (model.existFrame(name, pinocchio::BODY)) {
    return model.getFrameId(name, pinocchio::BODY);
  } else if (model.existFrame(name)) {
    return model.getFrameId(name);
  }
  throw ModelError("the robot '" + model.name + "' has no frame '" + name +
                   "'; give the name of a link or joint of its URDF");
}

// URDF writers put 0 where they mean "not given", Pinocchio the largest double.
constexpr double kNoLimit = 1e100;

double limit(double value) { return value > 0.0 && value < kNoLimit ? value : kInfinity; }

ModelError mimic_error(const Mimic& mimic, const std::string& why) {
  return ModelError("joint '" + mimic.joint + "' mimics '" + mimic.of + "': " + why);
}

}  // namespace

Model::Model(const pinocchio::Model& model, const std::string& end_effector,
             std::vector<Mimic> mimics)
    : model_(std::make_shared<const pinocchio::Model>(model)),
      base_(base_of(*model_)),
      mimics_(std::move(mimics)),
      b_(dimension(base_)),
      n_(model_->nv - b_ - static_cast<int>(mimics_.size())),
      nq_(model_->nq - static_cast<int>(mimics_.size())),
      leads_(model_->joints.size(), Lead{-1}),
      end_effector_(frame_named(*model_, end_effector)),
      total_mass_(total_mass_of(*model_)) {
  take_gravity();
  if (!model_->armature.head(b_).isZero(0.0)) {
    throw ModelError("the base of '" + model_->name +
                     "' has an armature; it is accepted on joints only: set these entries to zero "
                     "and give the base link the inertia itself");
  }
  take_joints();
}

/// Whether a joint mimics another.
bool Model::follows(const std::string& joint) const {
  const auto is_of = [&](const Mimic& mimic) { return mimic.joint == joint; };
  return std::any_of(mimics_.begin(), mimics_.end(), is_of);
}

void Model::check_mimics() const {
  if (!mimics_.empty() && n_ < 1) {
    throw ModelError("every joint of the robot '" + model_->name + "' mimics another one");
  }
  for (const Mimic& mimic : mimics_) {
    for (const std::string& name : {mimic.joint, mimic.of}) {
      const auto id = model_->existJointName(name) ? model_->getJointId(name) : 0;
      if (id == 0 || model_->nvs[id] != 1) {
        throw mimic_error(mimic, "there is no moving joint '" + name + "'");
      }
      if (model_->nqs[id] != 1) {
        throw mimic_error(mimic,
                          "'" + name +
                              "' is continuous, whose angle is known only up to turns; give it "
                              "limits, or lock it");
      }
    }
    if (follows(mimic.of)) {
      throw mimic_error(
          mimic,
          "'" + mimic.of + "' mimics another one itself; resolve the chain by resolve_mimics");
    }
  }
}

void Model::take_joints() {
  check_mimics();
  for (Eigen::VectorXd* values :
       {&lower_, &upper_, &effort_, &velocity_, &damping_, &dry_friction_}) {
    values->setZero(n_);
  }
  neutral_.setZero(nq_);
  const int root = base_ == Base::fixed ? 0 : 1, turns = b_ == 6 ? 4 : 2;
  if (root > 0) {
    rotations_.push_back({base_size() - turns, turns});
    neutral_[b_ == 6 ? 6 : 2] = 1.0;  // w of a quaternion, or the cosine
  }
  int at = base_size();
  for (std::size_t i = static_cast<std::size_t>(root) + 1; i < model_->joints.size(); ++i) {
    if (model_->nvs[i] != 1) {
      throw not_single(model_->names[i], model_->nvs[i]);
    }
    if (follows(model_->names[i])) continue;
    const auto k = static_cast<Eigen::Index>(joint_names_.size());
    const int v = model_->idx_vs[i], q = model_->idx_qs[i];
    leads_[i].joint = static_cast<int>(k);
    joint_names_.push_back(model_->names[i]);
    joint_kinds_.push_back(model_->joints[i].shortname());
    positions_.push_back(at);
    pairs_.push_back(model_->nqs[i] == 2 ? 1 : 0);
    lower_[k] = -kInfinity;
    upper_[k] = kInfinity;
    if (pairs_.back()) {
      neutral_[at] = 1.0;
      rotations_.push_back({at, 2});
    } else {
      const double low = model_->lowerPositionLimit[q], high = model_->upperPositionLimit[q];
      if (low < high && low > -kNoLimit) lower_[k] = low;
      if (low < high && high < kNoLimit) upper_[k] = high;
    }
    effort_[k] = limit(((*model_).*kEffortLimit)[v]);
    velocity_[k] = limit(((*model_).*kVelocityLimit)[v]);
    damping_[k] = model_->damping[v];
    dry_friction_[k] = ((*model_).*kDryFriction)[v];
    at += model_->nqs[i];
  }
  for (const Mimic& mimic : mimics_) follow(mimic);
}

/// Let a joint follow one of the n joints, whose limits and friction become those of both.
void Model::follow(const Mimic& mimic) {
  const auto follower = model_->getJointId(mimic.joint);
  const int k = leads_[model_->getJointId(mimic.of)].joint;
  const double m = mimic.multiplier;
  leads_[follower] = {k, m, mimic.offset};
  const int v = model_->idx_vs[follower], q = model_->idx_qs[follower];
  damping_[k] += m * m * model_->damping[v];
  dry_friction_[k] += std::abs(m) * ((*model_).*kDryFriction)[v];
  if (m == 0.0) return;
  velocity_[k] = std::min(velocity_[k], limit(((*model_).*kVelocityLimit)[v]) / std::abs(m));
  double low = model_->lowerPositionLimit[q], high = model_->upperPositionLimit[q];
  if (!(low < high)) return;
  low = (low > -kNoLimit ? low - mimic.offset : -kInfinity) / m;
  high = (high < kNoLimit ? high - mimic.offset : kInfinity) / m;
  const double own_low = lower_[k], own_high = upper_[k];
  lower_[k] = std::max(own_low, std::min(low, high));
  upper_[k] = std::min(own_high, std::max(low, high));
  if (lower_[k] > upper_[k]) {
    throw ModelError("the limits of joint '" + mimic.joint + "' cannot be met: it mimics '" +
                     mimic.of + "', whose own limits are " + std::to_string(own_low) + " and " +
                     std::to_string(own_high));
  }
}

Model Model::with_gravity(const Eigen::Vector3d& gravity) const {
  pinocchio::Model other = *model_;
  other.gravity.linear() = gravity;
  Model copy = *this;
  copy.model_ = std::make_shared<const pinocchio::Model>(std::move(other));
  copy.take_gravity();
  return copy;
}

Model Model::in_fluid(const Fluid& fluid) const {
  fluid.check();
  for (const ImmersedBody& body : fluid.bodies) std::ignore = frame_id(body.link);
  Model immersed = *this;
  immersed.fluid_ = std::make_shared<const Fluid>(fluid);
  return immersed;
}

void Model::take_gravity() { base_gravity_ = base_mount().rotation().transpose() * gravity(); }

const std::string& Model::name() const { return model_->name; }

const std::string& Model::frame_name(pinocchio::FrameIndex frame) const {
  return model_->frames[frame].name;
}

std::size_t Model::frames() const { return model_->frames.size(); }

pinocchio::SE3 Model::base_mount() const {
  return base_ == Base::fixed ? pinocchio::SE3::Identity() : model_->jointPlacements[1];
}

Eigen::Vector3d Model::gravity() const { return model_->gravity.linear(); }

pinocchio::FrameIndex Model::frame_id(const std::string& name) const {
  return frame_named(*model_, name);
}

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

void check_parent(const std::string& name, std::size_t parent, std::size_t count) {
  if (parent < count) return;
  throw ModelError("'" + name + "' stands on joint or frame " + std::to_string(parent) +
                   ", which is not there");
}

pinocchio::Model pinocchio_model(const ModelNumbers& numbers) {
  pinocchio::Model model;
  model.name = numbers.name;
  model.gravity.linear() = numbers.gravity;
  for (const ModelNumbers::Joint& joint : numbers.joints) {
    check_parent(joint.name, joint.parent, model.joints.size());
    const auto id =
        model.addJoint(joint.parent, joint_model(joint), pose(joint.placement), joint.name);
    model.inertias[id] = pinocchio::Inertia(joint.mass, joint.centre, joint.inertia);
  }
  for (const ModelNumbers::Frame& frame : numbers.frames) {
    check_parent(frame.name, frame.joint, model.joints.size());
    check_parent(frame.name, frame.parent, numbers.frames.size() + 1);
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
  take("effort limits", numbers.effort, (model.*kEffortLimit));
  take("velocity limits", numbers.velocity, (model.*kVelocityLimit));
  take("armature", numbers.armature, model.armature);
  take("damping", numbers.damping, model.damping);
  take("dry friction", numbers.dry_friction, (model.*kDryFriction));
  return model;
}

}  // namespace

Model::Model(const ModelNumbers& numbers, const std::string& end_effector,
             std::vector<Mimic> mimics)
    : Model(pinocchio_model(numbers), end_effector, std::move(mimics)) {}

}  // namespace vms_ph
