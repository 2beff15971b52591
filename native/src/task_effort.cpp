// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_effort.hpp"

#include <Eigen/Geometry>

#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

constexpr auto kAxes = pinocchio::LOCAL_WORLD_ALIGNED;

}  // namespace

PositionTask::PositionTask(const Model& model, const std::string& frame)
    : frame_(frame.empty() ? model.end_effector() : model.frame_id(frame)) {}

Matrix3V PositionTask::jacobian(Evaluation& d) const noexcept {
  return d.frame_jacobian(frame_, kAxes).topRows<3>();
}

Matrix3V PositionTask::jacobian_rate(Evaluation& d) const noexcept {
  return d.frame_jacobian_rate(frame_, kAxes).topRows<3>();
}

VectorV PositionTask::jacobian_slope(Evaluation& d, const Matrix3V& weight) const noexcept {
  // Column j holds the velocity l_j that joint j gives the frame's origin and its axis w_j. Moving
  // joint k turns both with w_k when j is carried by k, as it is by every joint of the base;
  // otherwise it moves the origin, whose velocity is l_j, by w_j x l_k.
  const auto& full = d.frame_jacobian(frame_, kAxes);
  const Eigen::Index nv = full.cols(), b = d.model().b();
  VectorV slope = VectorV::Zero(nv);
  for (Eigen::Index k = 0; k < nv; ++k) {
    for (Eigen::Index j = 0; j < nv; ++j) {
      const bool is_carried = k <= j || k < b;
      const Eigen::Index turns = is_carried ? k : j, moves = is_carried ? j : k;
      const Eigen::Vector3d axis = full.col(turns).tail<3>();
      const Eigen::Vector3d velocity = full.col(moves).head<3>();
      slope[k] += weight.col(j).dot(axis.cross(velocity));
    }
  }
  return slope;
}

void TaskEffort::split(Evaluation& d, const Matrix3V& jacobian, double singular_below) noexcept {
  svd.compute(jacobian);
  motion.compute(d.M(), d.v(), d.momentum(), jacobian, svd, singular_below);
}

void TaskEffort::damp(Evaluation& d, const Matrix3V& jacobian, const VectorV& spring,
                      const MatrixV& stiffness, double task, double null, double h) noexcept {
  damping_matrix_ = motion.damping_matrix(jacobian, task, null);
  impedance.compute(d.M(), damping_matrix_, stiffness, spring, d.v(), h);
  multiply(jacobian, impedance.velocity, damping_task);
  damping_task *= task;
  multiply(motion.null_map, impedance.velocity, damping_null);
  damping_null *= null;
  damping = impedance.predicted_spring;
  add_product(transposed(jacobian), damping_task, damping);
  add_product(transposed(motion.null_map), damping_null, damping);
}

}  // namespace vms_ph
