// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The passes along the spanning tree of a mechanism; see mechanism.hpp.
#pragma once

#include <vector>

#include <Eigen/Core>

#include "rigid_motion.hpp"
#include "vms_ph_native/mechanism.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {

/// The velocity of a body for its momentum, and the momentum for a velocity.
inline rigid::Twist velocity_of(const MechanismBody& body, const rigid::Twist& momentum) {
  return rigid::joined((1.0 / body.mass) * rigid::linear(momentum),
                       body.inverse * rigid::angular(momentum));
}
inline rigid::Twist momentum_of(const MechanismBody& body, const rigid::Twist& velocity) {
  return rigid::joined(body.mass * rigid::linear(velocity),
                       body.inertia * rigid::angular(velocity));
}

/// A row of a matrix of six columns.
template <class Matrix>
rigid::Twist row_of(const Matrix& matrix, int k) {
  rigid::Twist out;
  for (int i = 0; i < 6; ++i) out[i] = matrix(k, i);
  return out;
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

/// One linear system at a configuration: momenta that change by forces f and joint forces tau,
/// with M a = f + S^T tau + G^T kappa and G a + bias = 0 for the accelerations a.
class MechanismTree {
 public:
  using Twist = rigid::Twist;
  using Freedoms = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3>;
  using Rates = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1>;

  struct Body {
    Twist momentum, velocity;
    Twist force, acceleration;  // f, consumed by a pass, and a
    int joint = -1;             // to the parent
    rigid::Inertia articulated;
    Eigen::Matrix<double, 6, 6> mobility;  // the inverse for a body without parent
  };
  struct Joint {
    bool is_loop = false, is_reversed = false;  // reversed: the child is the first body
    int parent = -1, child = -1, row = 0;
    rigid::Motion offset_1, offset_2, inclusion;
    rigid::Motion first_to_joint;        // offset_1 times the inclusion
    rigid::Motion child_pose;            // in the parent
    Twist axes[3], articulated_axes[3];  // columns of S in the child, and of U = M S
    Freedoms inverse;                    // of D = S^T U
    Twist transported;                   // Ad u_j1, in frame C2
    Twist bias;                          // in frame C2
    Twist carried;                       // the bias in the child
    Rates rate, force, remaining, acceleration;
  };

  explicit MechanismTree(const MechanismParts& parts);

  /// Read momenta and joint positions; the velocities and the joint poses follow.
  void set_configuration(const double* x);
  /// The velocities of the joints, with those of rotors as they are stored.
  void find_rates(const double* x);
  void factorise();
  /// Solve for accelerations; forces, joint forces and biases are set, and the forces are consumed.
  void solve();

  int rows() const { return static_cast<int>(row_accelerations_.size()); }
  void set_rank(int rank) { rank_ = rank; }
  const Eigen::VectorXd& values() const { return values_; }

  std::vector<Body> bodies;
  std::vector<Joint> joints;

 private:
  void span();
  void factorise_loops();
  void pass();
  Twist relative(const Joint& joint, const Twist& first, const Twist& second) const;
  Twist acceleration(int body) const;

  const MechanismParts& parts_;
  std::vector<int> order_;  // of bodies, parents first
  std::vector<std::vector<Twist>>
      row_accelerations_;                      // accelerations of all bodies, per row of loops
  std::vector<std::vector<Rates>> row_rates_;  // and of all joints
  Eigen::MatrixXd delassus_;
  SymmetricEigen eigen_;
  Eigen::VectorXd scale_, right_, values_;
  int rank_ = 0;
};

}  // namespace vms_ph
