// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "mechanism_tree.hpp"

#include <cmath>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

using rigid::SE3;
using rigid::Twist;

SE3 relative_pose(const MechanismJoint& joint, const double* q) {
  SE3 pose;
  if (joint.kind == JointKind::planar) {
    pose.R << q[0], q[1], 0.0, q[3], q[4], 0.0, 0.0, 0.0, 1.0;
    pose.p << q[2], q[5], 0.0;
  } else {
    pose.R = rigid::read_rows(q, 3);
    pose.p.setZero();
  }
  return pose;
}

MechanismTree::MechanismTree(const MechanismParts& parts) : parts_(parts) {
  bodies.resize(parts.bodies.size());
  joints.resize(parts.joints.size());
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const MechanismJoint& description = parts.joints[j];
    Joint& joint = joints[j];
    joint.offset_1 = SE3::from_matrix(description.offset_1);
    joint.offset_2 = SE3::from_matrix(description.offset_2);
    const auto zero = JointVector::Zero(description.dofs);
    joint.rate = joint.force = joint.residual = joint.acceleration = zero;
    for (int k = 0; k < 3; ++k) joint.axes[k] = joint.articulated_axes[k] = Twist::Zero();
    joint.inverse_inertia = JointMatrix::Zero(description.dofs, description.dofs);
    joint.joint_pose.R.setIdentity();
    joint.joint_pose.p.setZero();
    joint.bias = joint.child_bias = joint.first_twist = Twist::Zero();
  }
  build_tree();
  int rows = 0;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (!joints[j].is_loop) continue;
    joints[j].row = rows;
    rows += 6 - parts.joints[j].dofs;
  }
  row_body_accelerations_.assign(static_cast<std::size_t>(rows),
                                 std::vector<Twist>(bodies.size(), Twist::Zero()));
  row_joint_accelerations_.resize(row_body_accelerations_.size());
  for (auto& joint_accelerations : row_joint_accelerations_) {
    for (const Joint& joint : joints) joint_accelerations.push_back(joint.rate);
  }
  delassus_ = Eigen::MatrixXd::Zero(rows, rows);
  if (rows > 0) eigen_.compute(delassus_);  // takes its memory here
  row_scales_ = right_side_ = loop_spectrum_ = Eigen::VectorXd::Zero(rows);
  rank_ = rows;
}

void MechanismTree::build_tree() {
  std::vector<bool> reached_bodies(bodies.size(), false), is_tree_joint(joints.size(), false);
  const auto is_reached = [&](int body) {
    return body < 0 || reached_bodies[static_cast<std::size_t>(body)];
  };
  std::size_t next_root = 0;
  for (;;) {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (std::size_t j = 0; j < joints.size(); ++j) {
        const int body_1 = parts_.joints[j].body_1, body_2 = parts_.joints[j].body_2;
        if (is_tree_joint[j] || is_reached(body_1) == is_reached(body_2)) continue;
        Joint& joint = joints[j];
        joint.is_reversed = is_reached(body_2);
        joint.parent = joint.is_reversed ? body_2 : body_1;
        joint.child = joint.is_reversed ? body_1 : body_2;
        is_tree_joint[j] = has_changed = true;
        reached_bodies[static_cast<std::size_t>(joint.child)] = true;
        bodies[static_cast<std::size_t>(joint.child)].joint = static_cast<int>(j);
        body_order_.push_back(joint.child);
      }
    }
    while (next_root < bodies.size() && reached_bodies[next_root]) ++next_root;
    if (next_root == bodies.size()) break;
    reached_bodies[next_root] = true;
    body_order_.push_back(static_cast<int>(next_root));
  }
  for (std::size_t j = 0; j < joints.size(); ++j) joints[j].is_loop = !is_tree_joint[j];
}

