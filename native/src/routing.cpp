// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/routing.hpp"

#include <Eigen/LU>
#include <algorithm>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/linear_solve.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// The null-space basis is renewed where its alignment with the reference falls below this.
constexpr double kAligned = 0.5;

// Below this a direction of the one is perpendicular to all of the other.
constexpr double kMinAlignment = 1e-6;

/// Divide every entry by another.
void divide(MatrixV& matrix, const MatrixV& by) noexcept {
  for (Eigen::Index k = 0; k < matrix.cols(); ++k) {
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) matrix(i, k) /= by(i, k);
  }
}

}  // namespace

void EnergyRouting::anchor(Evaluation& d) noexcept {
  is_anchored_ = d.model().nv() > PositionTask::kDimension;  // otherwise there is no null space
  if (!is_anchored_) return;
  anchor_svd_.compute(task_.jacobian(d));
  reference_ = anchor_svd_.kernel;
}

double EnergyRouting::align(const MatrixV& kernel) noexcept {
  // With the singular value decomposition U S V^T of Zref kernel^T, Z is U V^T kernel.
  MatrixV columns = product<MatrixV>(reference_, transposed(kernel)), turn;
  make_columns_orthogonal(columns, turn);
  double least = 1.0;
  for (Eigen::Index k = 0; k < columns.cols(); ++k) {
    const double length = columns.col(k).norm();
    least = length < least ? length : least;
    columns.col(k) /= length;
  }
  if (!(least > kMinAlignment)) {
    Z_ = kernel;
    return 0.0;
  }
  const MatrixV polar = product<MatrixV>(columns, transposed(turn));
  multiply(polar, kernel, Z_);
  return least;
}

void EnergyRouting::decompose() noexcept {
  const MatrixV s = product<MatrixV>(reference_, transposed(Z_));
  const MatrixV symmetric = 0.5 * (s + s.transpose());
  eigen_.compute(symmetric);
  vectors_ = eigen_.vectors();
  const Eigen::VectorXd& values = eigen_.values();
  sums_.resizeLike(s);
  for (Eigen::Index k = 0; k < values.size(); ++k) {
    for (Eigen::Index i = 0; i < values.size(); ++i) sums_(i, k) = values[i] + values[k];
  }
}

VectorV EnergyRouting::basis_rate(const Tall& pseudo_inverse, const Matrix3V& jacobian_rate,
                                  const VectorV& momentum) const noexcept {
  // The part of Zdot in the row space of J follows from J Z^T = 0; the part in the null space,
  // Omega Z with Omega skew, from the symmetry of S = Zref Z^T: S Omega + Omega S = F - F^T.
  const MatrixV inverse_rate = product<MatrixV>(pseudo_inverse, jacobian_rate);
  MatrixV row_part = MatrixV::Zero(Z_.rows(), Z_.cols());
  add_product(Z_, transposed(inverse_rate), row_part, -1.0);
  const MatrixV f = product<MatrixV>(reference_, transposed(row_part));
  const MatrixV antisymmetric = f - f.transpose();
  const MatrixV inner = product<MatrixV>(transposed(vectors_), antisymmetric);
  MatrixV skew = product<MatrixV>(inner, vectors_);
  divide(skew, sums_);
  const VectorV along = product<VectorV>(Z_, momentum);
  const VectorV projected = product<VectorV>(transposed(vectors_), along);
  const VectorV rotated = product<VectorV>(skew, projected);
  VectorV rate = product<VectorV>(row_part, momentum);
  add_product(vectors_, rotated, rate);
  return rate;
}

