// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The passes along the spanning tree of a mechanism; see mechanism.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/mechanism.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {

namespace rigid {

using se3::skew;
using Twist = vms_ph::Twist;  // or a wrench; linear first

// Products and sums of whole matrices and vectors: every further expression takes compile time.
inline Vector3d linear(const Twist& u) { return u.head<3>(); }
inline Vector3d angular(const Twist& u) { return u.tail<3>(); }
inline Twist make_twist(const Vector3d& v, const Vector3d& w) {
  Twist out;
  out.head<3>() = v;
  out.tail<3>() = w;
  return out;
}

inline Twist read_twist(const double* x) {
  Twist out;
  std::copy_n(x, 6, out.data());
  return out;
}
inline void write_twist(const Twist& u, double* x) { std::copy_n(u.data(), 6, x); }

/// A matrix whose rows are the first three numbers of as many groups.
inline Matrix3d read_rows(const double* x, int stride) {
  Matrix3d out;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) out(i, k) = x[stride * i + k];
  }
  return out;
}
inline void write_rows(const Matrix3d& matrix, double* x, int stride) {
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) x[stride * i + k] = matrix(i, k);
  }
}

struct SE3 {
  Matrix3d R;
  Vector3d p;

  static SE3 from_matrix(const Eigen::Matrix4d& g) {
    return {g.topLeftCorner<3, 3>(), g.topRightCorner<3, 1>()};
  }
  /// From (4,4) row by row.
  static SE3 read(const double* x) { return {read_rows(x, 4), {x[3], x[7], x[11]}}; }
  void write(double* x) const {
    write_rows(R, x, 4);
    for (int i = 0; i < 3; ++i) x[4 * i + 3] = p[i];
  }
  SE3 operator*(const SE3& g) const {
    const Vector3d shifted_origin = R * g.p;
    return {R * g.R, p + shifted_origin};
  }
  SE3 inverse() const {
    const Vector3d rotated_origin = R.transpose() * p;
    return {R.transpose(), -rotated_origin};
  }

  /// Ad_g u.
  Twist act(const Twist& u) const {
    const Vector3d v = R * linear(u), w = R * angular(u);
    return make_twist(v + p.cross(w), w);
  }
  /// Ad_{g^-1} u.
  Twist act_inv(const Twist& u) const {
    const Vector3d w = angular(u), v = linear(u) - p.cross(w);
    return make_twist(R.transpose() * v, R.transpose() * w);
  }
  /// Ad_{g^-1}^T f: a wrench in the frame g, in the outer frame.
  Twist act_dual(const Twist& f) const {
    const Vector3d force = R * linear(f), moment = R * angular(f);
    return make_twist(force, moment + p.cross(force));
  }
};

/// A symmetric matrix from twists to wrenches: [[A, B], [B^T, C]].
struct Inertia {
  Matrix3d A, B, C;

  Twist operator*(const Twist& u) const {
    const Vector3d v = linear(u), w = angular(u);
    const Vector3d force = A * v, coupled_force = B * w;
    const Vector3d moment = C * w, coupled_moment = B.transpose() * v;
    return make_twist(force + coupled_force, moment + coupled_moment);
  }
  /// Add X^T M X with X = Ad_{g^-1}: that of a body whose pose is g.
  void add(const Inertia& M, const SE3& g) {
    const Matrix3d inverse_rotation = g.R.transpose();
    const auto rotate = [&](const Matrix3d& m) -> Matrix3d {
      const Matrix3d left_product = g.R * m;
      return left_product * inverse_rotation;
    };
    const Matrix3d a = rotate(M.A), b = rotate(M.B), hat = skew(g.p);
    const Matrix3d b_shift = a * hat;
    const Matrix3d shifted_b = b - b_shift;
    const Matrix3d hat_shifted_b = hat * shifted_b;
    const Matrix3d hat_b = hat * b;  // minus the transpose of b^T hat
    A += a;
    B += shifted_b;
    C += rotate(M.C);
    C += hat_shifted_b + hat_b.transpose();
  }
};

/// ad_x y, the commutator of two twists.
inline Twist commutator(const Twist& x, const Twist& y) {
  const Vector3d w_x = angular(x), w_y = angular(y);
  return make_twist(w_x.cross(linear(y)) + linear(x).cross(w_y), w_x.cross(w_y));
}

/// The Cayley step g cay(u).
inline SE3 cayley_step(const SE3& g, const Twist& u) {
  const Vector3d v = linear(u), w = angular(u);
  const double scale = 1.0 / (1.0 + 0.25 * w.squaredNorm());
  const Matrix3d hat = skew(w);
  const Matrix3d hat_squared = hat * hat;
  const Matrix3d rotation_step = scale * hat + (0.5 * scale) * hat_squared;
  const Vector3d translation_step = scale * v + (0.5 * scale) * w.cross(v);
  const Matrix3d rotation_change = g.R * rotation_step;
  const Vector3d translation = g.R * translation_step;
  return {g.R + rotation_change, g.p + translation};
}

/// The rate of a Cayley step theta at whose end the twist is u.
inline Twist step_rate(const Twist& theta, const Twist& u) {
  const Vector3d v = linear(theta), w = angular(theta);
  const double angular_factor = 0.25 * w.dot(angular(u));
  const double linear_factor = 0.25 * (w.dot(linear(u)) + v.dot(angular(u)));
  Twist out = u + 0.5 * commutator(theta, u);
  out += make_twist(linear_factor * w + angular_factor * v, angular_factor * w);
  return out;
}

