#include "vms_ph_native/task_svd.hpp"

#include <Eigen/QR>

namespace vms_ph {

void TaskSvd::compute(const Matrix3V& jacobian) noexcept {
  // J^T = Q [T; 0] reduces the problem to a decomposition of fixed size; the rest of Q is the
  // kernel.
  using Tall = Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3>;
  const Eigen::Index nv = jacobian.cols();
  const Eigen::HouseholderQR<Tall> qr(Tall(jacobian.transpose()));
  MatrixV q = MatrixV::Identity(nv, nv);
  q.applyOnTheLeft(qr.householderQ());
  const Eigen::Matrix3d triangle = qr.matrixQR().topRows<3>().triangularView<Eigen::Upper>();
  triangle_.compute(triangle.transpose(), Eigen::ComputeFullU | Eigen::ComputeFullV);
  if (triangle_.info() == Eigen::Success) {
    left = triangle_.matrixU();
    values = triangle_.singularValues();
    right.noalias() = triangle_.matrixV().transpose() * q.leftCols<3>().transpose();
  } else {
    left.setIdentity();
    values.setZero();
    right = q.leftCols<3>().transpose();
  }
  kernel = q.rightCols(nv - 3).transpose();
}

Eigen::Matrix<double, Eigen::Dynamic, 3, 0, kMaxVelocities, 3> TaskSvd::pseudo_inverse(
    double lifted) const noexcept {
  const Eigen::Vector3d inverse = values.cwiseMax(lifted).cwiseInverse();
  const Eigen::Matrix3d scaled = inverse.asDiagonal() * left.transpose();
  return right.transpose() * scaled;
}

}  // namespace vms_ph
