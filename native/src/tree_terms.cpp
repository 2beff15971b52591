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

// The terms of the equations of motion of a tree, by sums over pairs of a joint and one before it.
#include "vms_ph_native/tree.hpp"

#include <algorithm>

#include "vms_ph_native/wide.hpp"

namespace vms_ph {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

/// The unit twists of a base: of all six only those in its plane where it is planar.
constexpr int kSpatial[] = {0, 1, 2, 3, 4, 5}, kInPlane[] = {0, 1, 5};

double component(const Screw& value, int k) {
  return k < 3 ? value.linear[k] : value.angular[k - 3];
}

VMS_PH_INLINED inline Screw unit(int k) {
  Screw s;
  (k < 3 ? s.linear[k] : s.angular[k - 3]) = 1.0;
  return s;
}

/// The bracket [v, .] of wrenches: `reaction . [v, s] = s . pulled(v, reaction)`.
VMS_PH_INLINED inline Screw pulled(const Screw& v, const Screw& reaction) {
  return {reaction.linear.cross(v.angular),
          reaction.linear.cross(v.linear) + reaction.angular.cross(v.angular)};
}

/// The integral of `(r . rdot) 1 - rdot r^T` over the mass of a body: what turns a rotation of it
/// into the change of its angular momentum that is due to its motion.
VMS_PH_INLINED inline Matrix3d spin_of(const SpatialInertia& y, const Screw& twist) {
  const double half = 0.5 * (y.xx + y.yy + y.zz);
  Matrix3d second;  // moments of the mass
  second << half - y.xx, -y.xy, -y.xz, -y.xy, half - y.yy, -y.yz, -y.xz, -y.yz, half - y.zz;
  const Vector3d& w = twist.angular;
  Matrix3d spin;
  for (int j = 0; j < 3; ++j) {
    spin.col(j) = -y.first[j] * twist.linear - w.cross(second.col(j));
  }
  const double trace = spin.trace();
  spin.diagonal().array() -= trace;
  return spin;
}

}  // namespace

double* Tree::write_base(const Screw& value, double* out, int stride) const noexcept {
  const int* which = b_ == 6 ? kSpatial : kInPlane;
  for (int k = 0; k < b_; ++k, out += stride) *out = component(value, which[k]);
  return out;
}

VMS_PH_WIDE void Tree::write_mass(double* out) noexcept {
  react();
  const int size = b_ + n_;
  std::fill(out, out + size * size, 0.0);
  const int* which = b_ == 6 ? kSpatial : kInPlane;
  for (int k = 0; k < b_; ++k) write_base(total_ * unit(which[k]), out + k * size);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Body& body = bodies_[i];
    const int at = b_ + joints_[i].lead;
    double* row = out + at * size;
    add_base(body.reaction, row);
    add_base(body.reaction, out + at, size);
    row[at] += body.screw.dot(body.reaction) + joints_[i].armature;
    for (int j = joints_[i].parent; j >= 0; j = joints_[static_cast<std::size_t>(j)].parent) {
      const auto k = static_cast<std::size_t>(j);
      const int before = b_ + joints_[k].lead;
      const double value = bodies_[k].screw.dot(body.reaction);
      row[before] += value;
      out[before * size + at] += value;  // twice on the diagonal where one mimics the other
    }
  }
}

void Tree::write_locked_inverse(double* out) const noexcept {
  const int* which = b_ == 6 ? kSpatial : kInPlane;
  for (int k = 0; k < b_; ++k) {
    write_base(mobility(about_centre(unit(which[k]))), out + k * b_);
  }
}

VMS_PH_WIDE void Tree::write_connection(double* out) noexcept {
  react();
  for (int i = 0; i < n_; ++i) {
    write_base(mobility(columns_[static_cast<std::size_t>(i)].whole), out + i, n_);
  }
}

VMS_PH_WIDE void Tree::write_shape_inertia(double* out) noexcept {
  react();
  std::fill(out, out + n_ * n_, 0.0);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Body& body = bodies_[i];
    const int at = joints_[i].lead;
    out[at * n_ + at] += joints_[i].armature + body.screw.dot(body.reaction);
    for (int j = joints_[i].parent; j >= 0; j = joints_[static_cast<std::size_t>(j)].parent) {
      const auto k = static_cast<std::size_t>(j);
      const int before = joints_[k].lead;
      const double value = bodies_[k].screw.dot(body.reaction);
      // Below the diagonal; on it, where one mimics the other, the product counts twice.
      out[std::max(at, before) * n_ + std::min(at, before)] += at == before ? 2.0 * value : value;
    }
  }
  for (int i = 0; i < n_; ++i) {
    double* row = out + i * n_;
    const Screw& turned = columns_[static_cast<std::size_t>(i)].turned;
    for (int j = 0; j <= i; ++j) {
      if (b_ > 0) row[j] -= columns_[static_cast<std::size_t>(j)].whole.dot(turned);
      out[j * n_ + i] = row[j];
    }
  }
}

