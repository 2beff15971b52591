// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/pose_effort.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// Least eigenvalue of the task mobility, 1/kg or 1/(kg m^2): it bounds the task inertia near
// singularities, and leaves it as it is elsewhere.
constexpr double kLeastMobility = 1e-4;

// Added to the eigenvalues of the task mobility: it bounds the inertia of a stretched arm.
constexpr double kRegularisation = 1e-6;

// Smallest singular value of the Jacobian below which the directions that are being lost fade from
// the task inertia into the null space, and the mobility to which they do, of the mean one.
constexpr double kFadingThreshold = 0.1, kFadedShare = 0.05;

/// The part along inertial axes, in the axes of the reference.
Eigen::Matrix3d inertial_part(const Eigen::Vector3d& diagonal, double reference_share,
                              const Eigen::Matrix3d& axes) noexcept {
  Eigen::Matrix3d scaled_axes = diagonal.asDiagonal();
  // The same along all axes.
  if (diagonal[0] == diagonal[1] && diagonal[1] == diagonal[2])
    return (1.0 - reference_share) * scaled_axes;
  for (int k = 0; k < 3; ++k) scaled_axes.row(k) = diagonal[k] * axes.row(k);
  return (1.0 - reference_share) * product<Eigen::Matrix3d>(transposed(axes), scaled_axes);
}

/// basis^T matrix basis.
Eigen::Matrix3d change_basis(const Eigen::Matrix3d& matrix, const Eigen::Matrix3d& basis) noexcept {
  return product<Eigen::Matrix3d>(transposed(basis), product<Eigen::Matrix3d>(matrix, basis));
}

Eigen::Matrix3d in_reference_axes(const Eigen::Vector3d& diagonal, double reference_share,
                                  const Eigen::Matrix3d& axes) noexcept {
  Eigen::Matrix3d matrix = inertial_part(diagonal, reference_share, axes);
  matrix.diagonal() += reference_share * diagonal;
  return matrix;
}

}  // namespace

double smallest_singular_value(const Matrix6V& jacobian, MatrixV& gram,
                               SymmetricEigen& eigen) noexcept {
  // Of the fewer of rows and columns.
  if (jacobian.cols() < 6) {
    multiply(transposed(jacobian), jacobian, gram);
  } else {
    multiply(jacobian, transposed(jacobian), gram);
  }
  return std::sqrt(std::max(eigen.least_eigenvalue(gram), 0.0));
}

PoseMotion::PoseMotion(const Model& model)
    : inertia(Matrix6::Zero()), nv_(model.nv()), eigen_(std::min(6, nv_)), mobility_eigen_(6) {
  J = J_rate = Matrix6V::Zero(6, nv_);
  null_inertia = MatrixV::Zero(nv_, nv_);
  twist = task_decoupling = Vector6::Zero();
  null_decoupling = VectorV::Zero(nv_);
  mass_inverse_jt_.setZero(nv_, 6);
}

void PoseMotion::compute(Evaluation& d, pinocchio::FrameIndex frame) noexcept {
  J = d.frame_jacobian(frame, pinocchio::LOCAL);
  J_rate = d.frame_jacobian_rate(frame, pinocchio::LOCAL);
  multiply(J, d.v(), twist);
  mass_inverse_jt_ = J.transpose();
  Cholesky(d.M()).solve_columns(mass_inverse_jt_);
  multiply(J, mass_inverse_jt_, mobility_);
  invert_mobility();
  smallest_singular_value = vms_ph::smallest_singular_value(J, scratch_, eigen_);

  // Pi = 1 - M^-1 J^T Lambda J; where Lambda is bounded it is no exact projector.
  const auto mobility_inertia = product<Matrix6>(mobility_, inertia);
  Matrix6 projected_inertia = 2.0 * inertia;
  add_product(inertia, mobility_inertia, projected_inertia, -1.0);
  const auto momentum_map = product<Matrix6V>(projected_inertia, J);
  null_inertia = d.M();
  add_product(transposed(J), momentum_map, null_inertia, -1.0);

  const auto momentum = product<Vector6>(inertia, twist);
  multiply(mass_inverse_jt_, momentum, task_velocity_);
  null_velocity_ = d.v() - task_velocity_;
  multiply(d.C(), null_velocity_, coriolis_force_);
  auto null_acceleration = product<Vector6>(J_rate, null_velocity_);
  add_product(transposed(mass_inverse_jt_), coriolis_force_, null_acceleration, -1.0);
  task_decoupling.setZero();
  add_product(inertia, null_acceleration, task_decoupling, -1.0);
  multiply(transposed(J_rate), momentum, null_decoupling);
  add_product(transposed(d.C()), task_velocity_, null_decoupling, -1.0);
  const auto task_acceleration = product<Vector6>(transposed(mass_inverse_jt_), null_decoupling);
  const auto null_force = product<Vector6>(inertia, task_acceleration);
  add_product(transposed(J), null_force, null_decoupling, -1.0);
}