void MechanismTree::set_configuration(const double* x) {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const MechanismBody& description = parts_.bodies[i];
    bodies[i].momentum = rigid::read_twist(x + description.momentum_index);
    bodies[i].velocity = velocity_of(description, bodies[i].momentum);
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    Joint& joint = joints[j];
    const double* q = x + description.position_index;
    if (has_matrix_position(description)) {
      joint.joint_pose = relative_pose(description, q);
    } else {
      const bool is_cylindrical = description.kind == JointKind::cylindrical;
      const double angle = is_cylindrical ? q[1] : description.angle_per_unit * q[0];
      const double c = std::cos(angle), s = std::sin(angle);
      joint.joint_pose.R << c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0;
      joint.joint_pose.p << 0.0, 0.0, is_cylindrical ? q[0] : description.shift_per_unit * q[0];
    }
    joint.first_to_joint = joint.offset_1 * joint.joint_pose;
    if (joint.is_loop) continue;
    const SE3 second_in_first = joint.first_to_joint * joint.offset_2.inverse();
    joint.child_pose = joint.is_reversed ? second_in_first.inverse() : second_in_first;
    for (int k = 0; k < description.dofs; ++k) {
      const Twist axis = description.subspace.col(k);
      joint.axes[k] =
          joint.is_reversed ? Twist(-joint.first_to_joint.act(axis)) : joint.offset_2.act(axis);
    }
  }
}

/// The acceleration at which the joint of a loop opens, in frame C2.
Twist MechanismTree::relative_acceleration(std::size_t joint) const {
  const Twist a_1 = acceleration(parts_.joints[joint].body_1);
  const Twist a_2 = acceleration(parts_.joints[joint].body_2);
  const Joint& loop = joints[joint];
  return loop.first_to_joint.act_inv(a_1) - loop.offset_2.act_inv(a_2) + loop.bias;
}

void MechanismTree::find_rates(const double* x) {
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    Joint& joint = joints[j];
    joint.first_twist = joint.first_to_joint.act_inv(velocity(description.body_1));
    if (description.rotor_index >= 0) {
      joint.rate[0] = x[description.rotor_index] / description.armature;
    } else {
      const Twist relative_twist =
          joint.offset_2.act_inv(velocity(description.body_2)) - joint.first_twist;
      apply(description.dual_basis, relative_twist.data(), joint.rate.data());
    }
  }
}

void MechanismTree::factorise() {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const MechanismBody& description = parts_.bodies[i];
    rigid::Inertia& M = bodies[i].articulated_inertia;
    M.A.setZero();
    M.A(0, 0) = M.A(1, 1) = M.A(2, 2) = description.mass;
    M.B.setZero();
    M.C = description.inertia;
  }
  for (auto index = body_order_.rbegin(); index != body_order_.rend(); ++index) {
    Body& body = bodies[static_cast<std::size_t>(*index)];
    if (body.joint < 0) {
      MatrixV spatial_inertia(6, 6);
      const rigid::Inertia& M = body.articulated_inertia;
      spatial_inertia.topLeftCorner<3, 3>() = M.A;
      spatial_inertia.topRightCorner<3, 3>() = M.B;
      spatial_inertia.bottomLeftCorner<3, 3>() = M.B.transpose();
      spatial_inertia.bottomRightCorner<3, 3>() = M.C;
      body.mobility.setIdentity();
      Cholesky(spatial_inertia).solve_columns(body.mobility);
      continue;
    }
    const MechanismJoint& description = parts_.joints[static_cast<std::size_t>(body.joint)];
    Joint& joint = joints[static_cast<std::size_t>(body.joint)];
    const int dofs = description.dofs;
    for (int k = 0; k < dofs; ++k)
      joint.articulated_axes[k] = body.articulated_inertia * joint.axes[k];
    if (dofs == 1) {
      joint.inverse_inertia(0, 0) =
          1.0 / (joint.axes[0].dot(joint.articulated_axes[0]) + description.armature);
    } else {
      MatrixV D(dofs, dofs);
      for (int k = 0; k < dofs; ++k) {
        for (int l = 0; l < dofs; ++l) D(k, l) = joint.axes[k].dot(joint.articulated_axes[l]);
      }
      joint.inverse_inertia.setIdentity();
      Cholesky(D).solve_columns(joint.inverse_inertia);
    }
    if (joint.parent < 0) continue;
    rigid::Inertia M = body.articulated_inertia;
    for (int k = 0; k < dofs; ++k) {
      const Vector3d force = rigid::linear(joint.articulated_axes[k]);
      const Vector3d moment = rigid::angular(joint.articulated_axes[k]);
      for (int l = 0; l < dofs; ++l) {
        const Twist scaled_axis = joint.inverse_inertia(k, l) * joint.articulated_axes[l];
        for (int i = 0; i < 3; ++i) {
          M.A.col(i) -= scaled_axis[i] * force;
          M.B.col(i) -= scaled_axis[3 + i] * force;
          M.C.col(i) -= scaled_axis[3 + i] * moment;
        }
      }
    }
    bodies[static_cast<std::size_t>(joint.parent)].articulated_inertia.add(M, joint.child_pose);
  }
  if (rows()) factorise_loops();
}

