// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/split_motion.hpp"

#include <algorithm>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/symmetric_factors.hpp"
#include "vms_ph_native/wide.hpp"

namespace vms_ph {

namespace {

/// The map of null_space_map() for arms of a given number of joints, in loops that compilers
/// unroll.
template <int kVelocities>
VMS_PH_INLINED inline void map_of(const MatrixV& kernel, const MatrixV& mass,
                                  MatrixV& result) noexcept {
  constexpr int kRows = kVelocities - 3, kPadded = static_cast<int>(symmetric::padded(kRows));
  const Eigen::Map<const Eigen::Matrix<double, kRows, kVelocities>> z(kernel.data());
  const Eigen::Map<const Eigen::Matrix<double, kVelocities, kVelocities>> m(mass.data());
  Eigen::Matrix<double, kPadded, kVelocities> weighted;
  Eigen::Matrix<double, kPadded, kPadded> inertia;
  weighted.setZero();
  inertia.setZero();
  weighted.template topRows<kRows>() = z.lazyProduct(m);
  inertia.template topLeftCorner<kRows, kRows>() =
      weighted.template topRows<kRows>().lazyProduct(z.transpose());
  double over[kPadded] = {};
  symmetric::factorise(inertia.data(), over, kRows, kPadded);
  for (int k = 0; k < kVelocities; ++k) {
    symmetric::solve(inertia.data(), over, kRows, kPadded, &weighted(0, k));
  }
  result = weighted.template topRows<kRows>();
}

/// `damping_task J^T J + damping_null N^T N` for arms of a given number of joints, likewise.
template <int kVelocities>
VMS_PH_INLINED inline void damping_of(const double* jacobian, const double* null_map,
                                      double damping_task, double damping_null,
                                      MatrixV& result) noexcept {
  constexpr int kPadded = static_cast<int>(symmetric::padded(kVelocities));
  // A column of the Jacobian and of the map below it, for every velocity: the rows of `both`.
  Eigen::Matrix<double, kPadded, kVelocities> both, damping;
  both.setZero();
  damping.setZero();
  both.template topLeftCorner<kVelocities, 3>() =
      Eigen::Map<const Eigen::Matrix<double, 3, kVelocities>>(jacobian).transpose();
  both.template topRightCorner<kVelocities, kVelocities - 3>() =
      Eigen::Map<const Eigen::Matrix<double, kVelocities - 3, kVelocities>>(null_map).transpose();
  for (int j = 0; j < kVelocities; ++j) {
    for (int k = 0; k < kVelocities; ++k) {
      const double by = (k < 3 ? damping_task : damping_null) * both(j, k);
      for (int i = 0; i < kPadded; i += static_cast<int>(symmetric::kGroup)) {
        symmetric::add_group(&damping(i, j), by, &both(i, k));
      }
    }
  }
  result = damping.template topRows<kVelocities>();
}

/// Add `scale R^T diag(w) R`, of the rows R of a singular value decomposition.
void add_weighted(const Matrix3V& rows, const Eigen::Vector3d& w, double scale,
                  MatrixV& to) noexcept {
  Matrix3V weighted = rows;
  for (int k = 0; k < 3; ++k) weighted.row(k) *= w[k];
  add_product(transposed(rows), weighted, to, scale);
}

}  // namespace

VMS_PH_WIDE MatrixV null_space_map(const MatrixV& z, const MatrixV& mass) noexcept {
  if (mass.rows() == 7 && z.rows() == 4) {
    MatrixV result;
    map_of<7>(z, mass, result);
    return result;
  }
  if (mass.rows() == 6 && z.rows() == 3) {
    MatrixV result;
    map_of<6>(z, mass, result);
    return result;
  }
  MatrixV weighted = product<MatrixV>(z, mass);
  if (z.rows() > 0) {
    const MatrixV inertia = product<MatrixV>(weighted, transposed(z));
    Cholesky(inertia).solve_columns(weighted);
  }
  return weighted;
}

VMS_PH_WIDE void SplitMotion::compute(const MatrixV& mass, const ConstVector& velocity,
                                      const ConstVector& momentum, const Matrix3V& jacobian,
                                      const TaskSvd& svd, double singular_below) noexcept {
  smallest = svd.smallest();
  is_regular = smallest >= singular_below;
  singular_below_ = singular_below;
  // Expressions here, on the path of every update: calls would take a hundredth of a step.
  eta = jacobian.lazyProduct(velocity);
  if (is_regular) {
    null_map = null_space_map(svd.kernel, mass);
    nu = null_map.lazyProduct(velocity);
    null_velocity = svd.kernel.transpose().lazyProduct(nu);
    const VectorV along = svd.kernel.lazyProduct(momentum);
    kinetic_null = 0.5 * nu.dot(along);
    return;
  }
  // The maps S of velocities and, lifted by what is missing of it, of momenta.
  Eigen::Vector3d share, rest_share;
  for (int k = 0; k < 3; ++k) {
    const double ratio = svd.values[k] / singular_below;
    share[k] = std::max(1.0 - ratio * ratio, 0.0);
    rest_share[k] = 1.0 - share[k] * share[k];
  }
  MatrixV s = product<MatrixV>(transposed(svd.kernel), svd.kernel);
  add_weighted(svd.right, share, 1.0, s);
  const double scale = mass.trace() / static_cast<double>(mass.rows());
  const MatrixV weighted = product<MatrixV>(s, mass);
  MatrixV inertia = product<MatrixV>(weighted, s);
  add_weighted(svd.right, rest_share, scale, inertia);
  MatrixV solved = weighted;
  Cholesky(inertia).solve_columns(solved);
  multiply(s, solved, null_map);
  multiply(null_map, velocity, nu);
  null_velocity = nu;
  kinetic_null = 0.5 * momentum.dot(nu);
}

VMS_PH_WIDE MatrixV SplitMotion::damping_matrix(const Matrix3V& jacobian, double damping_task,
                                                double damping_null) const noexcept {
  if (is_regular && (jacobian.cols() == 7 || jacobian.cols() == 6)) {
    MatrixV result;
    if (jacobian.cols() == 7) {
      damping_of<7>(jacobian.data(), null_map.data(), damping_task, damping_null, result);
    } else {
      damping_of<6>(jacobian.data(), null_map.data(), damping_task, damping_null, result);
    }
    return result;
  }
  MatrixV damping = MatrixV::Zero(jacobian.cols(), jacobian.cols());
  add_product(transposed(jacobian), jacobian, damping, damping_task);
  add_product(transposed(null_map), null_map, damping, damping_null);
  return damping;
}

VMS_PH_WIDE double SplitMotion::exchange(Evaluation& d, const TaskSvd& svd,
                                         const Matrix3V& jacobian_rate) const noexcept {
  if (!is_regular) return 0.0;
  const VectorV& n = null_velocity;
  const VectorV u = d.v() - n;
  const VectorV force = product<VectorV>(d.M(), u);
  const auto inverse = svd.pseudo_inverse(singular_below_);
  const auto pi = product<Eigen::Vector3d>(transposed(inverse), force);
  const auto turned = product<Eigen::Vector3d>(jacobian_rate, n);
  return pi.dot(turned) - d.coriolis_power(u, n);
}

}  // namespace vms_ph
