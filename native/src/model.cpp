// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/model.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/lanes.hpp"
#include "vms_ph_native/pinocchio_model.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {
namespace {

Base base_of(const pinocchio::Model& model) {
  if (model.njoints < 2) throw ModelError("the robot '" + model.name + "' has no joint that moves");
  const std::string joint_type = model.joints[1].shortname();
  if (joint_type == "JointModelFreeFlyer") return Base::floating;
  if (joint_type == "JointModelPlanar") return Base::planar;
  return Base::fixed;
}

int dimension(Base base) { return base == Base::floating ? 6 : base == Base::planar ? 3 : 0; }

/// The mass of all bodies that move.
double total_mass_of(const pinocchio::Model& model) {
  double mass = 0.0;
  for (std::size_t i = 1; i < model.inertias.size(); ++i) mass += model.inertias[i].mass();
  return mass;
}

pinocchio::FrameIndex find_frame(const pinocchio::Model& model, const std::vector<Mimic>& mimics,
                                 const std::string& name) {
  if (name.empty()) {
    // Behind the most joints, without coupled ones as of grippers; of those the farthest out.
    const auto is_uncoupled = [&](pinocchio::JointIndex joint) {
      return std::none_of(mimics.begin(), mimics.end(), [&](const Mimic& mimic) {
        return mimic.joint == model.names[joint] || mimic.leader == model.names[joint];
      });
    };
    const auto rank = [&](pinocchio::FrameIndex i) {
      const auto& joints = model.supports[model.frames[i].parentJoint];
      return std::make_pair(std::count_if(joints.begin(), joints.end(), is_uncoupled),
                            model.frames[i].placement.translation().norm());
    };
    std::optional<pinocchio::FrameIndex> tip;
    for (pinocchio::FrameIndex i = 0; i < static_cast<pinocchio::FrameIndex>(model.nframes); ++i) {
      if (model.frames[i].type == pinocchio::BODY && (!tip || rank(i) >= rank(*tip))) tip = i;
    }
    if (tip) return *tip;
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

double positive_limit(double value) { return value > 0.0 && value < kNoLimit ? value : kInfinity; }

ModelError mimic_error(const Mimic& mimic, const std::string& reason) {
  return ModelError("joint '" + mimic.joint + "' mimics '" + mimic.leader + "': " + reason);
}

/// A joint by its kind and axis; kinds along a coordinate axis are those along any one.
pinocchio::JointModel joint_model(const ModelParts::Joint& joint) {
  const Eigen::Vector3d &axis = joint.axis, &linear_axis = joint.linear_axis;
  const auto is_kind = [&joint](const std::string& prefix) {
    return joint.kind.rfind("JointModel" + prefix, 0) == 0;
  };
  if (is_kind("FreeFlyer")) return pinocchio::JointModelFreeFlyer();
  if (is_kind("Planar")) return pinocchio::JointModelPlanar();
  if (joint.dofs != 1) throw multi_dof_error(joint.name, joint.dofs);
  if (is_kind("RUB") || is_kind("RevoluteUnbounded")) {
    return pinocchio::JointModelRevoluteUnboundedUnaligned(axis);
  }
  if (is_kind("R")) return pinocchio::JointModelRevoluteUnaligned(axis);
  if (is_kind("P")) return pinocchio::JointModelPrismaticUnaligned(linear_axis);
  if (is_kind("H")) return pinocchio::JointModelHelicalUnaligned(axis, linear_axis.dot(axis));
  throw moving_axis_error(joint.name, joint.kind);
}

void check_parent(const std::string& name, std::size_t parent, std::size_t count) {
  if (parent < count) return;
  throw ModelError("'" + name + "' stands on joint or frame " + std::to_string(parent) +
                   ", which is not there");
}

pinocchio::Model pinocchio_model(const ModelParts& robot) {
  pinocchio::Model model;
  model.name = robot.name;
  model.gravity.linear() = robot.gravity;
  for (const ModelParts::Joint& joint : robot.joints) {
    check_parent(joint.name, joint.parent, model.joints.size());
    const auto id = model.addJoint(joint.parent, joint_model(joint),
                                   pinocchio::SE3(joint.placement), joint.name);
    model.inertias[id] = pinocchio::Inertia(joint.mass, joint.centre, joint.inertia);
  }
  for (const ModelParts::Frame& frame : robot.frames) {
    check_parent(frame.name, frame.joint, model.joints.size());
    check_parent(frame.name, frame.parent, robot.frames.size() + 1);
    model.frames.emplace_back(frame.name, frame.joint, frame.parent,
                              pinocchio::SE3(frame.placement),
                              static_cast<pinocchio::FrameType>(frame.type));
  }
  model.nframes = static_cast<int>(model.frames.size());
  const auto copy = [&](const char* name, const Eigen::VectorXd& source, Eigen::VectorXd& target) {
    if (source.size() != target.size()) {
      throw ModelError(std::string("the ") + name + " of the robot '" + model.name +
                       "' must have " + std::to_string(target.size()) +
                       " entries; given: " + std::to_string(source.size()));
    }
    target = source;
  };
  copy("lower position limits", robot.min_q, model.lowerPositionLimit);
  copy("upper position limits", robot.max_q, model.upperPositionLimit);
  copy("effort limits", robot.max_effort, (model.*kEffortLimit));
  copy("velocity limits", robot.max_velocity, (model.*kVelocityLimit));
  copy("armature", robot.armature, model.armature);
  copy("damping", robot.damping, model.damping);
  copy("dry friction", robot.dry_friction, (model.*kDryFriction));
  return model;
}

// Pinocchio's functions of configurations take seconds to compile, for every kind of joint there
// is. Here are the base, joints of one coordinate and those with (cos, sin), which are kept at
// length one to second order.

/// The angle from one (cos, sin) to another.
double angle_between(const double* start, const double* end) noexcept {
  return std::atan2(start[0] * end[1] - start[1] * end[0], start[0] * end[0] + start[1] * end[1]);
}

Eigen::Quaterniond quaternion_of(const double* q) noexcept { return {q[6], q[3], q[4], q[5]}; }

/// The twist from the planar pose a to b in unit time; Pinocchio's own loses half the digits for
/// rotations just above 1e-4 rad.
void difference_plane(const double* start, const double* end, double* twist) noexcept {
  const double dx = end[0] - start[0], dy = end[1] - start[1];
  const double local_x = start[2] * dx + start[3] * dy, local_y = start[2] * dy - start[3] * dx;
  const double half_angle = 0.5 * angle_between(start + 2, end + 2);
  // V^-1 = h cot h - h J with h half the angle and J the quarter turn.
  const double h_cot_h = half_angle == 0.0 ? 1.0 : half_angle / std::tan(half_angle);
  twist[0] = h_cot_h * local_x + half_angle * local_y;
  twist[1] = h_cot_h * local_y - half_angle * local_x;
  twist[2] = 2.0 * half_angle;
}

/// The pose of a base after a twist (b,) in unit time; a position that is kept is not written.
void integrate_base(int b, const double* q, const double* dv, bool keeps_position,
                    double* new_q) noexcept {
  const Vector3d v(dv[0], dv[1], b == 6 ? dv[2] : 0.0);
  const Vector3d w = b == 6 ? Vector3d(dv[3], dv[4], dv[5]) : Vector3d(0.0, 0.0, dv[2]);
  const double w2 = w.squaredNorm(), angle = std::sqrt(w2);
  // sin(x / 2) / x, cos(x / 2) and (x - sin x) / x^3; the next terms are below rounding.
  double sinc = 0.5 - w2 * (1.0 / 48 - w2 * (1.0 / 3840 - w2 / 645120));
  double cosine = 1.0 - w2 * (1.0 / 8 - w2 * (1.0 / 384 - w2 / 46080));
  double c3 = 1.0 / 6 - w2 * (1.0 / 120 - w2 * (1.0 / 5040 - w2 / 362880));
  if (!(w2 < 1e-4)) {
    sinc = std::sin(0.5 * angle) / angle;
    cosine = std::cos(0.5 * angle);
    c3 = (1.0 - 2.0 * sinc * cosine) / w2;
  }
  if (!keeps_position) {
    const Vector3d cross = w.cross(v);
    const Vector3d displacement = v + 2.0 * sinc * sinc * cross + c3 * w.cross(cross);
    const Vector3d mount_displacement = base_rotation(b, q) * displacement;
    for (int i = 0; i < b / 2 + b % 2; ++i) new_q[i] = q[i] + mount_displacement[i];
  }
  if (b == 3) return rotate_cos_sin(q + 2, dv[2], new_q + 2);
  const double sign = cosine < 0.0 ? -1.0 : 1.0;  // of the two quaternions the one nearby
  const Vector3d vector = sign * sinc * w;
  const Eigen::Quaterniond rotation_step(sign * cosine, vector.x(), vector.y(), vector.z());
  const Eigen::Quaterniond end_rotation = quaternion_of(q) * rotation_step;
  const double scale = 0.5 * (3.0 - end_rotation.squaredNorm());
  for (int i = 0; i < 4; ++i) new_q[3 + i] = scale * end_rotation.coeffs()[i];
}

void difference_space(const double* start, const double* end, double* twist) noexcept {
  const Eigen::Quaterniond start_rotation = quaternion_of(start);
  const Vector3d displacement(end[0] - start[0], end[1] - start[1], end[2] - start[2]);
  const Vector3d local_displacement = start_rotation.toRotationMatrix().transpose() * displacement;
  const Vector3d rotation = se3::rotation_vector(start_rotation.conjugate() * quaternion_of(end));
  const Vector3d cross = rotation.cross(local_displacement);
  const double coefficient = Stumpff(rotation.dot(rotation)).inverse();
  vector3(twist) = local_displacement - 0.5 * cross + coefficient * rotation.cross(cross);
  vector3(twist + 3) = rotation;
}

}  // namespace

void rotate_cos_sin(const double* cos_sin, double angle, double* rotated) noexcept {
  const double c = std::cos(angle), s = std::sin(angle);
  const double x = c * cos_sin[0] - s * cos_sin[1], y = s * cos_sin[0] + c * cos_sin[1];
  const double scale = 0.5 * (3.0 - x * x - y * y);
  rotated[0] = scale * x;
  rotated[1] = scale * y;
}

Model::Model(const pinocchio::Model& model, const std::string& end_effector,
             std::vector<Mimic> mimics)
    : model_(std::make_shared<const pinocchio::Model>(model)),
      base_(base_of(*model_)),
      mimics_(std::move(mimics)),
      b_(dimension(base_)),
      n_(model_->nv - b_ - static_cast<int>(mimics_.size())),
      nq_(model_->nq - static_cast<int>(mimics_.size())),
      leaders_(model_->joints.size(), JointLeader{-1}),
      end_effector_(find_frame(*model_, mimics_, end_effector)),
      total_mass_(total_mass_of(*model_)) {
  read_gravity();
  if (!model_->armature.head(b_).isZero(0.0)) {
    throw ModelError("the base of '" + model_->name +
                     "' has an armature; it is accepted on joints only: set these entries to zero "
                     "and give the base link the inertia itself");
  }
  read_joints();
}

/// Whether a joint mimics another.
bool Model::is_mimic(const std::string& joint) const {
  const auto is_follower = [&](const Mimic& mimic) { return mimic.joint == joint; };
  return std::any_of(mimics_.begin(), mimics_.end(), is_follower);
}

void Model::check_mimics() const {
  if (!mimics_.empty() && n_ < 1) {
    throw ModelError("every joint of the robot '" + model_->name + "' mimics another one");
  }
  for (const Mimic& mimic : mimics_) {
    for (const std::string& name : {mimic.joint, mimic.leader}) {
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
    if (is_mimic(mimic.leader)) {
      throw mimic_error(
          mimic,
          "'" + mimic.leader + "' mimics another one itself; resolve the chain by resolve_mimics");
    }
  }
}

void Model::read_joints() {
  check_mimics();
  for (Eigen::VectorXd* values :
       {&min_position_, &max_position_, &max_effort_, &max_velocity_, &damping_, &dry_friction_}) {
    values->setZero(n_);
  }
  neutral_.setZero(nq_);
  const int root = base_ == Base::fixed ? 0 : 1, rotation_size = b_ == 6 ? 4 : 2;
  if (root > 0) {
    unit_slices_.push_back({base_size() - rotation_size, rotation_size});
    neutral_[b_ == 6 ? 6 : 2] = 1.0;  // w of a quaternion, or the cosine
  }
  int q_index = base_size();
  for (std::size_t i = static_cast<std::size_t>(root) + 1; i < model_->joints.size(); ++i) {
    if (model_->nvs[i] != 1) throw multi_dof_error(model_->names[i], model_->nvs[i]);
    if (is_mimic(model_->names[i])) continue;
    const auto k = static_cast<Eigen::Index>(joint_names_.size());
    const int iv = model_->idx_vs[i], iq = model_->idx_qs[i];
    leaders_[i].index = static_cast<int>(k);
    joint_names_.push_back(model_->names[i]);
    is_prismatic_.push_back(model_->joints[i].shortname().rfind("JointModelP", 0) == 0);
    position_indices_.push_back(q_index);
    is_continuous_.push_back(model_->nqs[i] == 2 ? 1 : 0);
    min_position_[k] = -kInfinity;
    max_position_[k] = kInfinity;
    if (is_continuous_.back()) {
      neutral_[q_index] = 1.0;
      unit_slices_.push_back({q_index, 2});
    } else {
      const double low = model_->lowerPositionLimit[iq], high = model_->upperPositionLimit[iq];
      if (low < high && low > -kNoLimit) min_position_[k] = low;
      if (low < high && high < kNoLimit) max_position_[k] = high;
    }
    max_effort_[k] = positive_limit(((*model_).*kEffortLimit)[iv]);
    max_velocity_[k] = positive_limit(((*model_).*kVelocityLimit)[iv]);
    damping_[k] = model_->damping[iv];
    dry_friction_[k] = ((*model_).*kDryFriction)[iv];
    q_index += model_->nqs[i];
  }
  for (const Mimic& mimic : mimics_) add_mimic(mimic);
}

/// Let a joint follow one of the n joints, whose limits and friction become those of both.
void Model::add_mimic(const Mimic& mimic) {
  const auto follower = model_->getJointId(mimic.joint);
  const int k = leaders_[model_->getJointId(mimic.leader)].index;
  const double m = mimic.multiplier;
  leaders_[follower] = {k, m, mimic.offset};
  const int iv = model_->idx_vs[follower], iq = model_->idx_qs[follower];
  damping_[k] += m * m * model_->damping[iv];
  dry_friction_[k] += std::abs(m) * ((*model_).*kDryFriction)[iv];
  if (m == 0.0) return;
  max_velocity_[k] =
      std::min(max_velocity_[k], positive_limit(((*model_).*kVelocityLimit)[iv]) / std::abs(m));
  double low = model_->lowerPositionLimit[iq], high = model_->upperPositionLimit[iq];
  if (!(low < high)) return;
  low = (low > -kNoLimit ? low - mimic.offset : -kInfinity) / m;
  high = (high < kNoLimit ? high - mimic.offset : kInfinity) / m;
  const double leader_low = min_position_[k], leader_high = max_position_[k];
  min_position_[k] = std::max(leader_low, std::min(low, high));
  max_position_[k] = std::min(leader_high, std::max(low, high));
  if (min_position_[k] > max_position_[k]) {
    throw ModelError("the limits of joint '" + mimic.joint + "' cannot be met: it mimics '" +
                     mimic.leader + "', whose own limits are " + std::to_string(leader_low) +
                     " and " + std::to_string(leader_high));
  }
}

Model Model::with_gravity(const Eigen::Vector3d& gravity) const {
  pinocchio::Model edited_model = *model_;
  edited_model.gravity.linear() = gravity;
  Model copy = *this;
  copy.model_ = std::make_shared<const pinocchio::Model>(std::move(edited_model));
  copy.read_gravity();
  return copy;
}

Model Model::in_fluid(const Fluid& fluid) const {
  fluid.check();
  for (const ImmersedBody& body : fluid.bodies) std::ignore = frame_id(body.link);
  Model immersed_model = *this;
  immersed_model.fluid_ = std::make_shared<const Fluid>(fluid);
  return immersed_model;
}

double Model::reach() const {
  double length = 0.0;
  for (const auto& joint : model_->jointPlacements) length += joint.translation().norm();
  return std::max(1.0, length);
}

void Model::read_gravity() { base_gravity_ = base_mount().rotation().transpose() * gravity(); }

const std::string& Model::name() const { return model_->name; }

const std::string& Model::frame_name(pinocchio::FrameIndex frame) const {
  return model_->frames[frame].name;
}

std::size_t Model::frame_count() const { return model_->frames.size(); }

pinocchio::SE3 Model::base_mount() const {
  return base_ == Base::fixed ? pinocchio::SE3::Identity() : model_->jointPlacements[1];
}

Eigen::Vector3d Model::gravity() const { return model_->gravity.linear(); }

pinocchio::FrameIndex Model::frame_id(const std::string& name) const {
  return find_frame(*model_, mimics_, name);
}

Model::Model(const ModelParts& robot, const std::string& end_effector, std::vector<Mimic> mimics)
    : Model(pinocchio_model(robot), end_effector, std::move(mimics)) {}

bool Model::is_configuration(const ConstVector& q) const noexcept {
  return q.size() == nq() && q.allFinite() && are_unit(unit_slices_, q.data());
}

bool are_unit(const std::vector<Model::UnitSlice>& slices, const double* q,
              double tolerance) noexcept {
  return std::all_of(slices.begin(), slices.end(), [&](const Model::UnitSlice& slice) {
    const double length = Eigen::Map<const Eigen::VectorXd>(q + slice.start, slice.size).norm();
    return std::abs(length - 1.0) <= tolerance;
  });
}

void Model::integrate(const ConstVector& q, const ConstVector& dv,
                      Eigen::Ref<Eigen::VectorXd> result, bool keeps_base_position) const noexcept {
  integrate_joints(q, dv, result);
  if (b_ > 0) integrate_base(b_, q.data(), dv.data(), keeps_base_position, result.data());
}

void Model::integrate_joints(const ConstVector& q, const ConstVector& dv,
                             Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  for (int i = 0; i < n_; ++i) {
    const int iq = position_index(i), iv = b_ + i;
    if (is_continuous(i)) {
      rotate_cos_sin(q.data() + iq, dv[iv], result.data() + iq);
    } else {
      result[iq] = q[iq] + dv[iv];
    }
  }
}

void Model::difference(const ConstVector& q0, const ConstVector& q1,
                       Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (base_ == Base::floating) {
    difference_space(q0.data(), q1.data(), result.data());
  } else if (base_ == Base::planar) {
    difference_plane(q0.data(), q1.data(), result.data());
  }
  for (int i = 0; i < n_; ++i) {
    const int iq = position_index(i), iv = b_ + i;
    result[iv] = is_continuous(i) ? angle_between(q0.data() + iq, q1.data() + iq) : q1[iq] - q0[iq];
  }
}

void Model::joint_positions(const ConstVector& q,
                            Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (nq() - base_size() == n_) {
    result = q.tail(n_);
    return;
  }
  VectorV deviation(nv());
  difference(neutral_, q, deviation);
  result = deviation.tail(n_);
}

void Model::set_joint(int joint, double position, Eigen::Ref<Eigen::VectorXd> q) const noexcept {
  if (is_continuous(joint)) {
    q.segment<2>(position_index(joint)) << std::cos(position), std::sin(position);
  } else {
    q[position_index(joint)] = position;
  }
}

void Model::expand_configuration(const ConstVector& q,
                                 Eigen::Ref<Eigen::VectorXd> full_q) const noexcept {
  full_q.head(base_size()) = q.head(base_size());
  for (std::size_t i = base_ == Base::fixed ? 1 : 2; i < leaders_.size(); ++i) {
    const JointLeader& leader = leaders_[i];
    const int index = position_index(leader.index);
    const int full_index = model_->idx_qs[i];
    if (is_continuous(leader.index)) {
      full_q[full_index] = q[index];
      full_q[full_index + 1] = q[index + 1];
    } else {
      full_q[full_index] = leader.multiplier * q[index] + leader.offset;
    }
  }
}

pinocchio::SE3 Model::base_pose(const ConstVector& q) const noexcept {
  if (base_ == Base::fixed) return pinocchio::SE3::Identity();
  pinocchio::SE3 pose_in_mount(base_rotation(b_, q.data()), Vector3d::Zero());
  pose_in_mount.translation().head(base_linear_size()) = q.head(base_linear_size());
  return model_->jointPlacements[1] * pose_in_mount;
}

bool RobotState::is_usable(const Model& model) const noexcept {
  return q.size() == model.nq() && v.size() == model.nv() && std::isfinite(q.sum() + v.sum()) &&
         age >= 0.0 && std::isfinite(age);
}

}  // namespace vms_ph
