// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Twists, wrenches and the inertias that turn one into the other.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "vms_ph_native/wide.hpp"

namespace vms_ph {

/// A twist or a wrench, linear part first.
struct Screw {
  Eigen::Vector3d linear = Eigen::Vector3d::Zero(), angular = Eigen::Vector3d::Zero();

  Screw& operator+=(const Screw& other) {
    linear += other.linear;
    angular += other.angular;
    return *this;
  }
  double dot(const Screw& other) const {
    return linear.dot(other.linear) + angular.dot(other.angular);
  }
};

/// Three numbers of an array as a vector.
inline Eigen::Map<Eigen::Vector3d> three(double* out) { return Eigen::Map<Eigen::Vector3d>(out); }

/// The Lie bracket [v, s] of two twists.
VMS_PH_INLINED inline Screw bracket(const Screw& v, const Screw& s) {
  return {v.angular.cross(s.linear) + v.linear.cross(s.angular), v.angular.cross(s.angular)};
}

/// The inertia of a body, or of many, about the origin of the root.
struct SpatialInertia {
  double mass = 0.0;
  Eigen::Vector3d first = Eigen::Vector3d::Zero();  ///< mass times centre of mass, kg m
  double xx = 0.0, xy = 0.0, xz = 0.0, yy = 0.0, yz = 0.0, zz = 0.0;  ///< kg m^2

  SpatialInertia() = default;
  explicit SpatialInertia(const Eigen::Matrix<double, 10, 1>& numbers)
      : mass(numbers[0]),
        first(numbers.segment<3>(1)),
        xx(numbers[4]),
        xy(numbers[5]),
        xz(numbers[6]),
        yy(numbers[7]),
        yz(numbers[8]),
        zz(numbers[9]) {}

  SpatialInertia& operator+=(const SpatialInertia& other);
  Screw operator*(const Screw& twist) const;
};

VMS_PH_INLINED inline SpatialInertia& SpatialInertia::operator+=(const SpatialInertia& other) {
  mass += other.mass;
  first += other.first;
  xx += other.xx;
  xy += other.xy;
  xz += other.xz;
  yy += other.yy;
  yz += other.yz;
  zz += other.zz;
  return *this;
}

VMS_PH_INLINED inline Screw SpatialInertia::operator*(const Screw& twist) const {
  const Eigen::Vector3d& w = twist.angular;
  const Eigen::Vector3d rotational(xx * w.x() + xy * w.y() + xz * w.z(),
                                   xy * w.x() + yy * w.y() + yz * w.z(),
                                   xz * w.x() + yz * w.y() + zz * w.z());
  return {mass * twist.linear + w.cross(first), first.cross(twist.linear) + rotational};
}

/// That of a body in the axes of the root, of its inertia about its centre of mass in its own axes.
VMS_PH_INLINED inline SpatialInertia inertia_at(double mass, const Eigen::Vector3d& centre,
                                                const Eigen::Matrix3d& rotation,
                                                const Eigen::Matrix3d& about_centre) {
  SpatialInertia y;
  y.mass = mass;
  y.first = mass * centre;
  const Eigen::Matrix3d half = rotation * about_centre;
  const auto rotational = [&](int i, int j) { return half.row(i).dot(rotation.row(j)); };
  const Eigen::Vector3d square = y.first.cwiseProduct(centre);
  y.xx = rotational(0, 0) + square.y() + square.z();
  y.yy = rotational(1, 1) + square.x() + square.z();
  y.zz = rotational(2, 2) + square.x() + square.y();
  y.xy = rotational(0, 1) - y.first.x() * centre.y();
  y.xz = rotational(0, 2) - y.first.x() * centre.z();
  y.yz = rotational(1, 2) - y.first.y() * centre.z();
  return y;
}

}  // namespace vms_ph