/// Invert the mobility, of which the least eigenvalue is bounded.
void PoseMotion::invert_mobility() noexcept {
  scratch_ = mobility_;
  for (Eigen::Index k = 0; k < 6; ++k) scratch_(k, k) -= kLeastMobility;
  if (Cholesky(scratch_).is_positive()) {  // no eigenvalue is at the bound: the usual case
    scratch_.setIdentity();
    Cholesky(mobility_).solve_columns(scratch_);
    inertia = scratch_;
    return;
  }
  mobility_eigen_.compute(mobility_);
  const Matrix6 vectors = mobility_eigen_.vectors();
  Matrix6 scaled_vectors = vectors;
  for (Eigen::Index k = 0; k < 6; ++k) {
    scaled_vectors.col(k) /= std::max(mobility_eigen_.values()[k], kLeastMobility);
  }
  multiply(scaled_vectors, transposed(vectors), inertia);
}

PoseEffort::PoseEffort(const Model& model, Eigen::Index velocity_dimension)
    : extra_force(VectorV::Zero(model.nv())),
      extra_stiffness(MatrixV::Zero(model.nv(), model.nv())),
      extra_damping(extra_stiffness),
      impedance(model, velocity_dimension) {
  continuous_effort = sampled_effort = posture_effort = extra_force;
  reference_twist_ = spring_wrench_ = feedforward_ = Twist::Zero();
  stiffness_ = damping_ = Matrix6::Zero();
}

void PoseEffort::set_springs(Evaluation& d, double energy, const ConstVector& force,
                             const ConstVector& stiffness, const LimitSprings& limits,
                             double attitude_damping) noexcept {
  const int b = d.model().b();
  extra_stiffness.setZero();
  extra_energy = energy + limits.energy;
  extra_force << force, limits.force;
  extra_stiffness.diagonal() << stiffness, limits.stiffness;
  const MatrixV& mass = d.M();
  const int angular_index = b == 6 ? 3 : 2;  // the first velocity that turns the base
  for (Eigen::Index j = angular_index; j < b; ++j) {
    for (Eigen::Index i = angular_index; i < b; ++i)
      extra_damping(i, j) += attitude_damping * mass(i, j);
  }
}

