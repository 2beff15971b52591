// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Small functions of a tree, compiled with their callers: included where one of them is called.
#pragma once

#include "vms_ph_native/tree.hpp"

namespace vms_ph {

template <class Numbers>
VMS_PH_INLINED inline Screw Tree::base_twist(const Numbers& v) const noexcept {
  if (b_ == 6) return {{v[0], v[1], v[2]}, {v[3], v[4], v[5]}};
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

/// Which of all six components of a twist is the k-th of the base: a planar one moves in its plane.
VMS_PH_INLINED inline int Tree::base_axis(int k) const noexcept {
  return b_ == 3 && k == 2 ? 5 : k;
}

VMS_PH_INLINED inline Screw Tree::base_unit_twist(int k) const noexcept {
  const int axis = base_axis(k);
  Screw s;
  (axis < 3 ? s.linear[axis] : s.angular[axis - 3]) = 1.0;
  return s;
}

/// The k-th component of a twist or wrench of the base.
VMS_PH_INLINED inline double Tree::base_component(const Screw& s, int k) const noexcept {
  const int axis = base_axis(k);
  return axis < 3 ? s.linear[axis] : s.angular[axis - 3];
}

/// The components of a wrench that act on a planar base.
VMS_PH_INLINED inline Screw Tree::planar_part(const Screw& wrench) const noexcept {
  if (b_ != 3) return wrench;
  return {{wrench.linear.x(), wrench.linear.y(), 0.0}, {0.0, 0.0, wrench.angular.z()}};
}

/// A wrench with its moment about the centre of mass, where the inertia of the base does not couple
/// translation and rotation.
VMS_PH_INLINED inline Screw Tree::about_centre(const Screw& wrench) const noexcept {
  Screw p = planar_part(wrench);
  p.angular -= centre_of_mass_.cross(p.linear);
  return p;
}

/// The twist of the locked robot with a momentum about its centre of mass.
VMS_PH_INLINED inline Screw Tree::apply_mobility(const Screw& p) const noexcept {
  if (!fluid_groups_.empty()) return map_screw(added_mass_.mobility, p);
  const Eigen::Vector3d angular = inverse_inertia_ * p.angular;
  return {p.linear / total_inertia_.mass + centre_of_mass_.cross(angular), angular};
}

/// The momentum of an inertia, in a fluid with an added mass, at a twist.
VMS_PH_INLINED inline Screw Tree::momentum_of(const SpatialInertia& inertia,
                                              const se3::Adjoint& added_mass,
                                              const Screw& twist) const noexcept {
  Screw momentum = inertia * twist;
  if (!fluid_groups_.empty()) momentum += map_screw(added_mass, twist);
  return momentum;
}

/// A twist in the axes of a frame, about its origin.
inline Screw in_axes_of(const Tree::Frame& frame, const Screw& s) {
  return {frame.rotation.transpose() * (s.linear + s.angular.cross(frame.origin)),
          frame.rotation.transpose() * s.angular};
}

template <int kRows, class Rows>
VMS_PH_INLINED inline Eigen::Matrix<double, kRows, 1> Tree::root_sum(Rows&& rows) noexcept {
  Eigen::Matrix<double, kRows, 1> sum = Eigen::Matrix<double, kRows, 1>::Zero();
  double subtree_sum[kRows] = {};  // passed to the body right before one, not by way of memory
  for (std::size_t i = joints_.size(); i-- > 0;) {
    LaneRow* row = rows(i / kLaneCount);
    for (int k = 0; k < kRows; ++k) subtree_sum[k] = row[k][i % kLaneCount] += subtree_sum[k];
    const auto parent = static_cast<std::size_t>(joints_[i].parent);
    if (parent + 1 == i && i > 0) continue;
    for (int k = 0; k < kRows; ++k) {
      (joints_[i].parent < 0 ? sum[k] : rows(parent / kLaneCount)[k][parent % kLaneCount]) +=
          subtree_sum[k];
      subtree_sum[k] = 0.0;
    }
  }
  return sum;
}

template <class Rows>
VMS_PH_INLINED inline void Tree::add_from_parents(const Screw& root_value, Rows&& rows) noexcept {
  Screw path_sum;  // from a body to the one right behind it
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const auto parent = static_cast<std::size_t>(joints_[i].parent);
    if (joints_[i].parent < 0) {
      path_sum = root_value;
    } else if (parent + 1 != i) {
      path_sum = screw_at(rows(parent / kLaneCount), parent % kLaneCount);
    }
    path_sum += screw_at(rows(i / kLaneCount), i % kLaneCount);
    set_lane(path_sum, rows(i / kLaneCount), i % kLaneCount);
  }
}

template <class Rows>
VMS_PH_INLINED inline void Tree::propagate_velocities(const Screw& root_twist, const double* v,
                                                      Rows&& rows) noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) body_rates_[i] = v[b_ + joints_[i].leader];
  for (std::size_t g = 0; g < group_count(); ++g) {
    (LaneScrew(link_groups_[g].screw) * load(&body_rates_[g * kLaneCount])).store_in(rows(g));
  }
  add_from_parents(root_twist, rows);
}

}  // namespace vms_ph