void MechanismTree::solve_tree() {
  for (auto index = body_order_.rbegin(); index != body_order_.rend(); ++index) {
    Body& body = bodies[static_cast<std::size_t>(*index)];
    if (body.joint < 0) continue;
    Joint& joint = joints[static_cast<std::size_t>(body.joint)];
    joint.child_bias = joint.is_reversed ? Twist(-joint.first_to_joint.act(joint.bias))
                                         : joint.offset_2.act(joint.bias);
    for (int k = 0; k < joint.force.size(); ++k) {
      joint.residual[k] = joint.force[k] + joint.axes[k].dot(body.force) -
                          joint.articulated_axes[k].dot(joint.child_bias);
    }
    if (joint.parent < 0) continue;
    Twist wrench = body.force - body.articulated_inertia * joint.child_bias;
    JointVector acceleration_on_resting_parent(joint.residual.size());
    apply(joint.inverse_inertia, joint.residual.data(), acceleration_on_resting_parent.data());
    for (int k = 0; k < acceleration_on_resting_parent.size(); ++k)
      wrench -= acceleration_on_resting_parent[k] * joint.articulated_axes[k];
    bodies[static_cast<std::size_t>(joint.parent)].force += joint.child_pose.act_dual(wrench);
  }
  for (const int index : body_order_) {
    Body& body = bodies[static_cast<std::size_t>(index)];
    if (body.joint < 0) {
      apply(body.mobility, body.force.data(), body.acceleration.data());
      continue;
    }
    Joint& joint = joints[static_cast<std::size_t>(body.joint)];
    Twist parent_acceleration = Twist::Zero();
    if (joint.parent >= 0) {
      parent_acceleration =
          joint.child_pose.act_inv(bodies[static_cast<std::size_t>(joint.parent)].acceleration);
    }
    JointVector joint_residual = joint.residual;
    for (int k = 0; k < joint_residual.size(); ++k)
      joint_residual[k] -= joint.articulated_axes[k].dot(parent_acceleration);
    apply(joint.inverse_inertia, joint_residual.data(), joint.acceleration.data());
    body.acceleration = parent_acceleration + joint.child_bias;
    for (int k = 0; k < joint_residual.size(); ++k) {
      body.acceleration += joint.acceleration[k] * joint.axes[k];
    }
  }
}

Twist MechanismTree::opening(std::size_t joint, const double* x) const {
  const auto pose_in_space = [&](int body, const SE3& frame) {
    if (body < 0) return frame;
    return SE3::read(x + parts_.bodies[static_cast<std::size_t>(body)].pose_index) * frame;
  };
  const SE3 pose_1 = pose_in_space(parts_.joints[joint].body_1, joints[joint].first_to_joint);
  const SE3 pose_2 = pose_in_space(parts_.joints[joint].body_2, joints[joint].offset_2);
  return rigid::cayley_inverse(pose_2.inverse() * pose_1);
}

