// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "vms_ph_native/routing.hpp"

#include <Eigen/LU>
#include <algorithm>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/orthogonal_columns.hpp"

namespace vms_ph {
namespace {

// The null-space basis is renewed where its alignment with the reference falls below this.
constexpr double kAligned = 0.5;

// Below this a direction of the one is perpendicular to all of the other.
constexpr double kUnrelated = 1e-6;

}  // namespace

void EnergyRouting::anchor(Evaluation& d) noexcept {
  is_anchored_ = d.model().nv() > PositionTask::kDimension;  // otherwise there is no null space
  if (!is_anchored_) return;
  at_anchor_.compute(task_.jacobian(d));
  reference_ = at_anchor_.kernel;
}

double EnergyRouting::align(const MatrixV& kernel) noexcept {
  // With the singular value decomposition U S V^T of Zref kernel^T, Z is U V^T kernel.
  MatrixV columns = reference_ * kernel.transpose(), turn;
  make_columns_orthogonal(columns, turn);
  double least = 1.0;
  for (Eigen::Index k = 0; k < columns.cols(); ++k) {
    const double length = columns.col(k).norm();
    least = length < least ? length : least;
    columns.col(k) /= length;
  }
  if (!(least > kUnrelated)) {
    Z_ = kernel;
    return 0.0;
  }
  const MatrixV polar = columns * turn.transpose();
  Z_.noalias() = polar * kernel;
  return least;
}

void EnergyRouting::decompose() noexcept {
  const MatrixV s = reference_ * Z_.transpose();
  const MatrixV symmetric = 0.5 * (s + s.transpose());
  eigen_.compute(symmetric);
  vectors_ = eigen_.vectors();
  const Eigen::VectorXd& values = eigen_.values();
  sums_.resizeLike(s);
  for (Eigen::Index k = 0; k < values.size(); ++k) sums_.col(k) = values.array() + values[k];
}

VectorV EnergyRouting::basis_rate(const Tall& pseudo_inverse, const Matrix3V& jacobian_rate,
                                  const VectorV& momentum) const noexcept {
  // The part of Zdot in the row space of J follows from J Z^T = 0; the part in the null space,
  // Omega Z with Omega skew, from the symmetry of S = Zref Z^T: S Omega + Omega S = F - F^T.
  const MatrixV turned = pseudo_inverse * jacobian_rate;
  const MatrixV row_part = -(Z_ * turned.transpose());
  const MatrixV f = reference_ * row_part.transpose();
  const MatrixV antisymmetric = f - f.transpose();
  const MatrixV inner = vectors_.transpose() * antisymmetric;
  const MatrixV skew = (inner * vectors_).cwiseQuotient(sums_);
  const VectorV along = Z_ * momentum;
  const VectorV seen = vectors_.transpose() * along;
  const VectorV moved = skew * seen;
  VectorV rate = row_part * momentum;
  rate.noalias() += vectors_ * moved;
  return rate;
}

Matrix3V EnergyRouting::basis_rate_transpose(const Tall& pseudo_inverse, const VectorV& nu,
                                             const VectorV& momentum) const noexcept {
  const VectorV along = Z_ * momentum;
  const VectorV a = vectors_.transpose() * nu, b = vectors_.transpose() * along;
  const MatrixV product = a * b.transpose();
  const MatrixV weight = (product - product.transpose()).cwiseQuotient(sums_);
  const MatrixV inner = vectors_ * weight;
  const MatrixV outer = inner * vectors_.transpose();
  const Tall lever = reference_ * pseudo_inverse;  // (k,3)
  const Matrix3V turning = lever.transpose() * outer;
  const Eigen::Vector3d pushed = pseudo_inverse.transpose() * momentum;
  const VectorV velocity = Z_.transpose() * nu;
  Matrix3V result = -(turning * Z_);
  result.noalias() -= pushed * velocity.transpose();
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
  const Eigen::Matrix3d mobility = jacobian * mobile;
  const Eigen::Matrix3d inertia = mobility.inverse();
  const Eigen::Matrix3d task_inertia = 0.5 * (inertia + inertia.transpose());
  const Tall j_sharp = mobile * task_inertia;
  const MatrixV weighted = Z_ * mass;
  const MatrixV null_inertia = weighted * Z_.transpose();
  MatrixV n_map = weighted;
  Cholesky(null_inertia).solve_columns(n_map);
  const Tall pseudo_inverse = svd.pseudo_inverse(0.0);

  // Velocity in the null space, and along it: v = u + n.
  const VectorV nu = n_map * d.v();
  const VectorV n = Z_.transpose() * nu;
  const VectorV u = d.v() - n;
  const Eigen::Vector3d eta = jacobian * d.v();
  const Eigen::Vector3d pi = task_inertia * eta;

  // E v: drift of J_bar^-T p along the motion at fixed p.
  const MatrixV& c = d.C();
  VectorV pull = jacobian_rate.transpose() * pi;
  pull.noalias() += c * n;
  pull.noalias() += c.transpose() * n;
  const Eigen::Vector3d across = jacobian_rate * n;
  Eigen::Vector3d task_force = task_inertia * across - j_sharp.transpose() * pull;
  VectorV null_force = basis_rate(pseudo_inverse, jacobian_rate, p);

  // E^T (eta, nu): minus the derivatives of the energy at fixed momenta of task and null space.
  Matrix3V weight = basis_rate_transpose(pseudo_inverse, nu, p);
  const VectorV apart = n - u;
  weight.noalias() += pi * apart.transpose();
  VectorV slope = task_.jacobian_slope(d, weight);
  // u^T (dM/dq_k) n = (T_k(u + n) - T_k(u - n)) / 2 with T_k(x) = (C(x)^T x)_k.
  const VectorV other = u - n;
  C_other_.resize(c.rows(), c.cols());
  d.coriolis(other, C_other_);
  slope.noalias() -= 0.5 * (c.transpose() * d.v());
  slope.noalias() += 0.5 * (C_other_.transpose() * other);

  // Minus G (eta, nu), mapped to the joints.
  task_force = j_sharp.transpose() * slope - task_force;
  null_force = Z_ * slope - null_force;
  result = jacobian.transpose() * task_force;
  result.noalias() += n_map.transpose() * null_force;
  result *= fade;
  return result.allFinite();
}

}  // namespace vms_ph
