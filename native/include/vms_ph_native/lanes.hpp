// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Vectors, twists and inertias of several bodies at once: every number of all of them is in one
// register, which no cross product has to rearrange.
#pragma once

#include <cstring>

#include "vms_ph_native/screw.hpp"
#include "vms_ph_native/sine_cosine.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {

// All functions are compiled into their callers: no such value is passed or returned in registers
// that only some machines have.

/// A number of each of kTogether bodies.
using Lanes = double __attribute__((vector_size(kTogether * sizeof(double))));

/// The same in memory, where the numbers of one body are reached too. Vectors, twists and inertias
/// are arrays of these, aligned as Lanes are.
using Row = double[kTogether];

VMS_PH_INLINED inline Lanes lanes(const double* row) {
  Lanes value;
  std::memcpy(&value, row, sizeof(value));
  return value;
}

VMS_PH_INLINED inline void keep(double* row, const Lanes& value) {
  std::memcpy(row, &value, sizeof(value));
}

VMS_PH_INLINED inline double sum_of(const Lanes& value) {
  return (value[0] + value[1]) + (value[2] + value[3]);
}

struct LaneVector {
  Lanes x, y, z;

  LaneVector() = default;
  VMS_PH_INLINED LaneVector(const Lanes& x_, const Lanes& y_, const Lanes& z_)
      : x(x_), y(y_), z(z_) {}
  VMS_PH_INLINED explicit LaneVector(const Row* rows)
      : x(lanes(rows[0])), y(lanes(rows[1])), z(lanes(rows[2])) {}
  /// The same for all.
  VMS_PH_INLINED explicit LaneVector(const Eigen::Vector3d& v)
      : x(Lanes{} + v.x()), y(Lanes{} + v.y()), z(Lanes{} + v.z()) {}

  VMS_PH_INLINED void keep_in(Row* rows) const {
    keep(rows[0], x);
    keep(rows[1], y);
    keep(rows[2], z);
  }
  VMS_PH_INLINED LaneVector cross(const LaneVector& o) const {
    return {y * o.z - z * o.y, z * o.x - x * o.z, x * o.y - y * o.x};
  }
  VMS_PH_INLINED Lanes dot(const LaneVector& o) const { return x * o.x + y * o.y + z * o.z; }
  VMS_PH_INLINED LaneVector operator+(const LaneVector& o) const {
    return {x + o.x, y + o.y, z + o.z};
  }
  VMS_PH_INLINED LaneVector operator-(const LaneVector& o) const {
    return {x - o.x, y - o.y, z - o.z};
  }
  VMS_PH_INLINED LaneVector operator*(const Lanes& by) const { return {x * by, y * by, z * by}; }
};

/// Three columns of a matrix.
struct LaneMatrix {
  LaneVector a, b, c;

  VMS_PH_INLINED explicit LaneMatrix(const Row* rows) : a(rows), b(rows + 3), c(rows + 6) {}

  VMS_PH_INLINED LaneVector operator*(const LaneVector& v) const {
    return a * v.x + b * v.y + c * v.z;
  }
};

struct LaneScrew {
  LaneVector linear, angular;

  VMS_PH_INLINED LaneScrew(const LaneVector& l, const LaneVector& a) : linear(l), angular(a) {}
  VMS_PH_INLINED explicit LaneScrew(const Row* rows) : linear(rows), angular(rows + 3) {}
  VMS_PH_INLINED explicit LaneScrew(const Screw& s) : linear(s.linear), angular(s.angular) {}

  VMS_PH_INLINED void keep_in(Row* rows) const {
    linear.keep_in(rows);
    angular.keep_in(rows + 3);
  }
  VMS_PH_INLINED Lanes dot(const LaneScrew& o) const {
    return linear.dot(o.linear) + angular.dot(o.angular);
  }
  VMS_PH_INLINED LaneScrew operator+(const LaneScrew& o) const {
    return {linear + o.linear, angular + o.angular};
  }
  VMS_PH_INLINED LaneScrew operator-(const LaneScrew& o) const {
    return {linear - o.linear, angular - o.angular};
  }
  VMS_PH_INLINED LaneScrew operator*(const Lanes& by) const { return {linear * by, angular * by}; }
};

/// The Lie bracket [v, s] of twists, and that of a twist and a wrench or momentum, v x* h.
VMS_PH_INLINED inline LaneScrew bracket(const LaneScrew& v, const LaneScrew& s) {
  return {v.angular.cross(s.linear) + v.linear.cross(s.angular), v.angular.cross(s.angular)};
}
VMS_PH_INLINED inline LaneScrew dual_bracket(const LaneScrew& v, const LaneScrew& h) {
  return {v.angular.cross(h.linear), v.angular.cross(h.angular) + v.linear.cross(h.linear)};
}

