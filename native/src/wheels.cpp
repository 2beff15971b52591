// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/wheels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Geometry>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

// Sizes below which a row or column depends on others.
constexpr double kMinNorm = 1e-9;

/// Write the indices of columns that are independent, by pivoted Gram-Schmidt, as many as there are
/// up to `count`, in their order; the columns are used up.
template <class Matrix>
void select_pivots(Matrix& columns, Eigen::Index count, std::vector<Eigen::Index>& pivot_indices) {
  pivot_indices.clear();
  while (static_cast<Eigen::Index>(pivot_indices.size()) < count) {
    Eigen::Index pivot = -1;
    double largest_norm = kMinNorm;
    for (Eigen::Index i = 0; i < columns.cols(); ++i) {
      const double magnitude = std::nearbyint(columns.col(i).norm() * 1e9) / 1e9;
      if (!(magnitude > largest_norm)) continue;
      largest_norm = magnitude;
      pivot = i;
    }
    if (pivot < 0) break;
    pivot_indices.push_back(pivot);
    columns.col(pivot) /= columns.col(pivot).norm();
    for (Eigen::Index i = 0; i < columns.cols(); ++i) {
      if (i != pivot) columns.col(i) -= columns.col(i).dot(columns.col(pivot)) * columns.col(pivot);
    }
    columns.col(pivot).setZero();
  }
  std::sort(pivot_indices.begin(), pivot_indices.end());
}

std::vector<Eigen::Index> pivot_columns(Eigen::MatrixXd columns, Eigen::Index count) {
  std::vector<Eigen::Index> pivot_indices;
  select_pivots(columns, count, pivot_indices);
  return pivot_indices;
}

}  // namespace

WheeledTerms::WheeledTerms(const Model& model, const std::vector<Wheel>& wheels)
    : model_(model), d_(model), velocity_(VectorV::Zero(model.nv())) {
  if (wheels.empty()) {
    throw ModelError(
        "a robot on wheels needs its wheels: give the joints that turn them, and their radii, m");
  }
  if (model.base() != Base::planar) {
    throw ModelError("wheels roll on the plane of a planar base; '" + model.name() +
                     "' has another one: load it with base=planar");
  }
  if (2 * static_cast<int>(wheels.size()) > kMaxVelocities) throw ModelError("too many wheels");
  d_.set(model.neutral_configuration(), velocity_);
  for (const Wheel& wheel : wheels) contacts_.push_back(make_contact(wheel));
  const auto rows = 2 * static_cast<Eigen::Index>(wheels.size());
  constraints_.setZero(rows, model.nv());
  constraint_rates_ = constraints_;
  choose_partition();
  nu.setZero(m_);
  basis.setZero(model.nv(), m_);
  basis_rate = basis;
  mass.setZero(m_, m_);
  coriolis = mass;
}

WheeledTerms::WheelContact WheeledTerms::make_contact(const Wheel& wheel) {
  const pinocchio::Model& robot = model_.pinocchio();
  if (!(wheel.radius > 0.0)) {
    throw ModelError("the radius of wheel '" + wheel.joint +
                     "' must be positive; given: " + std::to_string(wheel.radius));
  }
  if (!robot.existJointName(wheel.joint)) {
    throw ModelError("'" + wheel.joint + "' is no joint of '" + model_.name() + "'");
  }
  const auto frame = robot.getFrameId(wheel.joint, pinocchio::JOINT);
  const auto velocity_index = model_.b() + model_.leader_of(robot.getJointId(wheel.joint)).index;
  const Vector3d axle =
      d_.frame_jacobian(frame, pinocchio::LOCAL_WORLD_ALIGNED).col(velocity_index).tail<3>();
  const double length = axle.norm();
  if (length < 1e-9 || std::abs(axle.z()) > 1e-6 * length) {
    throw ModelError("'" + wheel.joint +
                     "' must turn a wheel about an axis that is parallel to the plane of the base; "
                     "its axis has a component along the normal, or it does not turn");
  }
  return {frame, velocity_index, length, wheel.radius};
}

Eigen::MatrixXd WheeledTerms::constraints_at(const Eigen::VectorXd& q) {
  d_.set(q, velocity_);
  compute_constraints(false);
  return constraints_;
}

