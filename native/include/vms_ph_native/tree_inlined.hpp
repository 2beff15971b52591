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

// Small functions of a tree, compiled with their callers. Included by tree.hpp.
#pragma once

#include "vms_ph_native/tree.hpp"

namespace vms_ph {

VMS_PH_INLINED inline Screw Tree::base_twist(const double* v) const noexcept {
  if (b_ == 6)
    return {Eigen::Map<const Eigen::Vector3d>(v), Eigen::Map<const Eigen::Vector3d>(v + 3)};
  if (b_ == 3) return {{v[0], v[1], 0.0}, {0.0, 0.0, v[2]}};
  return {};
}

VMS_PH_INLINED inline void Tree::set_base(const Screw& twist, Eigen::VectorXd& v) const noexcept {
  if (b_ == 6) {
    v.head<3>() = twist.linear;
    v.segment<3>(3) = twist.angular;
  } else if (b_ == 3) {
    v.head<2>() = twist.linear.head<2>();
    v[2] = twist.angular.z();
  }
}

/// The components of a wrench that act on a planar base.
VMS_PH_INLINED inline Screw Tree::restricted(const Screw& wrench) const noexcept {
  if (b_ != 3) return wrench;
  return {{wrench.linear.x(), wrench.linear.y(), 0.0}, {0.0, 0.0, wrench.angular.z()}};
}

/// A wrench with its moment about the centre of mass, where the inertia of the base does not couple
/// translation and rotation.
VMS_PH_INLINED inline Screw Tree::about_centre(const Screw& wrench) const noexcept {
  Screw p = restricted(wrench);
  p.angular -= centre_.cross(p.linear);
  return p;
}

/// The twist of the locked robot with a momentum about its centre of mass.
VMS_PH_INLINED inline Screw Tree::mobility(const Screw& p) const noexcept {
  const Eigen::Vector3d turn = turning_ * p.angular;
  return {p.linear / total_.mass + centre_.cross(turn), turn};
}

VMS_PH_INLINED inline double Tree::weight(std::size_t at,
                                          const Eigen::Vector3d& field) const noexcept {
  const Body& body = bodies_[at];
  const SpatialInertia& y = body.composite;
  return -y.mass * body.screw.linear.dot(field) - body.screw.angular.dot(y.first.cross(field));
}

}  // namespace vms_ph