PoseEffort::Springs PoseEffort::springs(const AxisGains& gains, Matrix6& stiffness) const noexcept {
  const Eigen::Vector3d k = gains.stiffness.head<3>(), k_angular = gains.stiffness.tail<3>();
  const Eigen::Matrix3d rotation = error_.topLeftCorner<3, 3>();
  const Eigen::Matrix3d linear_k = in_reference_axes(k, gains.reference_share, axes_);
  const Eigen::Matrix3d angular_k = in_reference_axes(k_angular, gains.reference_share, axes_);
  SpringEnergy position_spring = potential_.position_spring(error_, linear_k);
  SpringEnergy attitude_spring = potential_.attitude_spring(angular_k);
  const Eigen::Array2d max_k(k.maxCoeff(), k_angular.maxCoeff());
  const double force_share = position_spring.limit_force(gains.inverse_limits[0], max_k[0]);
  const double moment_share = attitude_spring.limit_force(gains.inverse_limits[1], max_k[1]);
  stiffness.setZero();
  stiffness.topLeftCorner<3, 3>() = force_share * change_basis(linear_k, rotation);
  stiffness.bottomRightCorner<3, 3>() = moment_share * potential_.hessian_bound(angular_k);
  const Eigen::Array2d energies(position_spring.energy, attitude_spring.energy);
  Springs springs{energies.sum(), Twist::Zero(), (2.0 * max_k * energies).sqrt(), 0.0};
  springs.gradient << position_spring.gradient, attitude_spring.gradient;
  if (gains.reference_share < 1.0) {
    const Eigen::Vector3d e = error_.topRightCorner<3, 1>();
    const auto force = product<Eigen::Vector3d>(inertial_part(k, gains.reference_share, axes_), e);
    const double moment_power =
        potential_.rotation_power(inertial_part(k_angular, gains.reference_share, axes_), omega_);
    springs.turning_power = force_share * force.dot(omega_.cross(e)) + moment_share * moment_power;
  }
  return springs;
}

double PoseEffort::energy(const AxisGains& axis_gains) noexcept {
  return springs(axis_gains, scratch_).energy;
}

void PoseEffort::hold_posture(const MatrixV6& mass_inverse_jt, const Matrix6V& momentum_map,
                              const VectorV& posture_error, const VectorV& stiffness) noexcept {
  const Eigen::Index size = mass_inverse_jt.rows(), n = stiffness.size();
  // N = 1 - M^-1 J^T Lambda J leaves the acceleration of the end effector as it is. On a moving
  // base both sides are projected; see pose_effort in Python.
  null_projector_.setIdentity(size, size);
  add_product(mass_inverse_jt, momentum_map, null_projector_, -1.0);
  const MatrixView joint_rows = MatrixView(null_projector_).bottom_rows(n);
  VectorV spring_force = posture_error;
  if (size > n) multiply(joint_rows.right_columns(n), posture_error, spring_force);
  spring_force = -stiffness.cwiseProduct(spring_force).eval();
  multiply(transposed(joint_rows), spring_force, posture_effort);
  extra_force -= posture_effort;
  null_stiffness_ = null_projector_.bottomRows(n);
  for (Eigen::Index k = 0; k < n; ++k) null_stiffness_.row(k) *= stiffness[k];
  add_product(transposed(joint_rows), null_stiffness_, extra_stiffness);
}

void PoseEffort::set_error(const Pose& error, const Pose& reference, const Twist& twist,
                           const AxisGains& axis_gains, double h) noexcept {
  potential_.set_error(error);
  error_ = error;
  axes_ = reference.topLeftCorner<3, 3>();
  omega_ = twist.tail<3>();
  reference_twist_ = se3::Ad(se3::inverse(error)) * twist;
  const Springs current_springs = springs(axis_gains, stiffness_);
  spring_wrench_ = current_springs.gradient;
  turning_power_ = current_springs.turning_power;
  potential_energy = current_springs.energy;
  limit_demand = current_springs.limit_demand;
  const Eigen::Matrix3d rotation = error.topLeftCorner<3, 3>();
  const Eigen::Vector3d linear_damping = axis_gains.damping.head<3>(),
                        angular_damping = axis_gains.damping.tail<3>();
  damping_.setZero();
  damping_.topLeftCorner<3, 3>() =
      change_basis(in_reference_axes(linear_damping, axis_gains.reference_share, axes_), rotation);
  damping_.bottomRightCorner<3, 3>() =
      change_basis(in_reference_axes(angular_damping, axis_gains.reference_share, axes_), rotation);
  feedforward_.setZero();
  add_product(stiffness_, reference_twist_, feedforward_, h);
  distance = error.topRightCorner<3, 1>().norm();
}

