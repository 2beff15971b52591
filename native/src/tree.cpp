// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/tree.hpp"

#include <algorithm>
#include <pinocchio/algorithm/jacobian.hpp>
#include <string>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

Tree::Tree(const Model& model, bool has_gravity)
    : n_(model.n()),
      b_(model.b()),
      nq_(model.nq()),
      field_(Vector3d::Zero()),
      fall_acceleration_(Vector3d::Zero()) {
  const auto& robot = model.pinocchio();
  // The positions of a moving base count along the axes of its mount.
  for (int i = 0; has_gravity && i < 3; ++i) {
    (i < free_dimensions() ? fall_acceleration_ : field_)[i] = model.base_gravity()[i];
  }
  const int root = b_ == 0 ? 0 : 1;
  pinocchio::Data data(robot);
  VectorXd zero_configuration(robot.nq);
  model.expand_configuration(model.neutral_configuration(), zero_configuration);
  for (std::size_t i = 1; i < robot.joints.size(); ++i) {
    if (robot.nqs[i] == 1) zero_configuration[robot.idx_qs[i]] = 0.0;
  }
  pinocchio::computeJointJacobians(robot, data, ConstVector(zero_configuration));
  for (int i = root + 1; i < robot.njoints; ++i) {
    const auto id = static_cast<pinocchio::JointIndex>(i);
    const int parent = static_cast<int>(robot.parents[id]);
    if (parent < root) {
      throw ModelError("'" + robot.names[id] + "' is not on the base of '" + robot.name +
                       "'; a robot is one tree");
    }
    const std::string kind = robot.joints[id].shortname();
    if (kind.compare(0, 11, "JointModelR") != 0 && kind.compare(0, 11, "JointModelP") != 0 &&
        kind.compare(0, 11, "JointModelH") != 0) {
      throw moving_axis_error(robot.names[id], kind);
    }
    const pinocchio::Motion screw =
        data.oMi[id].actInv(pinocchio::Motion(data.J.col(robot.idx_vs[id])));
    const Matrix3d rotation = robot.jointPlacements[id].rotation();
    const auto& inertia = robot.inertias[id];
    Joint joint;
    joint.parent = parent - root - 1;
    const JointLeader leader = model.leader_of(id);
    joint.leader = leader.index;
    joint.position_index = model.position_index(leader.index);
    joint.multiplier = leader.multiplier;
    joint.offset = leader.offset;
    joint.is_continuous = robot.nqs[id] == 2;
    // A joint that mimics another moves at the rate of that one.
    joint.armature = leader.multiplier * leader.multiplier * robot.armature[robot.idx_vs[id]];
    const std::size_t index = joints_.size(), lane = index % kLaneCount;
    joints_.push_back(joint);
    if (lane == 0) link_constants_.push_back({});
    LinkConstants& link = link_constants_.back();
    const Vector3d axis = screw.angular(), linear_axis = screw.linear();
    const bool is_revolute = !axis.isZero(0.0);
    const Matrix3d projector = axis * axis.transpose();
    set_lane(is_revolute ? Matrix3d(rotation * projector) : rotation, link.fixed, lane);
    if (is_revolute) {
      set_lane(Matrix3d(rotation * (Matrix3d::Identity() - projector)), link.cosine, lane);
      set_lane(Matrix3d(rotation * se3::skew(axis)), link.sine, lane);
    }
    Vector3d offset = robot.jointPlacements[id].translation();
    if (b_ == 0 && index == 0) root_origin_ = offset;
    if (joint.parent < 0) offset -= root_origin_;
    set_lane(offset, link.offset, lane);
    if (!joint.is_continuous) set_lane(Vector3d(rotation * linear_axis), link.linear_rate, lane);
    set_lane(Vector3d(leader.multiplier * axis), link.axis, lane);
    set_lane(Vector3d(leader.multiplier * linear_axis), link.linear_axis, lane);
    link.mass[lane] = inertia.mass();
    set_lane(Vector3d(inertia.lever()), link.centre, lane);
    const Matrix3d tensor = inertia.inertia().matrix();
    Eigen::Matrix<double, 6, 1> entries;
    entries << tensor(0, 0), tensor(0, 1), tensor(0, 2), tensor(1, 1), tensor(1, 2), tensor(2, 2);
    set_lane(entries, link.inertia, lane);
    total_mass_ += inertia.mass();
  }
  has_mimics_ = static_cast<int>(joints_.size()) > n_;
  const std::size_t padded_count = group_count() * kLaneCount;
  const std::size_t column_group_count =
      (static_cast<std::size_t>(n_) + kLaneCount - 1) / kLaneCount;
  columns_.resize(column_group_count);
  link_groups_.resize(group_count());
  motions_.resize(group_count());
  scratch_.resize(group_count());
  descendants_.assign(joints_.size() * padded_count, 0.0);
  for (std::size_t i = joints_.size(); i-- > 0;) {
    descendants_[i * padded_count + i] = 1.0;
    for (int j = joints_[i].parent; j >= 0; j = joints_[static_cast<std::size_t>(j)].parent) {
      descendants_[static_cast<std::size_t>(j) * padded_count + i] = 1.0;
    }
  }
  if (b_ > 0) {
    const auto& inertia = robot.inertias[1];
    const Eigen::Matrix<double, 6, 6> Y = inertia.matrix();  // about the root's origin
    root_inertia_.mass = inertia.mass();
    root_inertia_.mc = inertia.mass() * inertia.lever();
    root_inertia_.rotational = Y.bottomRightCorner<3, 3>();
    total_mass_ += inertia.mass();
  }
  angles_.assign(padded_count, 0.0);
  sines_ = cosines_ = body_rates_ = products_ = angles_;
  const std::size_t stride = column_group_count * kLaneCount, size = static_cast<std::size_t>(n_);
  factor_.assign(size * stride, 0.0);
  inverse_diagonal_.assign(stride, 0.0);
  computed_q_ = VectorXd::Zero(model.nq());
  right_side_ = VectorXd::Zero(static_cast<Eigen::Index>(stride));
  joint_rates_ = VectorXd::Zero(n_);
  end_effector_ = frame(model, model.end_effector());
  net_mass_ = total_mass_;
  if (model.fluid() == nullptr) return;
  for (const ImmersedBody& body : model.fluid()->bodies) {
    const ImmersedLink link{frame(model, model.frame_id(body.link)), body,
                            model.fluid()->density * body.volume};
    if (link.frame.body < -1) continue;  // it stands beside a base that moves
    immersed_links_.push_back(link);
    net_mass_ -= link.displaced_mass;
  }
  fluid_groups_.resize(std::max<std::size_t>(1, group_count()));
  jacobian_ = jacobian_rate_ = Eigen::MatrixXd::Zero(6, nv());
}

