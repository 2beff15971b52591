// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Twists, wrenches and inertias of one body, and of several at once.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#include <Eigen/Core>
#include <Eigen/Geometry>

// VMS_PH_FMA: functions that are compiled twice, for every machine, and for those with fused
// multiplication and addition. The loader chooses once.
// Only instructions differ, neither types nor their alignment, so that both fit the prebuilt
// Pinocchio. What these call, lambdas too, is compiled for every machine unless inlined.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define VMS_PH_FMA __attribute__((target_clones("fma", "default")))
#else
#define VMS_PH_FMA
#endif

// Small functions that the others call in their loops: compiled for the machine of their caller.
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define VMS_PH_INLINED __attribute__((always_inline))
#else
#define VMS_PH_INLINED
#endif

namespace vms_ph {

/// A twist or a wrench, linear part first.
struct Screw {
  Eigen::Vector3d linear = Eigen::Vector3d::Zero(), angular = Eigen::Vector3d::Zero();

  Screw& operator+=(const Screw& other) {
    linear += other.linear;
    angular += other.angular;
    return *this;
  }
  Screw operator-(const Screw& other) const {
    return {linear - other.linear, angular - other.angular};
  }
  double dot(const Screw& other) const {
    return linear.dot(other.linear) + angular.dot(other.angular);
  }
};

/// Three numbers of an array as a vector.
inline Eigen::Map<Eigen::Vector3d> vector3(double* x) { return Eigen::Map<Eigen::Vector3d>(x); }

/// The Lie bracket [v, s] of two twists.
VMS_PH_INLINED inline Screw bracket(const Screw& v, const Screw& s) {
  return {v.angular.cross(s.linear) + v.linear.cross(s.angular), v.angular.cross(s.angular)};
}

/// The transpose of the bracket [v, .], of a wrench or momentum h: `h . [v, s] = s . result`.
VMS_PH_INLINED inline Screw bracket_transpose(const Screw& v, const Screw& h) {
  return {h.linear.cross(v.angular), h.linear.cross(v.linear) + h.angular.cross(v.angular)};
}

/// The inertia of a body, or of many, about the origin of the root of the tree, in its axes.
struct SpatialInertia {
  double mass = 0.0;
  Eigen::Vector3d mc = Eigen::Vector3d::Zero();          ///< mass times centre of mass, kg m
  Eigen::Matrix3d rotational = Eigen::Matrix3d::Zero();  ///< about that origin, kg m^2

  SpatialInertia() = default;
  /// Take mass, mc, xx, xy, xz, yy, yz and zz.
  explicit SpatialInertia(const Eigen::Matrix<double, 10, 1>& numbers)
      : mass(numbers[0]), mc(numbers.segment<3>(1)) {
    rotational << numbers[4], numbers[5], numbers[6], numbers[5], numbers[7], numbers[8],
        numbers[6], numbers[8], numbers[9];
  }