void PoseEffort::replace_by_damper(const Eigen::Vector3d& direction, double damping,
                                   double h) noexcept {
  const Eigen::Vector3d spring_force = spring_wrench_.head<3>();
  spring_wrench_.head<3>() -= direction.dot(spring_force) * direction;
  const Eigen::Matrix3d lateral_projector =
      Eigen::Matrix3d::Identity() - product<Eigen::Matrix3d>(direction, transposed(direction));
  for (Matrix6* matrix : {&stiffness_, &damping_}) {
    const Eigen::Matrix3d linear_block = matrix->topLeftCorner<3, 3>();
    matrix->topLeftCorner<3, 3>() = change_basis(linear_block, lateral_projector);
  }
  add_product(direction, transposed(direction), damping_.topLeftCorner<3, 3>(), damping);
  feedforward_.setZero();
  add_product(stiffness_, reference_twist_, feedforward_, h);
}

void PoseEffort::compute(const MatrixV& mass, const Matrix6V& J, const VectorV& v,
                         double h) noexcept {
  auto weighted_jacobian = product<Matrix6V>(damping_, J);
  total_damping_ = extra_damping;
  add_product(transposed(J), weighted_jacobian, total_damping_);
  multiply(stiffness_, J, weighted_jacobian);
  total_stiffness_ = extra_stiffness;
  add_product(transposed(J), weighted_jacobian, total_stiffness_);
  const Twist spring_force = spring_wrench_ - feedforward_;
  const auto reference_damping = product<Twist>(damping_, reference_twist_);
  gradient_ = extra_force;
  add_product(transposed(J), spring_force, gradient_);
  multiply(transposed(J), reference_damping, reference_effort_);
  impedance.compute(mass, total_damping_, total_stiffness_, gradient_, v, h, &reference_effort_);

  auto end_velocity = product<Twist>(J, impedance.damping_velocity);
  end_velocity -= reference_twist_;
  const auto task_damping = product<Twist>(damping_, end_velocity);
  const Twist force = spring_force + task_damping;
  null_force_ = impedance.predicted_spring_force;
  add_product(extra_damping, impedance.damping_velocity, null_force_);
  continuous_effort = -extra_force - null_force_;
  add_product(transposed(J), force, continuous_effort, -1.0);
  sampled_effort = -impedance.spring_force - null_force_;
  add_product(transposed(J), task_damping, sampled_effort, -1.0);

  potential_energy += extra_energy;
  auto twist_error = product<Twist>(J, v);
  twist_error -= reference_twist_;
  const Twist braking_force = task_damping - feedforward_;
  task_damping_power = twist_error.dot(braking_force);
  null_damping_power = v.dot(null_force_);
  reference_power = turning_power_ - force.dot(reference_twist_);
}

void split_inertia(const MatrixV& mass, const Matrix6V& J, MatrixV6& mass_inverse_jt,
                   Matrix6V& momentum_map, MatrixV& null_inertia, double sigma_min) noexcept {
  mass_inverse_jt = J.transpose();
  Cholesky(mass).solve_columns(mass_inverse_jt);
  auto mobility = product<MatrixV>(J, mass_inverse_jt);
  const double mean_mobility = (mobility(0, 0) + mobility(1, 1) + mobility(2, 2)) / 3.0;
  const double ratio = sigma_min / kFadingThreshold;
  const double regularisation = kFadedShare * std::max(0.0, 1.0 - ratio * ratio) * mean_mobility;
  for (Eigen::Index k = 0; k < 6; ++k) mobility(k, k) += kRegularisation + regularisation;
  momentum_map = J;
  const Cholesky factor(mobility);
  factor.solve_columns(momentum_map);
  if (regularisation > 0.0) {
    // What is left of an eigenvalue mu in the null space is (r / (mu + r))^2.
    Matrix6V correction = momentum_map;
    factor.solve_columns(correction);
    momentum_map += regularisation * correction;
  }
  null_inertia = mass;
  add_product(transposed(J), momentum_map, null_inertia, -1.0);
}

}  // namespace vms_ph
