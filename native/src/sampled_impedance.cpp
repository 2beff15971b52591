// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/sampled_impedance.hpp"

#include <algorithm>
#include <cmath>

#include "vms_ph_native/reason.hpp"

namespace vms_ph {
namespace {

// Of a reduction that is reported: damping power, share and W, and lost spring force, share and N.
constexpr double kReportedShare = 0.5, kMinPower = 1e-3, kLostShare = 0.05, kMinLostForce = 1e-6;

// The pose at which the weight is looked up is at most this far ahead, rad or m.
constexpr double kMaxPredictedStep = 0.5;

// Ratio of the energy taken out by the brake to the energy pumped in, so that it suffices while
// both grow from one sample to the next.
constexpr double kBrakeMargin = 1.25;

}  // namespace

double horizon(double dt, double delay, double age) noexcept {
  return (1.0 + 2.0 * delay) * std::max(0.0, std::min(dt, 1.0)) + 2.0 * age;
}

SampledImpedance::SampledImpedance(const Model& model, Eigen::Index velocity_dimension)
    : predicted_q_(Eigen::VectorXd::Zero(model.nq())), eigen_(velocity_dimension) {
  spring_force = damping_velocity = predicted_spring_force = brake_ = VectorV::Zero(model.nv());
}

VMS_PH_FMA void SampledImpedance::compute(const MatrixV& mass, const MatrixV& damping,
                                          const MatrixV& stiffness, const VectorV& gradient,
                                          const VectorV& velocity, double h,
                                          const VectorV* feedforward) noexcept {
  spring_force = gradient;
  damping_velocity = velocity;
  bool is_stiffness_reduced = false;
  reason_ = "";
  if (!(h > 0.0)) {
    predicted_spring_force.setZero(damping_velocity.size());
    return;
  }
  const double largest_stiffness = 0.5 / (h * h);
  stiffness_ = stiffness;
  system_matrix_ = largest_stiffness * mass - stiffness_;
  if (!Cholesky(system_matrix_).is_positive()) {
    reduce_stiffness(mass, largest_stiffness);
    const double lost_force = (gradient - spring_force).norm();
    is_stiffness_reduced = lost_force > kLostShare * gradient.norm() + kMinLostForce;
  }
  system_matrix_ = mass + h * (damping + h * stiffness_);
  const VectorV damping_force = damping.lazyProduct(damping_velocity);
  const double reference_power = feedforward ? damping_velocity.dot(*feedforward) : 0.0;
  const double damping_power = damping_velocity.dot(damping_force) - reference_power;
  VectorV predicted_velocity = mass.lazyProduct(damping_velocity);
  if (feedforward) predicted_velocity += h * *feedforward;
  Cholesky(system_matrix_).solve(predicted_velocity.data());
  // D is symmetric: the power of D w is w against D v.
  const bool is_damping_reduced =
      damping_power > kMinPower &&
      predicted_velocity.dot(damping_force) - reference_power < kReportedShare * damping_power;
  damping_velocity = predicted_velocity;
  predicted_spring_force = h * stiffness_.lazyProduct(damping_velocity);
  if (is_damping_reduced) {
    reason_ = is_stiffness_reduced
                  ? "damping reduced to what is stable at this rate; stiffness reduced to "
                    "what is stable at this rate"
                  : reasons::damping_reduced;
  } else if (is_stiffness_reduced) {
    reason_ = reasons::stiffness_reduced;
  }
}

// Reduce the stiffness to `largest_stiffness` times the mass matrix, in every direction.
void SampledImpedance::reduce_stiffness(const MatrixV& mass, double largest_stiffness) noexcept {
  const Cholesky factors(mass);
  const Eigen::Index size = mass.rows();
  for (Eigen::Index k = 0; k < size; ++k) factors.solve_root(&stiffness_(0, k));
  stiffness_.transposeInPlace();
  for (Eigen::Index k = 0; k < size; ++k) factors.solve_root(&stiffness_(0, k));
  if (!eigen_.compute(stiffness_)) {  // no direction is known: no spring is held
    stiffness_.setZero();
    spring_force.setZero();
    return;
  }
  const Eigen::VectorXd& spectrum = eigen_.values();
  factors.solve_root(spring_force.data());
  auto modal_gradient = product<VectorV>(transposed(eigen_.vectors()), spring_force);
  modes_ = eigen_.vectors();
  MatrixV reduced_modes(size, size);
  for (Eigen::Index k = 0; k < size; ++k) {
    modal_gradient[k] *= largest_stiffness / std::max(spectrum[k], largest_stiffness);
    factors.multiply_root(&modes_(0, k));
    reduced_modes.col(k) = std::min(std::max(spectrum[k], 0.0), largest_stiffness) * modes_.col(k);
  }
  multiply(modes_, modal_gradient, spring_force);
  multiply(reduced_modes, transposed(modes_), stiffness_);
}

const VectorV& SampledImpedance::brake(Evaluation& d, double h,
                                       const VectorV* gyroscopic_force) noexcept {
  brake_.setZero(d.v().size());
  const double half_motion = 0.5 * h * d.v().cwiseAbs().maxCoeff();
  const double twice_kinetic = 2.0 * d.kinetic_energy();
  if (!(half_motion > 0.0 && std::isfinite(half_motion) && twice_kinetic > 0.0)) return brake_;
  const double lookahead_time = 0.5 * h * std::min(1.0, kMaxPredictedStep / half_motion);
  const VectorV displacement = lookahead_time * d.v();
  d.model().integrate(d.q(), displacement, predicted_q_);
  double pumped_power = std::max(0.0, d.v().dot(d.g()) - d.gravity_power(predicted_q_));
  if (gyroscopic_force) {
    VectorV gyroscopic_acceleration = *gyroscopic_force;
    system_matrix_ = d.M();
    Cholesky(system_matrix_).solve(gyroscopic_acceleration.data());
    pumped_power += 0.5 * h * gyroscopic_force->dot(gyroscopic_acceleration);
  }
  brake_ = -std::min(kBrakeMargin * pumped_power / twice_kinetic, 1.0 / h) * d.momentum();
  return brake_;
}

}  // namespace vms_ph