Tree::Frame Tree::frame(const Model& model, std::size_t index) const {
  const auto& pin_frame = model.pinocchio().frames[index];
#if PINOCCHIO_MAJOR_VERSION >= 3
  const auto parent = pin_frame.parentJoint;
#else
  const auto parent = pin_frame.parent;
#endif
  const int body = static_cast<int>(parent) - (b_ == 0 ? 0 : 1) - 1;
  Frame frame{body, pin_frame.placement.rotation(), pin_frame.placement.translation()};
  if (body < 0) frame.origin -= root_origin_;
  return frame;
}

Screw Tree::map_screw(const se3::Adjoint& matrix, Screw s) noexcept {
  return screw_of(Twist(matrix * numbers_of(s)));
}

void Tree::add_drag(double* force) const noexcept {
  for (const ImmersedLink& link : immersed_links_) {
    const Frame pose = placement(link.frame);
    const Twist twist = numbers_of(in_axes_of(pose, twist_of(pose.body)));
    const Twist drag = link.coefficients.linear_drag +
                       link.coefficients.quadratic_drag.cwiseProduct(twist.cwiseAbs());
    add_wrench(pose, in_root_axes(pose, screw_of(-drag.cwiseProduct(twist))), force);
  }
}

Screw Tree::locked_twist(const Screw& momentum) const noexcept {
  if (b_ == 0) return {};
  return apply_mobility(about_centre(momentum));
}

void Tree::add_wrench_end_effector(const Screw& wrench, double* force) const noexcept {
  const Frame pose = placement(end_effector_);
  add_wrench(pose, in_root_axes(pose, wrench), force);
}

Screw Tree::in_root_axes(const Frame& frame, const Screw& wrench) {
  const Vector3d linear = frame.rotation * wrench.linear;
  return {linear, frame.rotation * wrench.angular + frame.origin.cross(linear)};
}

void Tree::add_wrench(const Frame& frame, const Screw& wrench, double* force) const noexcept {
  if (frame.body < -1) return;  // it stands beside a base that moves
  for (int i = frame.body; i >= 0; i = joints_[static_cast<std::size_t>(i)].parent) {
    const auto k = static_cast<std::size_t>(i);
    force[b_ + joints_[k].leader] += screw(k).dot(wrench);
  }
  add_base(wrench, force);
}

void Tree::add_base(const Screw& wrench, double* force, int stride) const noexcept {
  for (int k = 0; k < b_; ++k) force[k * stride] += base_component(wrench, k);
}

Tree::Frame Tree::placement(const Frame& frame) const noexcept {
  if (frame.body < 0) return frame;
  const auto body = static_cast<std::size_t>(frame.body);
  const LinkGroup& group = link_groups_[body / kLaneCount];
  const Matrix3d rotation = matrix_at(group.rotation, body % kLaneCount);
  const Vector3d origin = vector_at(group.origin, body % kLaneCount);
  return {frame.body, rotation * frame.rotation, origin + rotation * frame.origin};
}

void Tree::write_joint_momenta(double* out) const noexcept {
  std::fill(out, out + n_, 0.0);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const int leader = joints_[i].leader;
    out[leader] += screw(i).dot(momentum(i)) + joints_[i].armature * joint_rates_[leader];
  }
}

VMS_PH_FMA void Tree::add_kinetic_gradient(double factor, double* gradient) const noexcept {
  for (std::size_t g = 0; g < group_count(); ++g) {
    // -S . (V x* h): the power of the subtree's momentum in the bracket.
    const LaneScrew rate = bracket(LaneScrew(motions_[g].twist), LaneScrew(link_groups_[g].screw));
    add_to_joints(g, factor * rate.dot(LaneScrew(motions_[g].momentum)), gradient);
  }
}

}  // namespace vms_ph
