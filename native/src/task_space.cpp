// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_space.hpp"

#include <cmath>

#include <Eigen/Geometry>

namespace vms_ph {
namespace {

using TallMatrix = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3>;

// Below this share of the largest singular value, the direction of a column is rounding.
constexpr double kDirectionTolerance = 1e-5;

// Below this share of the longest column, the remainder of another column has no direction.
constexpr double kNegligible = 1e-12;

/// Write the triangle T of J^T = Q [T; 0], the first three columns of Q and the rest, transposed.
///
/// Q is the product of three reflections 1 - tau w w^T, kept as 1 - U W^T (the compact WY form).
/// Where the number of rows is known to the compiler, it unrolls the loops.
template <int kRows>
VMS_PH_INLINED inline void reduce(const Matrix3V& jacobian, Matrix3d& triangle,
                                  TallMatrix& range_basis, MatrixV& kernel) noexcept {
  constexpr bool kIsFixedSize = kRows != Eigen::Dynamic;
  constexpr int kCapacity = kIsFixedSize ? kRows : kMaxVelocities;
  const Eigen::Index nv = kIsFixedSize ? kRows : jacobian.cols();
  double w[3][kCapacity], u[3][kCapacity];
  for (int k = 0; k < 3; ++k) {
    for (Eigen::Index i = 0; i < nv; ++i) w[k][i] = jacobian(k, i);
  }
  double factor[3][3] = {};
  triangle.setZero();
  for (int k = 0; k < 3; ++k) {
    double* x = w[k];
    double tail_squares = 0.0, tau = 0.0;
    for (Eigen::Index i = k + 1; i < nv; ++i) tail_squares += x[i] * x[i];
    triangle(k, k) = x[k];
    if (tail_squares != 0.0) {
      const double length = std::sqrt(x[k] * x[k] + tail_squares);
      triangle(k, k) = x[k] > 0.0 ? -length : length;
      const double pivot = x[k] - triangle(k, k), inverse_pivot = 1.0 / pivot;
      tau = 2.0 * pivot * pivot / (pivot * pivot + tail_squares);
      for (Eigen::Index i = k + 1; i < nv; ++i) x[i] *= inverse_pivot;
    }
    for (int i = 0; i < k; ++i) x[i] = 0.0;
    x[k] = 1.0;
    for (int j = k + 1; j < 3; ++j) {
      double* y = w[j];
      double projection = 0.0;
      for (Eigen::Index i = k; i < nv; ++i) projection += x[i] * y[i];
      projection *= tau;
      for (Eigen::Index i = k; i < nv; ++i) y[i] -= projection * x[i];
      triangle(k, j) = y[k];
    }
    factor[k][k] = tau;
    for (int l = 0; l < k; ++l) {
      double projection = 0.0;
      for (Eigen::Index i = 0; i < nv; ++i) projection += w[l][i] * x[i];
      for (int j = 0; j <= l; ++j) factor[j][k] -= factor[j][l] * tau * projection;
    }
  }
  for (int k = 0; k < 3; ++k) {
    for (Eigen::Index i = 0; i < nv; ++i) {
      u[k][i] = w[0][i] * factor[0][k] + w[1][i] * factor[1][k] + w[2][i] * factor[2][k];
    }
  }
  range_basis.resize(nv, 3);
  for (int j = 0; j < 3; ++j) {
    double* column = range_basis.data() + j * nv;
    for (Eigen::Index i = 0; i < nv; ++i) {
      column[i] = -(u[0][i] * w[0][j] + u[1][i] * w[1][j] + u[2][i] * w[2][j]);
    }
    column[j] += 1.0;
  }
  const Eigen::Index null_rows = nv - 3;
  kernel.resize(null_rows, nv);
  for (Eigen::Index i = 0; i < nv; ++i) {
    double* column = kernel.data() + i * null_rows;
    for (Eigen::Index r = 0; r < null_rows; ++r) {
      column[r] = -(w[0][r + 3] * u[0][i] + w[1][r + 3] * u[1][i] + w[2][r + 3] * u[2][i]);
    }
    if (i >= 3) column[i - 3] += 1.0;
  }
}

/// Make the columns of length one in order, each perpendicular to those before it; what rounding
/// leaves of a short one says nothing of its direction.
void make_orthonormal(Matrix3d& columns) noexcept {
  const double length = columns.col(0).norm();
  if (length > 0.0) {
    columns.col(0) /= length;
  } else {
    columns.col(0) = Vector3d::UnitX();
  }
  const Vector3d axis_0 = columns.col(0);
  Vector3d axis_1 = columns.col(1);
  for (int pass = 0; pass < 2; ++pass) axis_1 -= axis_0.dot(axis_1) * axis_0;
  if (!(axis_1.norm() > kNegligible * length)) {
    axis_1 = axis_0.cross(std::abs(axis_0.x()) < 0.5 ? Vector3d::UnitX() : Vector3d::UnitY());
  }
  columns.col(1) = axis_1 / axis_1.norm();
  const Vector3d axis_2 = axis_0.cross(columns.col(1));
  columns.col(2) = axis_2.dot(columns.col(2)) < 0.0 ? Vector3d(-axis_2) : axis_2;
}

/// The map of null_space_map() for arms of a given number of joints, in loops to be unrolled.
template <int kVelocities>
VMS_PH_INLINED inline void fixed_size_null_map(const MatrixV& kernel, const MatrixV& mass,
                                               MatrixV& null_map) noexcept {
  constexpr int kRows = kVelocities - 3, kPadded = static_cast<int>(symmetric::padded(kRows));
  const Eigen::Map<const Eigen::Matrix<double, kRows, kVelocities>> Z(kernel.data());
  const Eigen::Map<const Eigen::Matrix<double, kVelocities, kVelocities>> M(mass.data());
  Eigen::Matrix<double, kPadded, kVelocities> padded_map;
  Eigen::Matrix<double, kPadded, kPadded> inertia;
  padded_map.setZero();
  inertia.setZero();
  padded_map.template topRows<kRows>() = Z.lazyProduct(M);
  inertia.template topLeftCorner<kRows, kRows>() =
      padded_map.template topRows<kRows>().lazyProduct(Z.transpose());
  double inverse_pivots[kPadded] = {};
  symmetric::factorise(inertia.data(), inverse_pivots, kRows, kPadded);
  for (int k = 0; k < kVelocities; ++k) {
    symmetric::solve(inertia.data(), inverse_pivots, kRows, kPadded, &padded_map(0, k));
  }
  null_map = padded_map.template topRows<kRows>();
}

/// `damping_task J^T J + damping_null N^T N` for arms of a given number of joints, likewise.
template <int kVelocities>
VMS_PH_INLINED inline void fixed_size_damping(const double* jacobian, const double* null_map,
                                              double damping_task, double damping_null,
                                              MatrixV& damping_matrix) noexcept {
  constexpr int kPadded = static_cast<int>(symmetric::padded(kVelocities));
  // A column of the Jacobian and of the map below it, for every velocity: the rows of `stacked`.
  Eigen::Matrix<double, kPadded, kVelocities> stacked, damping;
  stacked.setZero();
  damping.setZero();
  stacked.template topLeftCorner<kVelocities, 3>() =
      Eigen::Map<const Eigen::Matrix<double, 3, kVelocities>>(jacobian).transpose();
  stacked.template topRightCorner<kVelocities, kVelocities - 3>() =
      Eigen::Map<const Eigen::Matrix<double, kVelocities - 3, kVelocities>>(null_map).transpose();
  for (int j = 0; j < kVelocities; ++j) {
    for (int k = 0; k < kVelocities; ++k) {
      const double gain = (k < 3 ? damping_task : damping_null) * stacked(j, k);
      for (int i = 0; i < kPadded; i += static_cast<int>(symmetric::kGroupSize)) {
        symmetric::add_group(&damping(i, j), gain, &stacked(i, k));
      }
    }
  }
  damping_matrix = damping.template topRows<kVelocities>();
}

/// Add `scale R^T diag(w) R`, of the rows R of a singular value decomposition.
void add_weighted(const Matrix3V& rows, const Eigen::Vector3d& w, double scale,
                  MatrixV& sum) noexcept {
  Matrix3V weighted_rows = rows;
  for (int k = 0; k < 3; ++k) weighted_rows.row(k) *= w[k];
  add_product(transposed(rows), weighted_rows, sum, scale);
}

constexpr auto kInertialAxes = pinocchio::LOCAL_WORLD_ALIGNED;

// The null-space basis is renewed where its alignment with the reference falls below this.
constexpr double kRenewalAlignment = 0.5;

}  // namespace

VMS_PH_FMA void TaskSvd::compute(const Matrix3V& jacobian) noexcept {
  // J^T = Q [T; 0] reduces this to a decomposition of fixed size; the rest of Q is the kernel.
  Matrix3d triangle;
  TallMatrix range_basis;
  switch (jacobian.cols()) {
    case 6:
      reduce<6>(jacobian, triangle, range_basis, kernel);
      break;
    case 7:
      reduce<7>(jacobian, triangle, range_basis, kernel);
      break;
    default:
      reduce<Eigen::Dynamic>(jacobian, triangle, range_basis, kernel);
  }
  decompose(triangle.transpose());
  right_vectors = triangle_right_.lazyProduct(range_basis.transpose());
}

/// The values and singular vectors of a matrix of fixed size.
VMS_PH_FMA void TaskSvd::decompose(const Matrix3d& matrix) noexcept {
  Matrix3d rotated_columns = matrix, rotation;
  make_columns_orthogonal(rotated_columns, rotation);
  Vector3d lengths;
  for (int k = 0; k < 3; ++k) lengths[k] = rotated_columns.col(k).norm();
  if (!lengths.allFinite()) {
    left_vectors.setIdentity();
    singular_values.setZero();
    triangle_right_.setIdentity();
    return;
  }
  int descending[] = {0, 1, 2};
  std::sort(descending, descending + 3, [&](int a, int b) { return lengths[a] > lengths[b]; });
  for (int k = 0; k < 3; ++k) {
    singular_values[k] = lengths[descending[k]];
    left_vectors.col(k) = rotated_columns.col(descending[k]);
    triangle_right_.row(k) = rotation.col(descending[k]);
  }
  if (singular_values[2] > kDirectionTolerance * singular_values[0]) {
    for (int k = 0; k < 3; ++k) left_vectors.col(k) /= singular_values[k];
  } else {
    make_orthonormal(left_vectors);
  }
}

VMS_PH_FMA TallMatrix TaskSvd::pseudo_inverse(double min_value) const noexcept {
  Matrix3d scaled_vectors = left_vectors.transpose();
  for (int k = 0; k < 3; ++k) scaled_vectors.row(k) /= std::max(singular_values[k], min_value);
  return product<TallMatrix>(transposed(right_vectors), scaled_vectors);
}

VMS_PH_FMA MatrixV null_space_map(const MatrixV& z, const MatrixV& mass) noexcept {
  MatrixV null_map;
  if (mass.rows() == 7 && z.rows() == 4) {
    fixed_size_null_map<7>(z, mass, null_map);
  } else if (mass.rows() == 6 && z.rows() == 3) {
    fixed_size_null_map<6>(z, mass, null_map);
  } else {
    multiply(z, mass, null_map);
    if (z.rows() > 0) Cholesky(product<MatrixV>(null_map, transposed(z))).solve_columns(null_map);
  }
  return null_map;
}

VMS_PH_FMA void SplitMotion::compute(const MatrixV& mass, const ConstVector& velocity,
                                     const ConstVector& momentum, const Matrix3V& jacobian,
                                     const TaskSvd& svd, double min_sigma) noexcept {
  smallest_singular_value = svd.smallest_singular_value();
  is_regular = smallest_singular_value >= min_sigma;
  min_sigma_ = min_sigma;
  // Expressions here, on the path of every update: calls would take a hundredth of a step.
  eta = jacobian.lazyProduct(velocity);
  if (is_regular) {
    null_map = null_space_map(svd.kernel, mass);
    nu = null_map.lazyProduct(velocity);
    null_velocity = svd.kernel.transpose().lazyProduct(nu);
    const VectorV null_momentum = svd.kernel.lazyProduct(momentum);
    kinetic_null = 0.5 * nu.dot(null_momentum);
    return;
  }
  // The maps S of velocities and, lifted by what is missing of it, of momenta.
  Eigen::Vector3d null_weight, lifting_weight;
  for (int k = 0; k < 3; ++k) {
    const double ratio = svd.singular_values[k] / min_sigma;
    null_weight[k] = std::max(1.0 - ratio * ratio, 0.0);
    lifting_weight[k] = 1.0 - null_weight[k] * null_weight[k];
  }
  MatrixV S = product<MatrixV>(transposed(svd.kernel), svd.kernel);
  add_weighted(svd.right_vectors, null_weight, 1.0, S);
  const double mean_inertia = mass.trace() / static_cast<double>(mass.rows());
  const MatrixV weighted_map = product<MatrixV>(S, mass);
  MatrixV inertia = product<MatrixV>(weighted_map, S);
  add_weighted(svd.right_vectors, lifting_weight, mean_inertia, inertia);
  MatrixV inertia_ratio = weighted_map;
  Cholesky(inertia).solve_columns(inertia_ratio);
  multiply(S, inertia_ratio, null_map);
  multiply(null_map, velocity, nu);
  null_velocity = nu;
  kinetic_null = 0.5 * momentum.dot(nu);
}

VMS_PH_FMA MatrixV SplitMotion::damping_matrix(const Matrix3V& jacobian, double damping_task,
                                               double damping_null) const noexcept {
  MatrixV result;
  if (is_regular && jacobian.cols() == 7) {
    fixed_size_damping<7>(jacobian.data(), null_map.data(), damping_task, damping_null, result);
  } else if (is_regular && jacobian.cols() == 6) {
    fixed_size_damping<6>(jacobian.data(), null_map.data(), damping_task, damping_null, result);
  } else {
    result.setZero(jacobian.cols(), jacobian.cols());
    add_product(transposed(jacobian), jacobian, result, damping_task);
    add_product(transposed(null_map), null_map, result, damping_null);
  }
  return result;
}

VMS_PH_FMA double SplitMotion::null_to_task_power(Evaluation& d, const TaskSvd& svd,
                                                  const Matrix3V& jacobian_rate) const noexcept {
  if (!is_regular) return 0.0;
  const VectorV& n = null_velocity;
  const VectorV u = d.v() - n;
  const VectorV momentum = product<VectorV>(d.M(), u);
  // u^T C n: the derivative of the energy of v along n, less that of n along the joints of v.
  double coriolis_power = n.dot(d.kinetic_gradient(d.v()));
  coriolis_power -= d.v().tail(d.model().n()).dot(d.kinetic_gradient(n).tail(d.model().n()));
  const auto inverse = svd.pseudo_inverse(min_sigma_);
  const auto pi = product<Eigen::Vector3d>(transposed(inverse), momentum);
  const auto null_acceleration = product<Eigen::Vector3d>(jacobian_rate, n);
  return pi.dot(null_acceleration) - coriolis_power;
}

Matrix3V PositionTask::jacobian(Evaluation& d) const noexcept {
  return d.frame_jacobian(frame_, kInertialAxes).topRows<3>();
}

Matrix3V PositionTask::jacobian_rate(Evaluation& d) const noexcept {
  return d.frame_jacobian_rate(frame_, kInertialAxes).topRows<3>();
}

VectorV PositionTask::jacobian_gradient(Evaluation& d, const Matrix3V& weight) const noexcept {
  // Column j holds the velocity l_j that joint j gives the frame's origin and its axis w_j. Moving
  // joint k turns both with w_k when j is carried by k, as it is by every joint of the base;
  // otherwise it moves the origin, whose velocity is l_j, by w_j x l_k.
  const auto& frame_jacobian = d.frame_jacobian(frame_, kInertialAxes);
  const Eigen::Index nv = frame_jacobian.cols(), b = d.model().b();
  VectorV gradient = VectorV::Zero(nv);
  for (Eigen::Index k = 0; k < nv; ++k) {
    for (Eigen::Index j = 0; j < nv; ++j) {
      const bool is_carried = k <= j || k < b;
      const Eigen::Index axis_column = is_carried ? k : j, velocity_column = is_carried ? j : k;
      const Eigen::Vector3d axis = frame_jacobian.col(axis_column).tail<3>();
      const Eigen::Vector3d velocity = frame_jacobian.col(velocity_column).head<3>();
      gradient[k] += weight.col(j).dot(axis.cross(velocity));
    }
  }
  return gradient;
}

void TaskEffort::split(Evaluation& d, const Matrix3V& jacobian, double min_sigma) noexcept {
  svd.compute(jacobian);
  motion.compute(d.M(), d.v(), d.momentum(), jacobian, svd, min_sigma);
}

void TaskEffort::compute(Evaluation& d, const Matrix3V& jacobian, const VectorV& potential_gradient,
                         const MatrixV& stiffness, double damping_task, double damping_null,
                         double h) noexcept {
  damping_matrix_ = motion.damping_matrix(jacobian, damping_task, damping_null);
  impedance.compute(d.M(), damping_matrix_, stiffness, potential_gradient, d.v(), h);
  multiply(jacobian, impedance.damping_velocity, task_damping_force);
  task_damping_force *= damping_task;
  multiply(motion.null_map, impedance.damping_velocity, null_damping_force);
  null_damping_force *= damping_null;
  damping_force = impedance.predicted_spring_force;
  add_product(transposed(jacobian), task_damping_force, damping_force);
  add_product(transposed(motion.null_map), null_damping_force, damping_force);
}

void EnergyRouting::set_reference_basis(Evaluation& d) noexcept {
  has_basis_ = d.model().nv() > PositionTask::kDimension;  // otherwise there is no null space
  if (!has_basis_) return;
  const Matrix3V jacobian = task_.jacobian(d);
  reference_svd_.compute(jacobian);
  reference_basis_ = reference_svd_.kernel;
  // The first one takes memory, so that torque() does not.
  const Matrix3V inverse_transpose = reference_svd_.pseudo_inverse(min_sigma_).transpose();
  basis_.compute(jacobian, inverse_transpose, reference_basis_);
}

bool EnergyRouting::torque(Evaluation& d, const Matrix3V& jacobian, const TaskSvd& svd,
                           const Matrix3V& jacobian_rate, VectorV& result) noexcept {
  if (!has_basis_) return false;
  const double fade_factor = std::min(1.0, svd.smallest_singular_value() / min_sigma_ - 1.0);
  if (!(fade_factor > 0.0)) return false;
  const TallMatrix pseudo_inverse = svd.pseudo_inverse(0.0);
  const Matrix3V inverse_transpose = pseudo_inverse.transpose();
  if (basis_.compute(jacobian, inverse_transpose, reference_basis_) < kRenewalAlignment) {
    reference_basis_ = svd.kernel;
    basis_.compute(jacobian, inverse_transpose, reference_basis_);
  }
  const Eigen::MatrixXd& Z = basis_.Z;

  const MatrixV& mass = d.M();
  const VectorV& p = d.momentum();
  const MatrixV weighted_basis = product<MatrixV>(Z, mass);
  const MatrixV null_inertia = product<MatrixV>(weighted_basis, transposed(Z));
  MatrixV n_map = weighted_basis;
  Cholesky(null_inertia).solve_columns(n_map);
  // J_sharp = (1 - Z^T N) J^+.
  TallMatrix j_sharp = pseudo_inverse;
  add_product(transposed(Z), product<TallMatrix>(n_map, pseudo_inverse), j_sharp, -1.0);
  const auto task_momenta = product<TallMatrix>(mass, j_sharp);
  const auto task_inertia = product<Eigen::Matrix3d>(transposed(pseudo_inverse), task_momenta);

  // Velocity in the null space, and along it: v = u + n.
  const VectorV nu = product<VectorV>(n_map, d.v());
  const VectorV n = product<VectorV>(transposed(Z), nu);
  const VectorV u = d.v() - n;
  const auto eta = product<Eigen::Vector3d>(jacobian, d.v());
  const Eigen::Vector3d pi = task_inertia * eta;

  // E v: drift of J_bar^-T p along the motion at fixed p.
  const MatrixV& C = d.C();
  VectorV drift = product<VectorV>(transposed(jacobian_rate), pi);
  add_product(C, n, drift);
  add_product(transposed(C), n, drift);
  const auto null_acceleration = product<Eigen::Vector3d>(jacobian_rate, n);
  Eigen::Vector3d task_force = task_inertia * null_acceleration;
  add_product(transposed(j_sharp), drift, task_force, -1.0);
  VectorV null_force = product<VectorV>(basis_.rate(jacobian_rate), p);

  // E^T (eta, nu): minus the derivatives of the energy at fixed momenta of task and null space.
  Matrix3V weight = basis_.rate_transpose(nu, p);
  const VectorV n_minus_u = n - u;
  add_product(pi, transposed(n_minus_u), weight);
  VectorV gradient = task_.jacobian_gradient(d, weight);
  // u^T (dM/dq_k) n of the arm is half the difference of two kinetic energies' derivatives.
  gradient -= 0.5 * (d.kinetic_gradient(d.v()) - d.kinetic_gradient(n_minus_u));

  // Minus G (eta, nu), mapped to the joints.
  task_force = product<Eigen::Vector3d>(transposed(j_sharp), gradient) - task_force;
  null_force = product<VectorV>(Z, gradient) - null_force;
  multiply(transposed(jacobian), task_force, result);
  add_product(transposed(n_map), null_force, result);
  result *= fade_factor;
  return result.allFinite();
}

}  // namespace vms_ph
