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

// The functions of a model on configurations.
#include <cmath>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

// The twist from the planar pose a to b in unit time; Pinocchio's own loses half the digits for
// rotations just above 1e-4 rad.
Eigen::Vector3d planar_difference(const Eigen::Vector4d& a, const Eigen::Vector4d& b) {
  const double dx = b[0] - a[0], dy = b[1] - a[1];
  const double x = a[2] * dx + a[3] * dy, y = a[2] * dy - a[3] * dx;
  const double half = 0.5 * std::atan2(a[2] * b[3] - a[3] * b[2], a[2] * b[2] + a[3] * b[3]);
  // V^-1 = h cot h - h J with h half the angle and J the quarter turn.
  const double along = half == 0.0 ? 1.0 : half / std::tan(half);
  return {along * x + half * y, along * y - half * x, 2.0 * half};
}

// A quaternion or (cos, sin) pair further than this from length one is a mistake, not rounding.
constexpr double kNormTolerance = 1e-6;

// Pinocchio's functions of whole configurations take seconds to compile, for every kind of joint
// there is. Here are the base, joints of one coordinate and those with (cos, sin).
using Space = pinocchio::SpecialEuclideanOperationTpl<3, double, 0>;
using Plane = pinocchio::SpecialEuclideanOperationTpl<2, double, 0>;
using Circle = pinocchio::SpecialOrthogonalOperationTpl<2, double, 0>;

using Vector1 = Eigen::Matrix<double, 1, 1>;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Vector7 = Eigen::Matrix<double, 7, 1>;

}  // namespace

bool Model::is_configuration(const ConstVector& q) const noexcept {
  if (q.size() != nq() || !q.allFinite()) return false;
  for (const Rotation& each : rotations_) {
    const double length = q.segment(each.first, each.size).norm();
    if (!(std::abs(length - 1.0) <= kNormTolerance)) return false;
  }
  return true;
}

void Model::integrate(const ConstVector& q, const ConstVector& dv,
                      Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (base_ == Base::floating) {
    const Vector7 pose = q.head<7>();
    const Vector6 twist = dv.head<6>();
    Vector7 moved;
    Space().integrate(pose, twist, moved);
    result.head<7>() = moved;
  } else if (base_ == Base::planar) {
    const Eigen::Vector4d pose = q.head<4>();
    const Eigen::Vector3d twist = dv.head<3>();
    Eigen::Vector4d moved;
    Plane().integrate(pose, twist, moved);
    result.head<4>() = moved;
  }
  for (int i = 0; i < n_; ++i) {
    const int at = position_index(i), by = b_ + i;
    if (!is_pair(i)) {
      result[at] = q[at] + dv[by];
    } else {
      const Eigen::Vector2d angle = q.segment<2>(at);
      const Vector1 turn = dv.segment<1>(by);
      Eigen::Vector2d moved;
      Circle().integrate(angle, turn, moved);
      result.segment<2>(at) = moved;
    }
  }
}

void Model::difference(const ConstVector& q0, const ConstVector& q1,
                       Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (base_ == Base::floating) {
    const Vector7 from = q0.head<7>(), to = q1.head<7>();
    Vector6 twist;
    Space().difference(from, to, twist);
    result.head<6>() = twist;
  } else if (base_ == Base::planar) {
    result.head<3>() = planar_difference(q0.head<4>(), q1.head<4>());
  }
  for (int i = 0; i < n_; ++i) {
    const int at = position_index(i), by = b_ + i;
    if (!is_pair(i)) {
      result[by] = q1[at] - q0[at];
    } else {
      const Eigen::Vector2d from = q0.segment<2>(at), to = q1.segment<2>(at);
      Vector1 turn;
      Circle().difference(from, to, turn);
      result.segment<1>(by) = turn;
    }
  }
}

void Model::joint_positions(const ConstVector& q,
                            Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  if (nq() - base_size() == n_) {
    result = q.tail(n_);
    return;
  }
  VectorV away(nv());
  difference(neutral_, q, away);
  result = away.tail(n_);
}

void Model::fill_configuration(const ConstVector& q,
                               Eigen::Ref<Eigen::VectorXd> full) const noexcept {
  full.head(base_size()) = q.head(base_size());
  for (std::size_t i = base_ == Base::fixed ? 1 : 2; i < leads_.size(); ++i) {
    const Lead& lead = leads_[i];
    const int at = position_index(lead.joint);
    if (is_pair(lead.joint)) {
      full.segment<2>(model_->idx_qs[i]) = q.segment<2>(at);
    } else {
      full[model_->idx_qs[i]] = lead.multiplier * q[at] + lead.offset;
    }
  }
}

void Model::fill_velocity(const ConstVector& v, Eigen::Ref<Eigen::VectorXd> full) const noexcept {
  full.head(b_) = v.head(b_);
  for (std::size_t i = base_ == Base::fixed ? 1 : 2; i < leads_.size(); ++i) {
    full[model_->idx_vs[i]] = leads_[i].multiplier * v[b_ + leads_[i].joint];
  }
}

void Model::project_force(const ConstVector& full,
                          Eigen::Ref<Eigen::VectorXd> force) const noexcept {
  force.head(b_) = full.head(b_);
  force.tail(n_).setZero();
  for (std::size_t i = base_ == Base::fixed ? 1 : 2; i < leads_.size(); ++i) {
    force[b_ + leads_[i].joint] += leads_[i].multiplier * full[model_->idx_vs[i]];
  }
}

pinocchio::SE3 Model::base_pose(const ConstVector& q) const noexcept {
  if (base_ == Base::fixed) return pinocchio::SE3::Identity();
  pinocchio::SE3 moved = pinocchio::SE3::Identity();
  moved.translation().head(base_positions()) = q.head(base_positions());
  if (base_ == Base::floating) {
    moved.rotation() = Eigen::Quaterniond(q[6], q[3], q[4], q[5]).toRotationMatrix();
  } else {
    moved.rotation().topLeftCorner<2, 2>() << q[2], -q[3], q[3], q[2];
  }
  return model_->jointPlacements[1] * moved;
}

}  // namespace vms_ph
