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

#include "vms_ph_native/model.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "vms_ph_native/fluid.hpp"

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
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double limit(double value) { return value > 0.0 && value < kNoLimit ? value : kInfinity; }

}  // namespace

Model::Model(pinocchio::Model model, const std::string& end_effector)
    : model_(std::make_shared<const pinocchio::Model>(std::move(model))),
      base_(base_of(*model_)),
      b_(dimension(base_)),
      n_(model_->nv - b_),
      end_effector_(frame_named(*model_, end_effector)),
      lower_(n_),
      upper_(n_),
      effort_(n_),
      velocity_(n_),
      neutral_(pinocchio::neutral(*model_)),
      total_mass_(pinocchio::computeTotalMass(*model_)) {
  take_gravity();
  if (!model_->armature.head(b_).isZero(0.0)) {
    throw ModelError("the base of '" + model_->name +
                     "' has an armature; it is accepted on joints only: set these entries to zero "
                     "and give the base link the inertia itself");
  }
  const auto first = static_cast<pinocchio::JointIndex>(base_ == Base::fixed ? 1 : 2);
  for (pinocchio::JointIndex i = first; i < static_cast<pinocchio::JointIndex>(model_->njoints);
       ++i) {
    if (model_->nvs[i] != 1) {
      throw ModelError(
          "the joint '" + model_->names[i] + "' has " + std::to_string(model_->nvs[i]) +
          " degrees of freedom; besides the base only revolute, continuous and prismatic joints "
          "are covered: split it into single ones");
    }
    const int at = model_->idx_vs[i], k = at - b_;
    joint_names_.push_back(model_->names[i]);
    joint_kinds_.push_back(model_->joints[i].shortname());
    lower_[k] = -kInfinity;
    upper_[k] = kInfinity;
    if (model_->nqs[i] == 1) {
      const double low = model_->lowerPositionLimit[model_->idx_qs[i]];
      const double high = model_->upperPositionLimit[model_->idx_qs[i]];
      if (low < high && low > -kNoLimit) lower_[k] = low;
      if (low < high && high < kNoLimit) upper_[k] = high;
    }
#if PINOCCHIO_MAJOR_VERSION >= 4
    effort_[k] = limit(model_->upperEffortLimit[at]);
    velocity_[k] = limit(model_->upperVelocityLimit[at]);
#else
    effort_[k] = limit(model_->effortLimit[at]);
    velocity_[k] = limit(model_->velocityLimit[at]);
#endif
  }
}

Model Model::with_gravity(const Eigen::Vector3d& gravity) const {
  pinocchio::Model other = *model_;
  other.gravity.linear() = gravity;
  Model moved = *this;
  moved.model_ = std::make_shared<const pinocchio::Model>(std::move(other));
  moved.take_gravity();
  return moved;
}

Model Model::in_fluid(const Fluid& fluid) const {
  fluid.check();
  for (const ImmersedBody& body : fluid.bodies) std::ignore = frame_id(body.link);
  Model immersed = *this;
  immersed.fluid_ = std::make_shared<const Fluid>(fluid);
  return immersed;
}

void Model::take_gravity() {
  base_gravity_ = model_->gravity.linear();
  if (base_ != Base::fixed) {
    base_gravity_ = model_->jointPlacements[1].rotation().transpose() * base_gravity_;
  }
}

pinocchio::FrameIndex Model::frame_id(const std::string& name) const {
  return frame_named(*model_, name);
}

}  // namespace vms_ph