/// Choose independent rows of the constraints, and velocities, from those at several postures.
void WheeledTerms::choose_partition() {
  const int nv = model_.nv(), posture_count = 5;
  const Eigen::Index row_count = constraints_.rows();
  Eigen::MatrixXd stacked_rows(row_count, posture_count * nv);
  std::vector<Eigen::MatrixXd> constraints;
  Eigen::Index rank = 0;
  for (int k = 0; k < posture_count; ++k) {
    Eigen::VectorXd q = model_.neutral_configuration(), increment(nv);
    for (int i = 0; i < nv; ++i)
      increment[i] = k == 0 ? 0.0 : 2.0 * std::sin(1.3 * (i + 1) * (k + 1));
    model_.integrate(model_.neutral_configuration(), increment, q);
    constraints.push_back(constraints_at(q));
    rank = std::max(rank, static_cast<Eigen::Index>(
                              pivot_columns(constraints.back().transpose(), row_count).size()));
    const double scale = std::max(1e-300, constraints.back().cwiseAbs().maxCoeff());
    stacked_rows.middleCols(k * nv, nv) = constraints.back() / scale;
  }
  if (rank == nv) {
    throw ModelError("the constraints leave the robot no motion; take away those too many");
  }
  independent_rows_ = pivot_columns(stacked_rows.transpose(), rank);
  Eigen::MatrixXd stacked_columns(posture_count * rank, nv);
  for (int k = 0; k < posture_count; ++k) {
    for (Eigen::Index r = 0; r < rank; ++r) {
      stacked_columns.row(k * rank + r) = constraints[static_cast<std::size_t>(k)].row(
          independent_rows_[static_cast<std::size_t>(r)]);
    }
  }
  dependent_dofs_ = pivot_columns(std::move(stacked_columns), rank);
  std::string names;
  for (Eigen::Index i = 0; i < nv; ++i) {
    if (std::find(dependent_dofs_.begin(), dependent_dofs_.end(), i) != dependent_dofs_.end())
      continue;
    independent_dofs_.push_back(i);
    const char* base_names[] = {"base x", "base y", "base yaw"};
    const std::string name =
        i < 3 ? base_names[i] : model_.joint_names()[static_cast<std::size_t>(i - 3)];
    names += (names.empty() ? "" : ", ") + name;
  }
  m_ = static_cast<int>(independent_dofs_.size());
  pivots_.reserve(dependent_dofs_.size());
  reason_ = "the velocities " + names +
            " do not determine the others at this posture: a wheel stands across the motion that "
            "they describe";
}

/// Write the rows of the velocities of all points of contact, and their derivatives.
VMS_PH_FMA void WheeledTerms::compute_constraints(bool needs_rates) noexcept {
  Eigen::Index row = 0;
  const auto contact_velocity = [](const auto& jacobian, double radius, Eigen::Index i) {
    const Vector3d axis = jacobian.col(i).template tail<3>();
    return Vector3d(jacobian.col(i).template head<3>() + radius * Vector3d(-axis.y(), axis.x(), 0));
  };
  const auto heading = [](const Vector3d& axle) { return Vector3d(axle.y(), -axle.x(), 0.0); };
  for (const WheelContact& wheel : contacts_) {
    const auto& jacobian = d_.frame_jacobian(wheel.frame, pinocchio::LOCAL_WORLD_ALIGNED);
    const Vector3d axle = jacobian.col(wheel.axle_velocity_index).tail<3>() / wheel.turn_ratio;
    Vector3d angular_velocity = Vector3d::Zero();
    for (Eigen::Index i = 0; i < constraints_.cols(); ++i) {
      const Vector3d velocity = contact_velocity(jacobian, wheel.radius, i);
      constraints_(row, i) = heading(axle).dot(velocity);
      constraints_(row + 1, i) = axle.dot(velocity);
      angular_velocity += jacobian.col(i).tail<3>() * d_.v()[i];
    }
    if (needs_rates) {
      const Vector3d axle_rate = angular_velocity.cross(axle);
      const auto& jacobian_rate =
          d_.frame_jacobian_rate(wheel.frame, pinocchio::LOCAL_WORLD_ALIGNED);
      for (Eigen::Index i = 0; i < constraints_.cols(); ++i) {
        const Vector3d velocity = contact_velocity(jacobian, wheel.radius, i);
        const Vector3d rate = contact_velocity(jacobian_rate, wheel.radius, i);
        constraint_rates_(row, i) = heading(axle).dot(rate) + heading(axle_rate).dot(velocity);
        constraint_rates_(row + 1, i) = axle.dot(rate) + axle_rate.dot(velocity);
      }
    }
    row += 2;
  }
}

