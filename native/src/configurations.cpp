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
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "vms_ph_native/model.hpp"

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

}  // namespace

bool Model::is_configuration(const ConstVector& q) const noexcept {
  if (q.size() != nq() || !q.allFinite()) return false;
  for (pinocchio::JointIndex i = 1; i < static_cast<pinocchio::JointIndex>(model_->njoints); ++i) {
    const int positions = model_->nqs[i], velocities = model_->nvs[i];
    if (positions == velocities) continue;
    const int size = velocities == 6 ? 4 : 2;  // positions come first, the rotation last
    const double length = q.segment(model_->idx_qs[i] + positions - size, size).norm();
    if (!(std::abs(length - 1.0) <= kNormTolerance)) return false;
  }
  return true;
}

void Model::integrate(const ConstVector& q, const ConstVector& dv,
                      Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  pinocchio::integrate(*model_, q, dv, result);
}

void Model::difference(const ConstVector& q0, const ConstVector& q1,
                       Eigen::Ref<Eigen::VectorXd> result) const noexcept {
  pinocchio::difference(*model_, q0, q1, result);
  if (base_ == Base::planar) {
    result.head<3>() = planar_difference(q0.head<4>(), q1.head<4>());
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