/// The u with g = cay(u).
inline Twist cayley_inverse(const SE3& g) {
  const Vector3d axis(g.R(2, 1) - g.R(1, 2), g.R(0, 2) - g.R(2, 0), g.R(1, 0) - g.R(0, 1));
  const Vector3d w = (2.0 / (1.0 + g.R.trace())) * axis;
  Vector3d v = g.p - 0.5 * w.cross(g.p);
  v += (0.25 * w.dot(g.p)) * w;
  return make_twist(v, w);
}

/// A rotation without the rounding errors of products, by one Newton step.
inline Matrix3d orthonormal(const Matrix3d& R) {
  const Matrix3d square = R.transpose() * R;
  const Matrix3d product = R * square;
  return 1.5 * R - 0.5 * product;
}

}  // namespace rigid

/// The velocity of a body for its momentum, and the momentum for a velocity.
inline rigid::Twist velocity_of(const MechanismBody& body, const rigid::Twist& momentum) {
  return rigid::make_twist((1.0 / body.mass) * rigid::linear(momentum),
                           body.inverse_inertia * rigid::angular(momentum));
}
inline rigid::Twist momentum_of(const MechanismBody& body, const rigid::Twist& velocity) {
  return rigid::make_twist(body.mass * rigid::linear(velocity),
                           body.inertia * rigid::angular(velocity));
}

/// A row of a matrix of six columns.
template <class Matrix>
rigid::Twist row_of(const Matrix& matrix, int k) {
  return matrix.row(k).transpose();
}

/// Write `matrix x` of few rows and columns, for which a call takes longer than the product.
template <class Matrix>
void apply(const Matrix& matrix, const double* x, double* result) {
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    double sum = 0.0;
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) sum += matrix(i, k) * x[k];
    result[i] = sum;
  }
}

/// Whether the position of a joint is a matrix, as of a planar or spherical one, and its pose then.
inline bool has_matrix_position(const MechanismJoint& joint) {
  return joint.kind == JointKind::planar || joint.kind == JointKind::spherical;
}
rigid::SE3 relative_pose(const MechanismJoint& joint, const double* q);

/// One linear system at a configuration: momenta that change by forces f and joint forces tau,
/// with M a = f + S^T tau + G^T kappa and G a + bias = 0 for the accelerations a.
class MechanismTree {
 public:
  using Twist = rigid::Twist;
  using JointMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3>;
  using JointVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1>;

  struct Body {
    Twist momentum, velocity;
    Twist force, acceleration;  // f, consumed by a pass, and a
    int joint = -1;             // to the parent
    rigid::Inertia articulated_inertia;
    Eigen::Matrix<double, 6, 6> mobility;  // the inverse for a body without parent
  };
  struct Joint {
    bool is_loop = false, is_reversed = false;  // reversed: the child is the first body
    int parent = -1, child = -1, row = 0;       // bodies; first row of a loop
    rigid::SE3 offset_1, offset_2, joint_pose;
    rigid::SE3 first_to_joint;                        // offset_1 times the inclusion
    rigid::SE3 child_pose;                            // in the parent
    Twist axes[3], articulated_axes[3];               // columns of S in the child, and of U = M S
    JointMatrix inverse_inertia;                      // of D = S^T U
    Twist first_twist;                                // Ad u_j1, in frame C2
    Twist bias;                                       // in frame C2
    Twist child_bias;                                 // the bias in the child
    JointVector rate, force, residual, acceleration;  // residual: force on a resting child
  };

  explicit MechanismTree(const MechanismParts& parts);

  /// Read momenta and joint positions; the velocities and the joint poses follow.
  void set_configuration(const double* x);
  /// The velocities of the joints, with those of rotors as they are stored.
  void find_rates(const double* x);
  void factorise();
  /// Solve for accelerations; forces, joint forces and biases are set, and the forces are consumed.
  void solve();

  /// The twist of a body, zero for the ground.
  Twist velocity(int body) const {
    return body < 0 ? Twist(Twist::Zero()) : bodies[static_cast<std::size_t>(body)].velocity;
  }
  /// By how much a joint is open where the bodies stand at a state, in frame C2.
  Twist opening(std::size_t joint, const double* x) const;

  int rows() const { return static_cast<int>(row_body_accelerations_.size()); }
  void set_rank(int rank) { rank_ = rank; }
  const Eigen::VectorXd& loop_spectrum() const { return loop_spectrum_; }

  std::vector<Body> bodies;
  std::vector<Joint> joints;

 private:
  void build_tree();
  void factorise_loops();
  void solve_tree();
  Twist relative_acceleration(std::size_t joint) const;
  Twist acceleration(int body) const {
    return body < 0 ? Twist(Twist::Zero()) : bodies[static_cast<std::size_t>(body)].acceleration;
  }

  const MechanismParts& parts_;
  std::vector<int> body_order_;  // of bodies, parents first
  // Accelerations of all bodies, per row of loops, and of all joints.
  std::vector<std::vector<Twist>> row_body_accelerations_;
  std::vector<std::vector<JointVector>> row_joint_accelerations_;
  Eigen::MatrixXd delassus_;
  SymmetricEigen eigen_;
  Eigen::VectorXd row_scales_, right_side_, loop_spectrum_;
  int rank_ = 0;
};

}  // namespace vms_ph
