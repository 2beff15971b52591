// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The null space of a task in a smooth basis, and the derivatives of the task-space form.
#pragma once

#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {

class Dynamics;
class TreeDerivatives;

/// The orthonormal basis of the null space of a Jacobian J (m,nv) that is closest to a reference
/// Zref (k,nv), in axes in which `S = Zref Z^T`, symmetric, is diagonal.
class AlignedBasis {
 public:
  using ConstMatrix = Eigen::Ref<const Eigen::MatrixXd>;

  explicit AlignedBasis(Eigen::Index size = 0) : eigen_(size) {}

  /// Compute it of J and `(J^+)^T`, (m,nv) both; return the alignment, the least entry of S. Zero
  /// where no basis is closest.
  double compute(const ConstMatrix& jacobian, const ConstMatrix& inverse_transpose,
                 const ConstMatrix& reference) noexcept;

  /// The derivative of Z of a derivative of J, (k,nv).
  MatrixV rate(const MatrixView& jacobian_rate) const noexcept;

  /// B (m,nv) with `<B, Jdot> = nu^T Zdot p` for every Jdot.
  MatrixV rate_transpose(const VectorV& nu, const VectorV& p) const noexcept;

  /// Omega (k,k) with `S Omega + Omega S = F^T - F`, skew.
  MatrixV spin(const MatrixV& f) const noexcept;

  /// The axes in those of the reference, (k,k).
  const Eigen::MatrixXd& axes() const noexcept { return eigen_.vectors(); }

  Eigen::MatrixXd Z;        ///< (k,nv)
  Eigen::MatrixXd overlap;  ///< Zref J^+ (k,m)
  Eigen::VectorXd cosines;  ///< the diagonal of S

 private:
  SymmetricEigen eigen_;
  Eigen::MatrixXd inverse_transpose_;  ///< (J^+)^T, (m,nv)
};

/// The momenta of vms_ph_dynamics.TaskSpaceForm.
struct TaskForm {
  /// Rows of the Jacobian of a frame, in inertial axes.
  struct FrameRows {
    int frame, first_row, row_count;
  };
  std::vector<FrameRows> frame_rows;
  Eigen::MatrixXd reference;  ///< Zref (k,nv), orthonormal rows
  double min_sigma;           ///< smallest singular value of a regular task
};

/// What the task-space form has beside the standard form: derivatives of the Jacobian and of the
/// null space, contracted with the state; see docs/derivations.md.
///
/// A workspace: only a form of another size than the last takes memory. Nothing throws.
class TaskDerivatives {
 public:
  /// Begin with the momenta (nv,) of a form at the configuration set; false near a singularity.
  bool compute(Dynamics& d, const TaskForm& form, const double* momenta) noexcept;

  /// Go on at the velocity set, under a rate (nv,) of the momenta of the standard form.
  void compute_rates(Dynamics& d, const TaskForm& form, const Eigen::VectorXd& force) noexcept;

  /// Add to the columns at a velocity (nv,) what derivatives of J contribute.
  void write(const Dynamics& d, const TaskForm& form, const Eigen::VectorXd& v,
             TreeDerivatives& columns) noexcept;

  /// Add the derivatives (nv,) of the energy by q, at fixed M v, that are due to J, and write those
  /// by the momenta.
  void add_energy(const Dynamics& d, const TaskForm& form, const Eigen::VectorXd& v, double* by_q,
                  double* by_momenta) noexcept;

  int rows() const noexcept { return static_cast<int>(jacobian.rows()); }
  MatrixView task_inverse() const noexcept { return MatrixView(inverse).left_columns(rows()); }

  AlignedBasis null_space;
  Eigen::MatrixXd jacobian, extended_jacobian, inverse;  ///< J, J_bar, its inverse
  Eigen::MatrixXd force_by_null_velocity;                ///< Lambda_t Jdot - J_sharp^T Mdot (m,nv)
  Eigen::MatrixXd basis_rate;                            ///< Zdot (k,nv)
  Eigen::VectorXd momentum;                              ///< M v (nv,)
  Eigen::VectorXd null_velocity, null_velocity_rate;

 private:
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using RowWriter = void (Dynamics::*)(int frame, bool is_inertial, double* out) const;

  /// Write the Jacobians of the frames, or their rates; and the derivatives of both by q.
  void stack(const Dynamics& d, const TaskForm& form, RowWriter write_rows, Eigen::MatrixXd& rows);
  void differentiate(const Dynamics& d, const TaskForm& form, const Eigen::VectorXd& v) noexcept;

  RowMajor frame_jacobian_;
  /// (J^+)^T, (J J^T)^-1, (Z M Z^T)^-1, Lambda_t, Jdot.
  Eigen::MatrixXd inverse_transpose_, gram_inverse_, null_inverse_, task_inertia_, jacobian_rate_;
  Eigen::VectorXd pi_, pi_rate_, null_momentum_, force_;  ///< force_: rate of M v
  int width_ = 0;  ///< of a row of derivatives by q: of the joints (padded), of the base
  std::vector<double> gradient_, rate_gradient_;  ///< (m,nv,width), of J and of Jdot
  std::vector<double> products_;                  ///< intermediate
};

}  // namespace vms_ph