Matrix3V EnergyRouting::basis_rate_transpose(const Tall& pseudo_inverse, const VectorV& nu,
                                             const VectorV& momentum) const noexcept {
  const VectorV along = product<VectorV>(Z_, momentum);
  const VectorV a = product<VectorV>(transposed(vectors_), nu);
  const VectorV b = product<VectorV>(transposed(vectors_), along);
  const MatrixV outer_product = product<MatrixV>(a, transposed(b));
  MatrixV weight = outer_product - outer_product.transpose();
  divide(weight, sums_);
  const MatrixV inner = product<MatrixV>(vectors_, weight);
  const MatrixV outer = product<MatrixV>(inner, transposed(vectors_));
  const Tall lever = product<Tall>(reference_, pseudo_inverse);  // (k,3)
  const Matrix3V turning = product<Matrix3V>(transposed(lever), outer);
  const auto pushed = product<Eigen::Vector3d>(transposed(pseudo_inverse), momentum);
  const VectorV velocity = product<VectorV>(transposed(Z_), nu);
  Matrix3V result = Matrix3V::Zero(3, Z_.cols());
  add_product(turning, Z_, result, -1.0);
  add_product(pushed, transposed(velocity), result, -1.0);
  return result;
}

bool EnergyRouting::torque(Evaluation& d, const Matrix3V& jacobian, const TaskSvd& svd,
                           const Matrix3V& jacobian_rate, VectorV& result) noexcept {
  if (!is_anchored_) return false;
  const double fade = std::min(1.0, svd.smallest() / singular_below_ - 1.0);
  if (!(fade > 0.0)) return false;
  if (align(svd.kernel) < kAligned) {
    reference_ = Z_;
    align(svd.kernel);
  }
  decompose();

  const MatrixV& mass = d.M();
  const VectorV& p = d.momentum();
  Tall mobile = jacobian.transpose();
  Cholesky(mass).solve_columns(mobile);
  const auto mobility = product<Eigen::Matrix3d>(jacobian, mobile);
  const Eigen::Matrix3d inertia = mobility.inverse();
  const Eigen::Matrix3d task_inertia = 0.5 * (inertia + inertia.transpose());
  const Tall j_sharp = product<Tall>(mobile, task_inertia);
  const MatrixV weighted = product<MatrixV>(Z_, mass);
  const MatrixV null_inertia = product<MatrixV>(weighted, transposed(Z_));
  MatrixV n_map = weighted;
  Cholesky(null_inertia).solve_columns(n_map);
  const Tall pseudo_inverse = svd.pseudo_inverse(0.0);

  // Velocity in the null space, and along it: v = u + n.
  const VectorV nu = product<VectorV>(n_map, d.v());
  const VectorV n = product<VectorV>(transposed(Z_), nu);
  const VectorV u = d.v() - n;
  const auto eta = product<Eigen::Vector3d>(jacobian, d.v());
  const Eigen::Vector3d pi = task_inertia * eta;

  // E v: drift of J_bar^-T p along the motion at fixed p.
  const MatrixV& c = d.C();
  VectorV pull = product<VectorV>(transposed(jacobian_rate), pi);
  add_product(c, n, pull);
  add_product(transposed(c), n, pull);
  const auto across = product<Eigen::Vector3d>(jacobian_rate, n);
  Eigen::Vector3d task_force = task_inertia * across;
  add_product(transposed(j_sharp), pull, task_force, -1.0);
  VectorV null_force = basis_rate(pseudo_inverse, jacobian_rate, p);

  // E^T (eta, nu): minus the derivatives of the energy at fixed momenta of task and null space.
  Matrix3V weight = basis_rate_transpose(pseudo_inverse, nu, p);
  const VectorV difference = n - u;
  add_product(pi, transposed(difference), weight);
  VectorV slope = task_.jacobian_slope(d, weight);
  // u^T (dM/dq_k) n = (T_k(u + n) - T_k(u - n)) / 2 with T_k(x) = (C(x)^T x)_k.
  const VectorV other = u - n;
  C_other_.resize(c.rows(), c.cols());
  d.coriolis(other, C_other_);
  add_product(transposed(c), d.v(), slope, -0.5);
  add_product(transposed(C_other_), other, slope, 0.5);

  // Minus G (eta, nu), mapped to the joints.
  task_force = product<Eigen::Vector3d>(transposed(j_sharp), slope) - task_force;
  null_force = product<VectorV>(Z_, slope) - null_force;
  multiply(transposed(jacobian), task_force, result);
  add_product(transposed(n_map), null_force, result);
  result *= fade;
  return result.allFinite();
}

}  // namespace vms_ph
