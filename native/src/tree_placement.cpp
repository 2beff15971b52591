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

// Where the bodies of a tree are and how they move.
#include "vms_ph_native/sine_cosine.hpp"
#include "vms_ph_native/tree.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// Sines and cosines of all joints at once; pairs have theirs in the configuration.
VMS_PH_INLINED inline void Tree::measure(const double* q) noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    if (joints_[i].turns && !joints_[i].pair) angles_[i] = position(joints_[i], q);
  }
  sines_and_cosines(angles_.data(), angles_.size(), sines_.data(), cosines_.data());
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    if (!joints_[i].pair) continue;
    // Scaled to length one, to second order: pairs are accepted as they come from integration,
    // and in common axes a rotation that stretches does so for all bodies behind it.
    const double c = q[joints_[i].at], s = q[joints_[i].at + 1];
    const double scale = 1.5 - 0.5 * (c * c + s * s);
    cosines_[i] = scale * c;
    sines_[i] = scale * s;
  }
}

VMS_PH_INLINED inline void Tree::displace(std::size_t i, const double* q, Matrix3d& turn,
                                          Vector3d& shift) const noexcept {
  const Joint& joint = joints_[i];
  turn = joint.fixed;
  shift = joint.offset;
  if (joint.turns) turn += cosines_[i] * joint.cosine + sines_[i] * joint.sine;
  if (!joint.pair) shift += position(joint, q) * joint.slide;
}

bool Tree::is_placed_at(const VectorXd& q) const noexcept {
  return is_placed_ && q.tail(positions()) == placed_.tail(positions());
}

void Tree::place_as(const Tree& other, const VectorXd& q) noexcept {
  if (is_placed_at(q)) return;
  if (!(is_twin_of(other) && other.is_placed_at(q))) {
    place(q);
    return;
  }
  placed_.tail(positions()) = q.tail(positions());
  is_placed_ = true;
  has_reactions_ = other.has_reactions_;
  is_factorised_ = false;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    static_cast<Place&>(bodies_[i]) = other.bodies_[i];
  }
  columns_ = other.columns_;
  total_ = other.total_;
  centre_ = other.centre_;
  turning_ = other.turning_;
}

void Tree::move_as(const Tree& other) noexcept {
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    static_cast<Motion&>(bodies_[i]) = other.bodies_[i];
  }
  base_ = other.base_;
  momentum_ = other.momentum_;
  kinetic_ = other.kinetic_;
  rates_ = other.rates_;
}

VMS_PH_WIDE void Tree::place(const VectorXd& q) noexcept {
  if (is_placed_at(q)) return;
  placed_.tail(positions()) = q.tail(positions());
  is_placed_ = true;
  has_reactions_ = is_factorised_ = false;
  measure(q.data());
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Joint& joint = joints_[i];
    Body& body = bodies_[i];
    Matrix3d turn;
    Vector3d shift;
    displace(i, q.data(), turn, shift);
    if (joint.parent < 0) {
      body.rotation = turn;
      body.origin = shift;
    } else {
      const Body& parent = bodies_[static_cast<std::size_t>(joint.parent)];
      body.rotation.noalias() = parent.rotation * turn;
      body.origin = parent.origin + parent.rotation * shift;
    }
    body.screw.angular = body.rotation * joint.axis;
    body.screw.linear = body.rotation * joint.along + body.origin.cross(body.screw.angular);
    body.own = inertia_at(joint.mass, body.origin + body.rotation * joint.lever, body.rotation,
                          joint.inertia);
    body.composite = body.own;
  }
  total_ = root_;
  for (std::size_t i = joints_.size(); i-- > 0;) {
    const int parent = joints_[i].parent;
    (parent < 0 ? total_ : bodies_[static_cast<std::size_t>(parent)].composite) +=
        bodies_[i].composite;
  }
  if (b_ == 0) return;
  centre_ = total_.first / total_.mass;
  const Vector3d square = total_.first.cwiseProduct(centre_);
  const double zz = total_.zz - square.x() - square.y();
  if (b_ == 3) {
    turning_(2, 2) = 1.0 / zz;
    return;
  }
  const double xx = total_.xx - square.y() - square.z(), yy = total_.yy - square.x() - square.z();
  const double xy = total_.xy + total_.first.x() * centre_.y();
  const double xz = total_.xz + total_.first.x() * centre_.z();
  const double yz = total_.yz + total_.first.y() * centre_.z();
  const double a = yy * zz - yz * yz, b = xz * yz - xy * zz, c = xy * yz - xz * yy;
  const double over = 1.0 / (xx * a + xy * b + xz * c);
  turning_(0, 0) = over * a;
  turning_(0, 1) = turning_(1, 0) = over * b;
  turning_(0, 2) = turning_(2, 0) = over * c;
  turning_(1, 1) = over * (xx * zz - xz * xz);
  turning_(1, 2) = turning_(2, 1) = over * (xy * xz - xx * yz);
  turning_(2, 2) = over * (xx * yy - xy * xy);
}

VMS_PH_WIDE void Tree::move(const VectorXd& v) noexcept {
  const Screw& base = base_ = base_twist(v);
  momentum_ = b_ == 0 ? Screw{} : root_ * base;
  double twice = momentum_.dot(base);
  rates_ = v.tail(n_);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Body& body = bodies_[i];
    const double rate = rates_[joints_[i].lead];
    const Screw& parent =
        joints_[i].parent < 0 ? base : bodies_[static_cast<std::size_t>(joints_[i].parent)].twist;
    body.twist.linear = parent.linear + rate * body.screw.linear;
    body.twist.angular = parent.angular + rate * body.screw.angular;
    body.momentum = body.own * body.twist;
    twice += body.momentum.dot(body.twist) + joints_[i].armature * rate * rate;
  }
  kinetic_ = 0.5 * twice;
  for (std::size_t i = joints_.size(); i-- > 0;) {
    const int parent = joints_[i].parent;
    (parent < 0 ? momentum_ : bodies_[static_cast<std::size_t>(parent)].momentum) +=
        bodies_[i].momentum;
  }
}

VMS_PH_WIDE double Tree::lifting_power(const double* q, const double* v,
                                       const Vector3d& field) noexcept {
  const Screw base = base_twist(v);
  double power =
      b_ == 0 ? 0.0 : -field.dot(root_.mass * base.linear + base.angular.cross(root_.first));
  measure(q);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Joint& joint = joints_[i];
    Carried& here = carried_[i];
    Matrix3d turn;
    Vector3d shift;
    displace(i, q, turn, shift);
    if (joint.parent < 0) {
      here.rotation = turn;
      here.origin = shift;
      here.twist = base;
    } else {
      const Carried& parent = carried_[static_cast<std::size_t>(joint.parent)];
      here.rotation.noalias() = parent.rotation * turn;
      here.origin = parent.origin + parent.rotation * shift;
      here.twist = parent.twist;
    }
    const double rate = v[b_ + joint.lead];
    const Vector3d angular = rate * (here.rotation * joint.axis);
    here.twist.linear += rate * (here.rotation * joint.along) + here.origin.cross(angular);
    here.twist.angular += angular;
    const Vector3d centre = here.origin + here.rotation * joint.lever;
    power -= joint.mass * field.dot(here.twist.linear + here.twist.angular.cross(centre));
  }
  return power;
}

}  // namespace vms_ph