  VMS_PH_INLINED Screw operator*(const Screw& twist) const {
    return {mass * twist.linear + twist.angular.cross(mc),
            mc.cross(twist.linear) + rotational * twist.angular};
  }
};

/// Numbers in a vector register; as many bodies form a group.
constexpr std::size_t kLaneCount = 4;

/// A count, rounded up to full groups.
template <class Count>
constexpr Count padded(Count count) {
  constexpr auto kGroup = static_cast<Count>(kLaneCount);
  return (count + kGroup - 1) / kGroup * kGroup;
}

/// Largest angle, rad, of which the whole turns are subtracted without a loss of digits.
constexpr double kLargestAngle = 1e5;

/// Sines and cosines of `count` angles, a multiple of kLaneCount, to two units in the last place.
///
/// The C library, slower, gets angles that are larger than kLargestAngle or not finite.
inline void sines_and_cosines(const double* angles, std::size_t count, double* sines,
                              double* cosines) noexcept {
  // A quarter turn in three parts, of which multiples by less than 2^20 are exact but for the last.
  constexpr double kQuartersPerRadian = 0.63661977236758134308;
  constexpr double kHigh = 1.57079632673412561417, kMiddle = 6.07710050630396597660e-11,
                   kLow = 2.02226624879595063154e-21;
  constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: a sum with it has no fraction
  bool are_small = true;
  for (std::size_t i = 0; i < count; ++i) are_small &= std::abs(angles[i]) <= kLargestAngle;
  if (!are_small) {
    for (std::size_t i = 0; i < count; ++i) {
      sines[i] = std::sin(angles[i]);
      cosines[i] = std::cos(angles[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double x = angles[i];
    const double quarters = (x * kQuartersPerRadian + kRounder) - kRounder;
    const double r = ((x - quarters * kHigh) - quarters * kMiddle) - quarters * kLow, z = r * r;
    // The polynomials of Cephes for an eighth of a turn to both sides.
    const double sine =
        r +
        r * z *
            (-1.66666666666666307295e-1 +
             z * (8.33333333332211858878e-3 +
                  z * (-1.98412698295895385996e-4 +
                       z * (2.75573136213857245213e-6 +
                            z * (-2.50507477628578072866e-8 + z * 1.58962301576546568060e-10)))));
    const double cosine =
        1.0 - 0.5 * z +
        z * z *
            (4.16666666666665929218e-2 +
             z * (-1.38888888888730564116e-3 +
                  z * (2.48015872888517045348e-5 +
                       z * (-2.75573141792967388112e-7 +
                            z * (2.08757008419747316778e-9 - z * 1.13585365213876817300e-11)))));
    // Quarter turns modulo four in floating point: machines compare these faster than integers.
    const double turns = (0.25 * quarters + kRounder) - kRounder;
    const double quadrant = quarters - 4.0 * turns;  // -2, -1, 0, 1 or 2
    const bool is_odd = std::abs(quadrant) == 1.0;
    const double s = is_odd ? cosine : sine, c = is_odd ? sine : cosine;
    sines[i] = (quadrant == -1.0 || std::abs(quadrant) == 2.0) ? -s : s;
    cosines[i] = (quadrant == 1.0 || std::abs(quadrant) == 2.0) ? -c : c;
  }
}

// All functions are compiled into their callers: no such value is passed or returned in registers
// that only some machines have.

/// A number of each of kLaneCount bodies, each of which has a lane.
using Lanes = double __attribute__((vector_size(kLaneCount * sizeof(double))));

/// The same in memory, where the number of a single body can be reached. Vectors, twists and
/// inertias are arrays of these, aligned as Lanes are.
using LaneRow = double[kLaneCount];

VMS_PH_INLINED inline Lanes load(const double* row) {
  Lanes value;
  std::memcpy(&value, row, sizeof(value));
  return value;
}

VMS_PH_INLINED inline void store(double* row, const Lanes& value) {
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
  VMS_PH_INLINED explicit LaneVector(const LaneRow* rows)
      : x(load(rows[0])), y(load(rows[1])), z(load(rows[2])) {}
  /// The same vector for all bodies.
  VMS_PH_INLINED explicit LaneVector(const Eigen::Vector3d& v)
      : x(Lanes{} + v.x()), y(Lanes{} + v.y()), z(Lanes{} + v.z()) {}

  VMS_PH_INLINED void store_in(LaneRow* rows) const {
    store(rows[0], x);
    store(rows[1], y);
    store(rows[2], z);
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
  VMS_PH_INLINED LaneVector operator*(const Lanes& c) const { return {x * c, y * c, z * c}; }
};

/// The three columns of a matrix.
struct LaneMatrix {
  LaneVector a, b, c;

  VMS_PH_INLINED explicit LaneMatrix(const LaneRow* rows) : a(rows), b(rows + 3), c(rows + 6) {}

  VMS_PH_INLINED LaneVector operator*(const LaneVector& v) const {
    return a * v.x + b * v.y + c * v.z;
  }
};

struct LaneScrew {
  LaneVector linear, angular;

  VMS_PH_INLINED LaneScrew(const LaneVector& l, const LaneVector& a) : linear(l), angular(a) {}
  VMS_PH_INLINED explicit LaneScrew(const LaneRow* rows) : linear(rows), angular(rows + 3) {}
  VMS_PH_INLINED explicit LaneScrew(const Screw& s) : linear(s.linear), angular(s.angular) {}

  VMS_PH_INLINED void store_in(LaneRow* rows) const {
    linear.store_in(rows);
    angular.store_in(rows + 3);
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
  VMS_PH_INLINED LaneScrew operator*(const Lanes& c) const { return {linear * c, angular * c}; }
};

/// The Lie bracket [v, s] of twists, and that of a twist and a wrench or momentum, v x* h.
VMS_PH_INLINED inline LaneScrew bracket(const LaneScrew& v, const LaneScrew& s) {
  return {v.angular.cross(s.linear) + v.linear.cross(s.angular), v.angular.cross(s.angular)};
}
VMS_PH_INLINED inline LaneScrew dual_bracket(const LaneScrew& v, const LaneScrew& h) {
  return {v.angular.cross(h.linear), v.angular.cross(h.angular) + v.linear.cross(h.linear)};
}

/// The products of (6,6) matrices, of 36 rows column by column, and twists.
VMS_PH_INLINED inline LaneScrew matrix_product(const LaneRow* matrix, const LaneScrew& twist) {
  const LaneVector &v = twist.linear, &w = twist.angular;
  return LaneScrew(matrix) * v.x + LaneScrew(matrix + 6) * v.y + LaneScrew(matrix + 12) * v.z +
         LaneScrew(matrix + 18) * w.x + LaneScrew(matrix + 24) * w.y + LaneScrew(matrix + 30) * w.z;
}

/// Inertias about the origin of the root, in memory ten rows in the order of SpatialInertia; in a
/// fluid with added masses, which are of no rigid bodies.
struct LaneInertia {
  Lanes mass;
  LaneVector mc;
  Lanes xx, xy, xz, yy, yz, zz;
  const LaneRow* added_mass = nullptr;  ///< 36 rows, or null for none

  VMS_PH_INLINED explicit LaneInertia(const LaneRow* rows, const LaneRow* added_mass_ = nullptr)
      : mass(load(rows[0])),
        mc(rows + 1),
        xx(load(rows[4])),
        xy(load(rows[5])),
        xz(load(rows[6])),
        yy(load(rows[7])),
        yz(load(rows[8])),
        zz(load(rows[9])),
        added_mass(added_mass_) {}

  /// From mass, centre of mass and the inertia about it, six rows in the bodies' own axes.
  VMS_PH_INLINED LaneInertia(const Lanes& mass_, const LaneVector& centre,
                             const LaneMatrix& rotation, const LaneRow* about_centre)
      : mass(mass_), mc(centre * mass_) {
    const Lanes ixx = load(about_centre[0]), ixy = load(about_centre[1]),
                ixz = load(about_centre[2]), iyy = load(about_centre[3]),
                iyz = load(about_centre[4]), izz = load(about_centre[5]);
    // Columns of the rotation times the inertia, and of the rotation.
    const LaneVector u = rotation * LaneVector(ixx, ixy, ixz),
                     v = rotation * LaneVector(ixy, iyy, iyz),
                     w = rotation * LaneVector(ixz, iyz, izz);
    const LaneVector &r = rotation.a, &s = rotation.b, &t = rotation.c;
    const Lanes x = mc.x * centre.x, y = mc.y * centre.y, z = mc.z * centre.z;
    xx = u.x * r.x + v.x * s.x + w.x * t.x + y + z;
    yy = u.y * r.y + v.y * s.y + w.y * t.y + x + z;
    zz = u.z * r.z + v.z * s.z + w.z * t.z + x + y;
    xy = u.x * r.y + v.x * s.y + w.x * t.y - mc.x * centre.y;
    xz = u.x * r.z + v.x * s.z + w.x * t.z - mc.x * centre.z;
    yz = u.y * r.z + v.y * s.z + w.y * t.z - mc.y * centre.z;
  }

  VMS_PH_INLINED void store_in(LaneRow* rows) const {
    store(rows[0], mass);
    mc.store_in(rows + 1);
    store(rows[4], xx);
    store(rows[5], xy);
    store(rows[6], xz);
    store(rows[7], yy);
    store(rows[8], yz);
    store(rows[9], zz);
  }
  VMS_PH_INLINED LaneScrew operator*(const LaneScrew& twist) const {
    const LaneVector& w = twist.angular;
    const LaneVector rotational(xx * w.x + xy * w.y + xz * w.z, xy * w.x + yy * w.y + yz * w.z,
                                xz * w.x + yz * w.y + zz * w.z);
    const LaneScrew momentum(twist.linear * mass + w.cross(mc),
                             mc.cross(twist.linear) + rotational);
    if (added_mass == nullptr) return momentum;
    return momentum + matrix_product(added_mass, twist);
  }
};

// The values of a single body, in the lane-th entry of each row:

VMS_PH_INLINED inline Eigen::Vector3d vector_at(const LaneRow* rows, std::size_t lane) {
  return {rows[0][lane], rows[1][lane], rows[2][lane]};
}

VMS_PH_INLINED inline Eigen::Matrix3d matrix_at(const LaneRow* rows, std::size_t lane) {
  Eigen::Matrix3d m;
  for (int k = 0; k < 9; ++k) m.data()[k] = rows[k][lane];
  return m;
}

VMS_PH_INLINED inline Screw screw_at(const LaneRow* rows, std::size_t lane) {
  return {vector_at(rows, lane), vector_at(rows + 3, lane)};
}

VMS_PH_INLINED inline SpatialInertia inertia_at(const LaneRow* rows, std::size_t lane) {
  Eigen::Matrix<double, 10, 1> numbers;
  for (int k = 0; k < 10; ++k) numbers[k] = rows[k][lane];
  return SpatialInertia(numbers);
}

/// The six numbers of a twist or wrench, and back.
VMS_PH_INLINED inline Eigen::Matrix<double, 6, 1> numbers_of(const Screw& s) {
  Eigen::Matrix<double, 6, 1> numbers;
  numbers << s.linear, s.angular;
  return numbers;
}
template <class Numbers>
VMS_PH_INLINED inline Screw screw_of(const Numbers& vector) {
  return {vector.template head<3>(), vector.template tail<3>()};
}

template <class Vector>
VMS_PH_INLINED inline void set_lane(const Vector& numbers, LaneRow* rows, std::size_t lane) {
  for (Eigen::Index k = 0; k < numbers.size(); ++k) rows[k][lane] = numbers.data()[k];
}

VMS_PH_INLINED inline void set_lane(const Screw& s, LaneRow* rows, std::size_t lane) {
  set_lane(s.linear, rows, lane);
  set_lane(s.angular, rows + 3, lane);
}

}  // namespace vms_ph
