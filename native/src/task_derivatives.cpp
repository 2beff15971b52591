// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_derivatives.hpp"

#include <algorithm>

#include "vms_ph_native/dynamics.hpp"

namespace vms_ph {
namespace {

using products::Rows;

// Below this a direction of the reference is perpendicular to all of the null space.
constexpr double kMinAlignment = 1e-6;

}  // namespace

VMS_PH_FMA double AlignedBasis::compute(const ConstMatrix& jacobian,
                                        const ConstMatrix& inverse_transpose,
                                        const ConstMatrix& reference) noexcept {
  // With B = Zref (1 - J^+ J), Z is (B B^T)^-1/2 B, and S the root.
  const MatrixV reference_overlap = product<MatrixV>(reference, transposed(inverse_transpose));
  MatrixV projected_reference = reference;
  add_product(reference_overlap, jacobian, projected_reference, -1.0);
  if (!eigen_.compute(product<MatrixV>(projected_reference, transposed(reference)))) return 0.0;
  if (!(eigen_.values()[0] > kMinAlignment * kMinAlignment)) return 0.0;
  cosines = eigen_.values().cwiseSqrt();
  multiply(transposed(axes()), projected_reference, Z);
  Z.array().colwise() /= cosines.array();
  multiply(transposed(axes()), reference_overlap, overlap);
  inverse_transpose_ = inverse_transpose;
  return cosines[0];
}

MatrixV AlignedBasis::spin(const MatrixV& f) const noexcept {
  MatrixV omega = f.transpose() - f;
  for (Eigen::Index i = 0; i < f.rows(); ++i) omega.col(i).array() /= cosines.array() + cosines[i];
  return omega;
}

VMS_PH_FMA MatrixV AlignedBasis::rate(const MatrixView& jacobian_rate) const noexcept {
  // The part of Zdot in the row space of J follows from J Z^T = 0; the part in the null space,
  // Omega Z with Omega skew, from the symmetry of S.
  const MatrixV jdot_zt = product<MatrixV>(jacobian_rate, transposed(Z));
  const MatrixV f = product<MatrixV>(overlap, jdot_zt);
  MatrixV basis_rate = product<MatrixV>(spin(f), Z);
  add_product(transposed(jdot_zt), inverse_transpose_, basis_rate, -1.0);
  return basis_rate;
}

VMS_PH_FMA MatrixV AlignedBasis::rate_transpose(const VectorV& nu,
                                                const VectorV& p) const noexcept {
  const VectorV y = product<VectorV>(Z, p), task_momentum = product<VectorV>(inverse_transpose_, p);
  const VectorV n = product<VectorV>(transposed(Z), nu);
  const MatrixV weight = spin(product<MatrixV>(y, transposed(nu)));
  const MatrixV weighted_overlap = product<MatrixV>(transposed(overlap), weight);
  MatrixV result = product<MatrixV>(weighted_overlap, Z);
  add_product(task_momentum, transposed(n), result);
  return -result;
}

void TaskDerivatives::stack(const Dynamics& d, const TaskForm& form, RowWriter write_rows,
                            Eigen::MatrixXd& rows) {
  frame_jacobian_.resize(6, d.nv());
  rows.resize(d.nv() - form.reference.rows(), d.nv());
  Eigen::Index row = 0;
  for (const TaskForm::FrameRows& block : form.frame_rows) {
    (d.*write_rows)(block.frame, true, frame_jacobian_.data());
    rows.middleRows(row, block.row_count) =
        frame_jacobian_.middleRows(block.first_row, block.row_count);
    row += block.row_count;
  }
}

VMS_PH_FMA bool TaskDerivatives::compute(Dynamics& d, const TaskForm& form,
                                         const double* momenta) noexcept {
  if (d.b() + d.tree().body_count() > kMaxVelocities) return false;
  stack(d, form, &Dynamics::jacobian, jacobian);
  const Eigen::Index nv = jacobian.cols(), m = jacobian.rows(), k = nv - m;
  const MatrixV gram = product<MatrixV>(jacobian, transposed(jacobian));
  MatrixV shifted_gram = gram;
  shifted_gram.diagonal().array() -= form.min_sigma * form.min_sigma;
  if (!Cholesky(shifted_gram).is_positive()) return false;
  gram_inverse_.setIdentity(m, m);
  Cholesky(gram).solve_rows(gram_inverse_);
  multiply(gram_inverse_, jacobian, inverse_transpose_);
  if (!(null_space.compute(jacobian, inverse_transpose_, form.reference) > 0.0)) return false;
  const Eigen::MatrixXd& Z = null_space.Z;
  MatrixV mass(nv, nv);
  d.mass(mass.data());
  const MatrixV mass_basis = product<MatrixV>(mass, transposed(Z));
  null_inverse_.setIdentity(k, k);
  Cholesky(product<MatrixV>(Z, mass_basis)).solve_rows(null_inverse_);
  const MatrixV null_map = product<MatrixV>(mass_basis, null_inverse_);  // transposed
  extended_jacobian.resize(nv, nv);
  extended_jacobian.topRows(m) = jacobian;
  extended_jacobian.bottomRows(k) = null_map.transpose();
  // J_sharp = (1 - Z^T N) J^+.
  inverse.resize(nv, nv);
  inverse.leftCols(m) = inverse_transpose_.transpose();
  inverse.rightCols(k) = Z.transpose();
  const MatrixV n_j_plus = product<MatrixV>(transposed(null_map), transposed(inverse_transpose_));
  add_product(transposed(Z), n_j_plus, inverse.leftCols(m), -1.0);
  multiply(inverse_transpose_, product<MatrixV>(mass, task_inverse()), task_inertia_);
  pi_ = Eigen::Map<const VectorV>(momenta, m);
  const VectorV pi_nu = Eigen::Map<const VectorV>(momenta + m, k);
  multiply(transposed(null_space.axes()), pi_nu, null_momentum_);
  const VectorV nu = product<VectorV>(null_inverse_, null_momentum_);
  multiply(transposed(Z), nu, null_velocity);
  multiply(transposed(jacobian), pi_, momentum);
  add_product(mass_basis, nu, momentum);
  return true;
}

VMS_PH_FMA void TaskDerivatives::compute_rates(Dynamics& d, const TaskForm& form,
                                               const Eigen::VectorXd& force) noexcept {
  stack(d, form, &Dynamics::jacobian_rate, jacobian_rate_);
  const Eigen::Index nv = jacobian.cols();
  MatrixV coriolis(nv, nv);
  d.coriolis(coriolis.data());
  const MatrixV mass_rate = coriolis + coriolis.transpose();
  force_ = force;
  VectorV net_force = force, bias = product<VectorV>(jacobian_rate_, null_velocity);
  add_product(transposed(jacobian_rate_), pi_, net_force, -1.0);
  add_product(mass_rate, null_velocity, net_force, -1.0);
  multiply(task_inverse().transposed(), net_force, pi_rate_);
  add_product(task_inertia_, bias, pi_rate_);
  const VectorV nu_rate =
      product<VectorV>(null_inverse_, product<VectorV>(null_space.Z, net_force));
  multiply(transposed(null_space.Z), nu_rate, null_velocity_rate);
  add_product(task_inverse(), bias, null_velocity_rate, -1.0);
  multiply(task_inertia_, jacobian_rate_, force_by_null_velocity);
  add_product(task_inverse().transposed(), mass_rate, force_by_null_velocity, -1.0);
  basis_rate = null_space.rate(jacobian_rate_);
}

// Column j of the Jacobian of a frame is the twist of joint j at its origin. Moving joint k turns
// it if k carries j, as does every joint of the base; else it moves the origin. Mimics add up.
VMS_PH_FMA void TaskDerivatives::differentiate(const Dynamics& d, const TaskForm& form,
                                               const Eigen::VectorXd& v) noexcept {
  const Tree& tree = d.tree();
  const int b = d.b(), nv = d.nv(), body_count = tree.body_count(), size = b + body_count,
            body_columns = padded(body_count), base_column = padded(d.n());
  width_ = padded(base_column + b);
  for (auto* matrix : {&gradient_, &rate_gradient_}) {
    matrix->resize(static_cast<std::size_t>(rows() * nv * width_));
    if (tree.has_mimics_) std::fill(matrix->begin(), matrix->end(), 0.0);
  }
  double *entries = gradient_.data(), *rate_entries = rate_gradient_.data();
  const auto write = [&](auto has_mimics, const LaneRow& values, double* row,
                         int start) VMS_PH_INLINED {
    if (has_mimics && start < body_columns) {
      return tree.add_to_joints(static_cast<std::size_t>(start) / kLaneCount, load(values), row);
    }
    row += start - body_columns + base_column;
    store(row, has_mimics ? load(row) + load(values) : load(values));
  };
  int row_of[kMaxVelocities];
  double rates[kMaxVelocities];
  for (int j = 0; j < size; ++j) {
    row_of[j] = j < b ? j : b + tree.joints_[static_cast<std::size_t>(j - b)].leader;
    rates[j] = v[row_of[j]];
  }
  Screw columns[kMaxVelocities], twists[kMaxVelocities];  // those of what the joints move
  LaneRow column_changes[kMaxVelocities][6], column_rate[6];
  Eigen::Matrix<double, 6, Eigen::Dynamic, Eigen::RowMajor, 6, kMaxVelocities> all_columns(6, size);
  for (const TaskForm::FrameRows& block : form.frame_rows) {
    tree.write_jacobian(d.frame_in_root(block.frame), d.inertial_axes(), all_columns.data(), true);
    Screw twist;
    for (int j = 0; j < size; ++j) {
      columns[j] = screw_of(Eigen::Matrix<double, 6, 1>(all_columns.col(j)));
      twist.linear -= rates[j] * columns[j].linear;
      if (j < b) twist += {rates[j] * columns[j].linear, rates[j] * columns[j].angular};
    }
    for (int j = 0; j < size; ++j) {
      if (j >= b) twist += {rates[j] * columns[j].linear, rates[j] * columns[j].angular};
      twists[j] = twist;
    }
    for (int start = 0; start < padded(body_columns + b); start += static_cast<int>(kLaneCount)) {
      LaneRow lane_columns[6] = {};
      int lane_joints[kLaneCount];
      for (std::size_t l = 0; l < kLaneCount; ++l) {
        const int column = start + static_cast<int>(l);
        lane_joints[l] = column < body_columns ? b + column : column - body_columns;
        const bool is_joint = column < body_columns ? column < body_count : lane_joints[l] < b;
        if (is_joint) set_lane(columns[lane_joints[l]], lane_columns, l);
      }
      const LaneScrew motion(lane_columns);
      LaneScrew twist_change(Screw{});  // of the rates of the columns that a twist contains
      for (int j = 0; j < size; ++j) {
        Lanes mask{};
        for (std::size_t l = 0; l < kLaneCount; ++l) mask[l] = lane_joints[l] < std::max(b, j + 1);
        const LaneScrew relative_motion(motion.linear * (mask - 1.0), motion.angular * mask);
        const LaneScrew change = bracket(relative_motion, LaneScrew(columns[j]));
        change.store_in(column_changes[j]);
        twist_change.linear = twist_change.linear - change.linear * (Lanes{} + rates[j]);
        if (j < b) twist_change = twist_change + change * (Lanes{} + rates[j]);
      }
      for (int j = 0; j < size; ++j) {
        const LaneScrew change(column_changes[j]);
        if (j >= b) twist_change = twist_change + change * (Lanes{} + rates[j]);
        (bracket(LaneScrew(twists[j]), change) + bracket(twist_change, LaneScrew(columns[j])))
            .store_in(column_rate);
        const auto write_rows = [&](auto has_mimics) VMS_PH_INLINED {
          for (int a = 0; a < block.row_count; ++a) {
            const int index = (a * nv + row_of[j]) * width_;
            write(has_mimics, column_changes[j][block.first_row + a], entries + index, start);
            write(has_mimics, column_rate[block.first_row + a], rate_entries + index, start);
          }
        };
        tree.has_mimics_ ? write_rows(std::true_type{}) : write_rows(std::false_type{});
      }
    }
    entries += block.row_count * nv * width_;
    rate_entries += block.row_count * nv * width_;
  }
}

VMS_PH_FMA void TaskDerivatives::write(const Dynamics& d, const TaskForm& form,
                                       const Eigen::VectorXd& v, TreeDerivatives& target) noexcept {
  differentiate(d, form, v);
  const Eigen::Index m = jacobian.rows(), nv = v.size(), k = nv - m, w = width_,
                     stride = static_cast<Eigen::Index>(target.stride_);
  const Eigen::Index momentum_column = static_cast<Eigen::Index>(target.base_column_) + d.b();
  const Rows slice{w, w, w}, into_columns{w, stride, w}, rows{nv * w, nv * w, nv * w};
  products_.resize(
      static_cast<std::size_t>((2 * nv + 2 * m + m * m + 2 * m * k) * w + 2 * m * (2 * k + m) * k));
  double *sums = products_.data(), *rate_sums = sums + nv * w,
         *velocity_change = rate_sums + nv * w, *rate_change = velocity_change + m * w,
         *inverse_change = rate_change + m * w, *null_change = inverse_change + m * m * w,
         *null_rate = null_change + m * k * w;
  TreeDerivatives::Columns& cols = target.state_;
  std::fill(cols.pi.begin(), cols.pi.end(), 0.0);
  std::fill(cols.pi_rate.begin(), cols.pi_rate.end(), 0.0);

  // Of the momenta J^T pi and M n at fixed pi and n, and of their rate.
  rows.write(transposed(pi_), gradient_.data(), sums);
  rows.write(transposed(pi_rate_), gradient_.data(), rate_sums);
  rows.add(transposed(pi_), rate_gradient_.data(), rate_sums);
  for (Eigen::Index j = 0; j < nv; ++j) {
    double *p_row = &cols.projected[0] + j * stride,
           *p_rate_row = &cols.projected_rate[0] + j * stride;
    for (Eigen::Index l = 0; l < w; ++l) {
      p_row[l] += sums[j * w + l];
      p_rate_row[l] += rate_sums[j * w + l];
    }
    std::copy_n(&jacobian(0, j), m, p_row + momentum_column);
    std::copy_n(&jacobian_rate_(0, j), m, p_rate_row + momentum_column);
  }
  const Eigen::MatrixXd &Z = null_space.Z, &overlap = null_space.overlap;
  const MatrixV jdot_zt = product<MatrixV>(jacobian_rate_, transposed(Z));
  for (Eigen::Index a = 0; a < m; ++a) {
    const double *row = &gradient_[0] + a * nv * w, *row_rate = &rate_gradient_[0] + a * nv * w;
    slice.write(transposed(null_velocity), row, velocity_change + a * w);
    slice.write(transposed(null_velocity_rate), row, rate_change + a * w);
    slice.add(transposed(null_velocity), row_rate, rate_change + a * w);
    slice.write(Z, row, null_change + a * k * w);
    slice.write(Z, row_rate, null_rate + a * k * w);
    slice.write(inverse_transpose_, row, inverse_change + a * m * w);
    slice.add(transposed(jdot_zt), inverse_change + a * m * w, null_rate + a * k * w, -1.0);
  }
  into_columns.add(task_inertia_, velocity_change, &cols.pi[0]);
  into_columns.add(task_inertia_, rate_change, &cols.pi_rate[0]);

  // Of Z p and Zdot p. With f = overlap dJ Z^T, dZ is spin(f) Z - (dJ Z^T)^T (J^+)^T. Once more
  // differentiated, with dJ' = dJdot - Jdot J^+ dJ - dJ J^+ Jdot and chi = (J^+)^T p,
  //   dZdot p = spin_rate dZ p - spin(f) (Jdot Z^T)^T chi - (dJ' Z^T)^T chi
  //             - (Jdot Z^T)^T (J J^T)^-1 dJ Z^T y - spin(f') y with y = Z p,
  //   f' = spin_rate g + f_rate spin(f) - overlap dJ' Z^T + (Jdot Z^T)^T (J J^T)^-1 dJ Z^T S,
  // where g, symmetric, solves S g + g S = S f^T + f S. Entry j of both is a sum over the entries
  // (a,l) of dJ Z^T and dJ' Z^T, by factors of which the state alone decides.
  const MatrixV gram_null = product<MatrixV>(gram_inverse_, jdot_zt);
  const MatrixV inverse_rate = product<MatrixV>(jacobian_rate_, transposed(inverse_transpose_));
  const MatrixV overlap_rate = product<MatrixV>(overlap, jdot_zt);
  Rows{k * w, k * w, k * w}.add(inverse_rate, null_change, null_rate, -1.0);
  const VectorV task_momentum = product<VectorV>(inverse_transpose_, momentum),
                task_force = product<VectorV>(inverse_transpose_, force_);
  VectorV spin_vector = product<VectorV>(Z, force_);
  add_product(transposed(jdot_zt), task_momentum, spin_vector, -1.0);
  const Eigen::VectorXd &cosines = null_space.cosines, &y = null_momentum_;
  const MatrixV spin_rate = null_space.spin(overlap_rate);
  // The share that a spin has of an entry of F^T - F, and its products.
  MatrixV spin_share(k, k), y_share(k, k), row_factors(k, k), column_factors(k, k);
  for (Eigen::Index l = 0; l < k; ++l) {
    spin_share.col(l) = (cosines.array() + cosines[l]).inverse();
    y_share.col(l) = y[l] * spin_share.col(l);
  }
  const MatrixV y_rate_share = product<MatrixV>(y_share, overlap_rate),
                y_spin_share = product<MatrixV>(y_share, spin_rate);
  const Eigen::Index height = 2 * k + m;
  Eigen::Map<Eigen::MatrixXd> stacked(null_rate + m * k * w, m * height, k),
      spin_sums(stacked.data() + stacked.size(), m * height, k);
  for (Eigen::Index l = 0; l < k; ++l) {
    const auto p = y_rate_share.col(l).array(), s = y_spin_share.col(l).array();
    row_factors.col(l) = spin_share.col(l).array() * (spin_vector[l] + p + s * cosines[l]);
    column_factors.col(l) = spin_share.col(l).array() * (spin_vector[l] + p - s * cosines.array());
    for (Eigen::Index a = 0; a < m; ++a) {
      auto stacked_rows = stacked.col(l).segment(a * height, height);
      stacked_rows.head(k) = overlap(l, a) * y_share.col(l);
      stacked_rows.segment(k, k) = overlap(l, a) * spin_rate.col(l);
      stacked_rows.tail(m) = overlap(l, a) * jdot_zt.col(l);
    }
  }
  products::write(stacked, spin_share, 1.0, spin_sums.data(), m * height);
  const MatrixV diagonal = product<MatrixV>(y_share, overlap),
                change_diagonal = product<MatrixV>(column_factors, overlap),
                gram_diagonal = product<MatrixV>(y_share, transposed(gram_null));
  // Factors of dJ Z^T in the rate, then those of dJ' Z^T there, as of dJ Z^T in Z p.
  Eigen::Map<Eigen::MatrixXd> factors(stacked.data(), k, 2 * m * k);
  for (Eigen::Index a = 0; a < m; ++a) {
    const VectorV overlap_a = overlap.col(a), gram = gram_null.row(a);
    const MatrixV change = product<MatrixV>(overlap, spin_sums.middleRows(a * height + 2 * k, m));
    for (Eigen::Index l = 0; l < k; ++l) {
      const double* column = &spin_sums(a * height, l);
      double *change_factor = &factors(0, a * k + l), *rate_factor = &factors(0, (m + a) * k + l);
      for (Eigen::Index j = 0; j < k; ++j) {
        rate_factor[j] = -overlap_a[j] * y_share(j, l);
        change_factor[j] = (overlap_rate(j, l) + spin_rate(j, l) * cosines[l]) * column[j] +
                           y_share(j, l) * (cosines[l] * (column[k + j] + gram[j]) - change(j, l)) -
                           overlap_a[j] * row_factors(j, l) - gram[j] * y[l];
      }
      rate_factor[l] += diagonal(l, a) - task_momentum[a];
      change_factor[l] += change_diagonal(l, a) - cosines[l] * gram_diagonal(l, a) - task_force[a];
    }
  }
  double *momentum_rows = &cols.pi[0] + m * stride, *rate_rows = &cols.pi_rate[0] + m * stride;
  into_columns.add(MatrixView(factors).right_columns(m * k), null_change, momentum_rows);
  into_columns.add(factors, null_change, rate_rows);  // dJ' Z^T follows dJ Z^T
  for (Eigen::Index i = 0; i < k; ++i) {
    Eigen::Map<Eigen::VectorXd>(momentum_rows + i * stride + momentum_column + m, k) =
        -null_space.axes().col(i);
  }
  Rows{stride, stride, w}.add(spin_rate, momentum_rows, rate_rows);
}

VMS_PH_FMA void TaskDerivatives::add_energy(const Dynamics& d, const TaskForm& form,
                                            const Eigen::VectorXd& v, double* by_q,
                                            double* by_momenta) noexcept {
  differentiate(d, form, v);
  const VectorV velocities = product<VectorV>(extended_jacobian, v);
  const VectorV nu = velocities.tail(null_momentum_.size()), n_minus_u = 2.0 * null_velocity - v;
  MatrixV weight = null_space.rate_transpose(nu, momentum);
  add_product(pi_, transposed(n_minus_u), weight);
  const MatrixV negated_weight = -weight.transpose();
  products_.resize(std::max(products_.size(), static_cast<std::size_t>(width_)));
  const double* gradient = products_.data();
  Rows{width_, width_, width_}.write({negated_weight.data(), 1, negated_weight.size(), 1, 1},
                                     gradient_.data(), products_.data());
  const int b = d.b(), n = d.n();
  for (int k = 0; k < b; ++k) by_q[k] += gradient[padded(n) + k];
  for (int k = 0; k < n; ++k) by_q[b + k] += gradient[k];
  Eigen::Map<VectorV> by_z(by_momenta, v.size());
  by_z.head(pi_.size()) = velocities.head(pi_.size());
  by_z.tail(nu.size()) = null_space.axes().lazyProduct(nu);
}

}  // namespace vms_ph