/// Write the solution X of J_dependent X = -residual to the dependent rows of a matrix (nv,m).
bool WheeledTerms::solve_dependent(const MatrixV& residual, MatrixV& solution) noexcept {
  const auto rank = static_cast<Eigen::Index>(independent_rows_.size());
  dependent_block_.resize(rank, rank);
  product_ = -residual;
  double squared_norm = 0.0;
  for (Eigen::Index r = 0; r < rank; ++r) {
    const Eigen::Index row = independent_rows_[static_cast<std::size_t>(r)];
    squared_norm += constraints_.row(row).squaredNorm();
    for (Eigen::Index c = 0; c < rank; ++c) {
      dependent_block_(r, c) = constraints_(row, dependent_dofs_[static_cast<std::size_t>(c)]);
    }
  }
  if (!solve_square(dependent_block_, product_, kMinNorm * std::sqrt(squared_norm))) return false;
  for (Eigen::Index r = 0; r < rank; ++r) {
    const Eigen::Index row = dependent_dofs_[static_cast<std::size_t>(r)];
    for (Eigen::Index c = 0; c < solution.cols(); ++c) solution(row, c) = product_(r, c);
  }
  return true;
}

/// Choose the dependent velocities that the constraints determine best, of the rows computed last.
void WheeledTerms::select_dependent() noexcept {
  const auto rank = static_cast<Eigen::Index>(independent_rows_.size());
  MatrixV columns(rank, constraints_.cols());
  for (Eigen::Index r = 0; r < rank; ++r)
    columns.row(r) = constraints_.row(independent_rows_[static_cast<std::size_t>(r)]);
  select_pivots(columns, rank, pivots_);
  if (static_cast<Eigen::Index>(pivots_.size()) < rank) return;
  std::copy(pivots_.begin(), pivots_.end(), dependent_dofs_.begin());
  std::size_t k = 0;
  for (Eigen::Index i = 0; i < constraints_.cols(); ++i) {
    if (!std::binary_search(pivots_.begin(), pivots_.end(), i)) independent_dofs_[k++] = i;
  }
}

bool WheeledTerms::compute(const RobotState& state, Partition partition) noexcept {
  const auto rank = static_cast<Eigen::Index>(independent_rows_.size());
  d_.set(state);
  compute_constraints(false);
  if (partition == Partition::best) select_dependent();
  MatrixV residual(rank, m_);
  basis.setZero();
  for (Eigen::Index c = 0; c < m_; ++c) {
    const Eigen::Index column = independent_dofs_[static_cast<std::size_t>(c)];
    nu[c] = state.v[column];
    basis(column, c) = 1.0;
    for (Eigen::Index r = 0; r < rank; ++r) {
      residual(r, c) = constraints_(independent_rows_[static_cast<std::size_t>(r)], column);
    }
  }
  if (!solve_dependent(residual, basis)) return false;
  multiply(basis, nu, velocity_);
  d_.set(state.q, velocity_);
  compute_constraints(true);
  for (Eigen::Index r = 0; r < rank; ++r) {
    const Eigen::Index row = independent_rows_[static_cast<std::size_t>(r)];
    residual.row(r) = constraint_rates_.row(row).lazyProduct(basis);
  }
  basis_rate.setZero();
  if (!solve_dependent(residual, basis_rate)) return false;
  multiply(d_.M(), basis, product_);
  multiply(transposed(basis), product_, mass);
  multiply(d_.C(), basis, product_);
  add_product(d_.M(), basis_rate, product_);
  multiply(transposed(basis), product_, coriolis);
  return true;
}

}  // namespace vms_ph