void MechanismTree::factorise_loops() {
  // Forces of a unit multiplier of every row give the accelerations that it causes.
  for (Joint& joint : joints) {
    joint.bias.setZero();
    joint.force.setZero();
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (!joints[j].is_loop) continue;
    const MechanismJoint& description = parts_.joints[j];
    for (int k = 0; k < 6 - description.dofs; ++k) {
      for (Body& body : bodies) body.force.setZero();
      const Twist wrench = row_of(description.constraints, k);
      // What the row would be worth to free bodies: rows that depend on others vanish beside it.
      double mobility = 0.0;
      const auto add_force = [&](int index, const Twist& body_wrench) {
        if (index < 0) return;
        const MechanismBody& body = parts_.bodies[static_cast<std::size_t>(index)];
        bodies[static_cast<std::size_t>(index)].force += body_wrench;
        mobility += body_wrench.dot(velocity_of(body, body_wrench));
      };
      add_force(description.body_1, joints[j].first_to_joint.act_dual(wrench));
      add_force(description.body_2, -joints[j].offset_2.act_dual(wrench));
      solve_tree();
      const int column = joints[j].row + k;
      const auto row = static_cast<std::size_t>(column);
      row_scales_[column] = std::sqrt(mobility);
      for (std::size_t i = 0; i < bodies.size(); ++i)
        row_body_accelerations_[row][i] = bodies[i].acceleration;
      for (std::size_t i = 0; i < joints.size(); ++i) {
        row_joint_accelerations_[row][i] = joints[i].acceleration;
      }
      for (std::size_t i = 0; i < joints.size(); ++i) {
        if (!joints[i].is_loop) continue;
        const Twist loop_accel = relative_acceleration(i);
        apply(parts_.joints[i].constraints, loop_accel.data(), &delassus_(joints[i].row, column));
      }
    }
  }
  // The independent part: eigenvectors of the scaled matrix, as in Equations.solve.
  for (Eigen::Index i = 0; i < row_scales_.size(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double mean = 0.5 * (delassus_(i, j) + delassus_(j, i));
      delassus_(i, j) = delassus_(j, i) = mean / (row_scales_[i] * row_scales_[j]);
    }
  }
  eigen_.compute(delassus_);
  loop_spectrum_ = eigen_.values();
}

void MechanismTree::solve() {
  solve_tree();
  if (!rows()) return;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (!joints[j].is_loop) continue;
    const Twist loop_accel = relative_acceleration(j);
    apply(parts_.joints[j].constraints, loop_accel.data(), &right_side_[joints[j].row]);
  }
  const MatrixView basis = MatrixView(eigen_.vectors()).right_columns(rank_);
  for (Eigen::Index i = 0; i < right_side_.size(); ++i) right_side_[i] /= row_scales_[i];
  Eigen::VectorXd weights = product<Eigen::VectorXd>(transposed(basis), right_side_);
  for (int i = 0; i < rank_; ++i) weights[i] /= loop_spectrum_[rows() - rank_ + i];
  multiply(basis, weights, right_side_);
  for (Eigen::Index i = 0; i < right_side_.size(); ++i) right_side_[i] /= row_scales_[i];
  for (std::size_t row = 0; row < row_body_accelerations_.size(); ++row) {
    const double multiplier = right_side_[static_cast<int>(row)];
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      bodies[i].acceleration -= multiplier * row_body_accelerations_[row][i];
    }
    for (std::size_t i = 0; i < joints.size(); ++i) {
      joints[i].acceleration -= multiplier * row_joint_accelerations_[row][i];
    }
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (!joints[j].is_loop) continue;
    const Twist closing_accel = -relative_acceleration(j);
    apply(parts_.joints[j].dual_basis, closing_accel.data(), joints[j].acceleration.data());
  }
}

}  // namespace vms_ph