/// Inertias about the origin of the root, of ten rows as SpatialInertia has numbers.
struct LaneInertia {
  Lanes mass;
  LaneVector first;
  Lanes xx, xy, xz, yy, yz, zz;

  VMS_PH_INLINED explicit LaneInertia(const Row* rows)
      : mass(lanes(rows[0])),
        first(rows + 1),
        xx(lanes(rows[4])),
        xy(lanes(rows[5])),
        xz(lanes(rows[6])),
        yy(lanes(rows[7])),
        yz(lanes(rows[8])),
        zz(lanes(rows[9])) {}

  /// That of bodies of which the mass, the centre and the inertia about it, six rows in axes of
  /// their own, are given.
  VMS_PH_INLINED LaneInertia(const Lanes& of, const LaneVector& centre, const LaneMatrix& rotation,
                             const Row* about_centre)
      : mass(of), first(centre * of) {
    const Lanes a = lanes(about_centre[0]), b = lanes(about_centre[1]), c = lanes(about_centre[2]),
                d = lanes(about_centre[3]), e = lanes(about_centre[4]), f = lanes(about_centre[5]);
    const LaneVector u = rotation * LaneVector(a, b, c), v = rotation * LaneVector(b, d, e),
                     w = rotation * LaneVector(c, e, f);
    const LaneVector &r = rotation.a, &s = rotation.b, &t = rotation.c;
    const Lanes x = first.x * centre.x, y = first.y * centre.y, z = first.z * centre.z;
    xx = u.x * r.x + v.x * s.x + w.x * t.x + y + z;
    yy = u.y * r.y + v.y * s.y + w.y * t.y + x + z;
    zz = u.z * r.z + v.z * s.z + w.z * t.z + x + y;
    xy = u.x * r.y + v.x * s.y + w.x * t.y - first.x * centre.y;
    xz = u.x * r.z + v.x * s.z + w.x * t.z - first.x * centre.z;
    yz = u.y * r.z + v.y * s.z + w.y * t.z - first.y * centre.z;
  }

  VMS_PH_INLINED void keep_in(Row* rows) const {
    keep(rows[0], mass);
    first.keep_in(rows + 1);
    keep(rows[4], xx);
    keep(rows[5], xy);
    keep(rows[6], xz);
    keep(rows[7], yy);
    keep(rows[8], yz);
    keep(rows[9], zz);
  }
  VMS_PH_INLINED LaneVector turned(const LaneVector& w) const {
    return {xx * w.x + xy * w.y + xz * w.z, xy * w.x + yy * w.y + yz * w.z,
            xz * w.x + yz * w.y + zz * w.z};
  }
  VMS_PH_INLINED LaneScrew operator*(const LaneScrew& twist) const {
    return {twist.linear * mass + twist.angular.cross(first),
            first.cross(twist.linear) + turned(twist.angular)};
  }
};

// Of one body, the `lane`-th of its rows:

VMS_PH_INLINED inline Eigen::Vector3d vector_at(const Row* rows, std::size_t lane) {
  return {rows[0][lane], rows[1][lane], rows[2][lane]};
}

VMS_PH_INLINED inline Eigen::Matrix3d matrix_at(const Row* rows, std::size_t lane) {
  Eigen::Matrix3d m;
  for (int k = 0; k < 9; ++k) m.data()[k] = rows[k][lane];
  return m;
}

VMS_PH_INLINED inline Screw screw_at(const Row* rows, std::size_t lane) {
  return {vector_at(rows, lane), vector_at(rows + 3, lane)};
}

VMS_PH_INLINED inline SpatialInertia inertia_at(const Row* rows, std::size_t lane) {
  Eigen::Matrix<double, 10, 1> numbers;
  for (int k = 0; k < 10; ++k) numbers[k] = rows[k][lane];
  return SpatialInertia(numbers);
}

/// The twist or wrench of six numbers.
template <class Numbers>
VMS_PH_INLINED inline Screw screw_of(const Numbers& six) {
  return {six.template head<3>(), six.template tail<3>()};
}

template <class Vector>
VMS_PH_INLINED inline void put(const Vector& numbers, Row* rows, std::size_t lane) {
  for (Eigen::Index k = 0; k < numbers.size(); ++k) rows[k][lane] = numbers.data()[k];
}

VMS_PH_INLINED inline void put(const Screw& s, Row* rows, std::size_t lane) {
  put(s.linear, rows, lane);
  put(s.angular, rows + 3, lane);
}

}  // namespace vms_ph