void Tree::add_weight(const Vector3d& field, double factor, double* out) const noexcept {
  const Vector3d weight = -factor * field;
  add_base({total_.mass * weight, total_.first.cross(weight)}, out);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    out[b_ + joints_[i].lead] += this->weight(i, factor * field);
  }
}

VMS_PH_WIDE void Tree::write_jacobian(const Frame& placed, const Matrix3d& rotation,
                                      double* out) const noexcept {
  const int size = b_ + n_;
  std::fill(out, out + 6 * size, 0.0);
  if (placed.body < -1) return;  // it stands beside a base that moves
  const auto add = [&](const Screw& s, int column) VMS_PH_INLINED {
    const Vector3d linear = rotation.transpose() * (s.linear + s.angular.cross(placed.origin));
    const Vector3d angular = rotation.transpose() * s.angular;
    for (int k = 0; k < 3; ++k) {
      out[k * size + column] += linear[k];
      out[(k + 3) * size + column] += angular[k];
    }
  };
  const int* which = b_ == 6 ? kSpatial : kInPlane;
  for (int k = 0; k < b_; ++k) add(unit(which[k]), k);
  for (int i = placed.body; i >= 0; i = joints_[static_cast<std::size_t>(i)].parent) {
    const auto at = static_cast<std::size_t>(i);
    add(bodies_[at].screw, b_ + joints_[at].lead);
  }
}

const Screw& Tree::twist_of(int body) const noexcept {
  return body < 0 ? base_ : bodies_[static_cast<std::size_t>(body)].twist;
}

VMS_PH_WIDE void Tree::write_jacobian_rate(const Frame& placed, const Matrix3d& rotation,
                                           const Vector3d& turning, double* out) const noexcept {
  const int size = b_ + n_;
  std::fill(out, out + 6 * size, 0.0);
  if (placed.body < -1) return;
  const Screw& carrier = twist_of(placed.body);
  const Vector3d moving = carrier.linear + carrier.angular.cross(placed.origin);
  const auto add = [&](const Screw& by, const Screw& s, int column) VMS_PH_INLINED {
    const Screw rate = bracket(by, s);
    const Vector3d linear = s.linear + s.angular.cross(placed.origin);
    const Vector3d linear_rate =
        rotation.transpose() * (rate.linear + rate.angular.cross(placed.origin) +
                                s.angular.cross(moving) - turning.cross(linear));
    const Vector3d angular_rate = rotation.transpose() * (rate.angular - turning.cross(s.angular));
    for (int k = 0; k < 3; ++k) {
      out[k * size + column] += linear_rate[k];
      out[(k + 3) * size + column] += angular_rate[k];
    }
  };
  const int* which = b_ == 6 ? kSpatial : kInPlane;
  for (int k = 0; k < b_; ++k) add(base_, unit(which[k]), k);
  for (int i = placed.body; i >= 0; i = joints_[static_cast<std::size_t>(i)].parent) {
    const auto at = static_cast<std::size_t>(i);
    add(bodies_[at].twist, bodies_[at].screw, b_ + joints_[at].lead);
  }
}

void Tree::write_momentum(double* out) const noexcept {
  write_joint_momenta(write_base(momentum_, out));
}

void Tree::write_shape_momentum(double* out) noexcept {
  const Screw v_hat = locked_twist(momentum_);
  react();
  write_joint_momenta(out);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    out[joints_[i].lead] -= bodies_[i].reaction.dot(v_hat);
  }
}

