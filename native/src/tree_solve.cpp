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

// The mass matrix of a tree: its factors, and what follows from efforts and momenta.
#include "vms_ph_native/tree.hpp"

#include <algorithm>

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

using Eigen::Vector3d;
using Eigen::VectorXd;

VMS_PH_WIDE void Tree::react() noexcept {
  if (has_reactions_) return;
  has_reactions_ = true;
  for (Body& body : bodies_) {
    body.reaction = body.composite * body.screw;
  }
  if (b_ == 0) return;
  if (is_coupled_) std::fill(columns_.begin(), columns_.end(), Column{});
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    Screw& whole = columns_[static_cast<std::size_t>(joints_[i].lead)].whole;
    if (is_coupled_) {
      whole += about_centre(bodies_[i].reaction);
    } else {
      whole = about_centre(bodies_[i].reaction);
    }
  }
  for (Column& column : columns_) {
    column.turned = {column.whole.linear / total_.mass, turning_ * column.whole.angular};
  }
}

/// The shape inertia of joints of which some mimic others, and the diagonal of the mass matrix.
void Tree::couple() noexcept {
  write_shape_inertia(factor_.data());
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    diagonal_[k] = factor_[k * columns_.size() + k] + columns_[k].whole.dot(columns_[k].turned);
  }
}

VMS_PH_WIDE void Tree::factorise() noexcept {
  if (is_factorised_) return;
  is_factorised_ = true;
  react();
  const auto n = static_cast<std::size_t>(n_);
  if (is_coupled_) {
    couple();
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      const Body& body = bodies_[i];
      const Screw& reaction = body.reaction;
      double* row = &factor_[i * n];
      for (std::size_t j = 0; j < i; ++j) row[j] = 0.0;
      diagonal_[i] = row[i] = body.screw.dot(reaction) + joints_[i].armature;
      for (int j = joints_[i].parent; j >= 0; j = joints_[static_cast<std::size_t>(j)].parent) {
        row[j] = bodies_[static_cast<std::size_t>(j)].screw.dot(reaction);
      }
      if (b_ == 0) continue;
      for (std::size_t j = 0; j <= i; ++j) row[j] -= columns_[j].whole.dot(columns_[i].turned);
    }
  }
  // L D L^T, row by row; the diagonal holds 1/D.
  for (std::size_t i = 0; i < n; ++i) {
    double* row = &factor_[i * n];
    double pivot = row[i];
    for (std::size_t j = 0; j < i; ++j) {
      const double* other = &factor_[j * n];
      double sum = row[j];
      for (std::size_t l = 0; l < j; ++l) sum -= row[l] * other[l];
      row[j] = sum;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const double scaled = row[j] * factor_[j * n + j];
      pivot -= scaled * row[j];
      row[j] = scaled;
    }
    row[i] = 1.0 / pivot;
  }
}

VMS_PH_WIDE void Tree::substitute(double* x) const noexcept {
  const auto n = static_cast<std::size_t>(n_);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = x[i];
    for (std::size_t j = 0; j < i; ++j) sum -= factor_[i * n + j] * x[j];
    x[i] = sum;
  }
  for (std::size_t i = 0; i < n; ++i) x[i] *= factor_[i * n + i];
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = 0; j < i; ++j) x[j] -= factor_[i * n + j] * x[i];
  }
}

void Tree::solve_shape(double* rates) noexcept {
  factorise();
  substitute(rates);
}

double Tree::inertia_of(int joint) noexcept {
  factorise();
  return diagonal_[static_cast<std::size_t>(joint)];
}

const Vector3d& Tree::pull(int joint) noexcept {
  factorise();
  return columns_[static_cast<std::size_t>(joint)].whole.linear;
}

VMS_PH_WIDE void Tree::solve(const Screw& momentum, VectorXd& out) noexcept {
  factorise();
  Screw p;
  if (b_ > 0) {
    p = about_centre(momentum);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      right_[static_cast<Eigen::Index>(i)] -= columns_[i].turned.dot(p);
    }
  }
  substitute(right_.data());
  if (b_ > 0) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const double rate = right_[static_cast<Eigen::Index>(i)];
      p.linear -= rate * columns_[i].whole.linear;
      p.angular -= rate * columns_[i].whole.angular;
    }
    set_base(mobility(p), out);
  }
  out.tail(n_) = right_;
}

VMS_PH_WIDE void Tree::accelerate(const VectorXd& v, const VectorXd& force,
                                  VectorXd& out) noexcept {
  const Screw base = base_twist(v);
  const Screw lift{-field_, Vector3d::Zero()};
  // Newton-Euler recursion with zero accelerations of joints and base.
  const auto reaction = [](const SpatialInertia& y, const Screw& twist,
                           const Screw& a) VMS_PH_INLINED {
    Screw f = y * a;
    const Screw h = y * twist;
    f.linear += twist.angular.cross(h.linear);
    f.angular += twist.angular.cross(h.angular) + twist.linear.cross(h.linear);
    return f;
  };
  Screw whole = b_ == 0 ? Screw{} : reaction(root_, base, lift);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Body& body = bodies_[i];
    const double rate = v[b_ + joints_[i].lead];
    const bool first = joints_[i].parent < 0;
    const Body& parent = first ? body : bodies_[static_cast<std::size_t>(joints_[i].parent)];
    const Screw& twist = first ? base : parent.twist;
    const Screw moved{rate * body.screw.linear, rate * body.screw.angular};
    body.acceleration = first ? lift : parent.acceleration;
    body.acceleration += bracket(twist, moved);
    body.twist = twist;
    body.twist += moved;
    body.force = reaction(body.own, body.twist, body.acceleration);
  }
  right_ = force.tail(n_);
  for (std::size_t i = joints_.size(); i-- > 0;) {
    const int parent = joints_[i].parent;
    const Body& body = bodies_[i];
    right_[joints_[i].lead] -= body.screw.dot(body.force);
    (parent < 0 ? whole : bodies_[static_cast<std::size_t>(parent)].force) += body.force;
  }
  Screw left = base_twist(force);
  left.linear -= whole.linear;
  left.angular -= whole.angular;
  solve(left, out);
}

}  // namespace vms_ph
