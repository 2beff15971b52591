#include "vms_ph_native/split_motion.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

namespace vms_ph {

MatrixV null_space_map(const MatrixV& z, const MatrixV& mass) noexcept {
  MatrixV weighted = z * mass;
  if (z.rows() > 0) {
    const MatrixV inertia = weighted * z.transpose();
    const Eigen::LLT<MatrixV> factor(inertia);
    factor.solveInPlace(weighted);
  }
  return weighted;
}

void SplitMotion::compute(Evaluation& d, const Matrix3V& jacobian, const TaskSvd& svd,
                          double singular_below) noexcept {
  const MatrixV& mass = d.M();
  smallest = svd.smallest();
  is_regular = smallest >= singular_below;
  singular_below_ = singular_below;
  eta.noalias() = jacobian * d.v();
  if (is_regular) {
    null_map = null_space_map(svd.kernel, mass);
    nu.noalias() = null_map * d.v();
    null_velocity.noalias() = svd.kernel.transpose() * nu;
    const VectorV momentum = svd.kernel * d.momentum();
    kinetic_null = 0.5 * nu.dot(momentum);
    return;
  }
  const Eigen::Vector3d ratio = svd.values / singular_below;
  const Eigen::Vector3d share = (1.0 - ratio.array().square()).max(0.0);
  const Eigen::Vector3d rest_share = 1.0 - share.array().square();
  MatrixV s = svd.kernel.transpose() * svd.kernel;
  s += svd.right.transpose() * share.asDiagonal() * svd.right;
  const double scale = mass.trace() / static_cast<double>(mass.rows());
  const MatrixV weighted = s * mass;
  MatrixV inertia = weighted * s;
  inertia += scale * (svd.right.transpose() * rest_share.asDiagonal() * svd.right);
  const Eigen::LDLT<MatrixV> factor(inertia);
  MatrixV solved = weighted;
  factor.solveInPlace(solved);
  null_map.noalias() = s * solved;
  nu.noalias() = null_map * d.v();
  null_velocity = nu;
  kinetic_null = 0.5 * d.momentum().dot(nu);
}

MatrixV SplitMotion::damping_matrix(const Matrix3V& jacobian, double damping_task,
                                    double damping_null) const noexcept {
  MatrixV damping = damping_task * (jacobian.transpose() * jacobian);
  damping += damping_null * (null_map.transpose() * null_map);
  return damping;
}

double SplitMotion::exchange(Evaluation& d, const TaskSvd& svd,
                             const Matrix3V& jacobian_rate) const noexcept {
  if (!is_regular) return 0.0;
  const VectorV& n = null_velocity;
  const VectorV u = d.v() - n;
  const VectorV force = d.M() * u;
  const Eigen::Vector3d pi = svd.pseudo_inverse(singular_below_).transpose() * force;
  const Eigen::Vector3d turned = jacobian_rate * n;
  const VectorV bent = d.C() * n;
  return pi.dot(turned) - u.dot(bent);
}

}  // namespace vms_ph