// With the velocity field `v_i(r)` of joint i, C_ij is the integral of `v_i . d(v_j)/dt` over the
// mass that both move. Over a subtree with composite inertia Y and linear momentum l it is
// `S_i . (Y dS_j/dt + B S_j)` with `B (v, w) = (w x l, spin w)`.
VMS_PH_WIDE void Tree::write_coriolis(double* out) noexcept {
  react();
  const int size = b_ + n_;
  std::fill(out, out + size * size, 0.0);
  Matrix3d whole = b_ == 0 ? Matrix3d::Zero() : spin_of(root_, base_);
  for (Body& body : bodies_) body.spin = spin_of(body.own, body.twist);
  for (std::size_t i = joints_.size(); i-- > 0;) {
    const int parent = joints_[i].parent;
    (parent < 0 ? whole : bodies_[static_cast<std::size_t>(parent)].spin) += bodies_[i].spin;
  }
  const int* which = b_ == 6 ? kSpatial : kInPlane;
  for (int k = 0; k < b_; ++k) {
    const Screw e = unit(which[k]);
    Screw column = total_ * bracket(base_, e);
    column.linear += e.angular.cross(momentum_.linear);
    column.angular += whole * e.angular;
    write_base(column, out + k, size);
  }
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Body& body = bodies_[i];
    const Vector3d& l = body.momentum.linear;
    body.screw_rate = bracket(body.twist, body.screw);
    Screw column = body.composite * body.screw_rate;
    column.linear += body.screw.angular.cross(l);
    column.angular += body.spin * body.screw.angular;
    // S_i . B, which has no linear part.
    const Vector3d turned = l.cross(body.screw.linear) + body.spin.transpose() * body.screw.angular;
    const int at = b_ + joints_[i].lead;
    double* row = out + at * size;
    if (b_ > 0) {
      add_base(column, out + at, size);
      Screw left = pulled(base_, body.reaction);
      left.angular += turned;
      add_base(left, row);
    }
    row[at] += body.screw.dot(column);
    for (int j = joints_[i].parent; j >= 0; j = joints_[static_cast<std::size_t>(j)].parent) {
      const Body& before = bodies_[static_cast<std::size_t>(j)];
      const int k = b_ + joints_[static_cast<std::size_t>(j)].lead;
      out[k * size + at] += before.screw.dot(column);
      row[k] += body.reaction.dot(before.screw_rate) + turned.dot(before.screw.angular);
    }
  }
}

// The sum of `X . (Y dZ/dt + B Z)` over single bodies, with their twists X in x and Z in y.
VMS_PH_WIDE double Tree::coriolis_power(const double* x, const double* y) noexcept {
  const auto power = [](const SpatialInertia& inertia, const Screw& twist, const Screw& with,
                        const Screw& of, const Screw& rate) VMS_PH_INLINED {
    const Vector3d &l = twist.linear, &w = twist.angular, &a = of.angular;
    const Vector3d pushed = a.cross(inertia.mass * l + w.cross(inertia.first));
    const double half = 0.5 * (inertia.xx + inertia.yy + inertia.zz);
    const Vector3d second((half - inertia.xx) * a.x() - inertia.xy * a.y() - inertia.xz * a.z(),
                          (half - inertia.yy) * a.y() - inertia.xy * a.x() - inertia.yz * a.z(),
                          (half - inertia.zz) * a.z() - inertia.xz * a.x() - inertia.yz * a.y());
    const Vector3d turned = inertia.first.dot(l) * a - inertia.first.dot(a) * l - w.cross(second);
    return with.dot(inertia * rate) + with.linear.dot(pushed) + with.angular.dot(turned);
  };
  const Screw base_x = base_twist(x), base_y = base_twist(y), rate = bracket(base_, base_y);
  double sum = b_ == 0 ? 0.0 : power(root_, base_, base_x, base_y, rate);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const int parent = joints_[i].parent;
    const Body& body = bodies_[i];
    Carried& here = carried_[i];
    if (parent < 0) {
      here.twist = base_x;
      here.other = base_y;
      here.other_rate = rate;
    } else {
      const Carried& before = carried_[static_cast<std::size_t>(parent)];
      here.twist = before.twist;
      here.other = before.other;
      here.other_rate = before.other_rate;
    }
    const auto add = [](double by, const Screw& screw, Screw& to) VMS_PH_INLINED {
      to.linear += by * screw.linear;
      to.angular += by * screw.angular;
    };
    const int at = b_ + joints_[i].lead;
    add(x[at], body.screw, here.twist);
    add(y[at], body.screw, here.other);
    add(y[at], bracket(body.twist, body.screw), here.other_rate);
    sum += power(body.own, body.twist, here.twist, here.other, here.other_rate);
  }
  return sum;
}

}  // namespace vms_ph
