// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Damping and stiffness of a sampled law that are stable at its rate, for all gains.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The horizon h = (1 + 2 delay) dt + 2 age, s, for a delay in samples and a state of an age, s;
/// see vms_ph_controllers/laws/sampled_impedance.py.
double horizon(double dt, double delay, double age) noexcept;
/// Square of a spring's frequency (rad/s), at most that of a lone spring that is stable over h, s.
inline double stable_omega_squared(double frequency, double h) noexcept {
  return std::min(frequency * frequency, 0.5 / std::max(h * h, 1e-9));
}

/// Spring and damping that may be held for a sample.
class SampledImpedance {
 public:
  /// @param velocity_dimension  of the law. Where wheels leave fewer velocities than the robot has,
  ///                            brake() must not be called.
  explicit SampledImpedance(const Model& model, Eigen::Index velocity_dimension);
  explicit SampledImpedance(const Model& model) : SampledImpedance(model, model.nv()) {}

  /// Compute spring and damping forces to hold for a sample. Matrices are (nv,nv) and symmetric.
  ///
  /// @param damping    D, positive semidefinite.
  /// @param stiffness  K, an upper bound of the Hessian of the potential, positive semidefinite.
  /// @param gradient   (nv,) of the potential.
  /// @param velocity   (nv,) of the robot, or its error.
  /// @param h          the horizon, s.
  /// @param feedforward      (nv,) damping force at the velocity of the reference; null for none.
  void compute(const MatrixV& mass, const MatrixV& damping, const MatrixV& stiffness,
               const VectorV& gradient, const VectorV& velocity, double h,
               const VectorV* feedforward = nullptr) noexcept;

  /// A force (nv,) along the momentum that takes out energy. Holding the compensation of gravity,
  /// and a gyroscopic force (nv,) if there is one, would pump as much in within the horizon.
  const VectorV& brake(Evaluation& d, double h, const VectorV* gyroscopic_force = nullptr) noexcept;

  VectorV spring_force;      ///< (nv,) gradient of the potential, reduced where the stiffness is
  VectorV damping_velocity;  ///< w (nv,): the damping force is D w; predicted for the sample's end
  VectorV predicted_spring_force;  ///< (nv,) additional spring force at the predicted pose, h K w

  /// What was reduced; empty when nothing was.
  const char* reason() const noexcept { return reason_; }

 private:
  void reduce_stiffness(const MatrixV& mass, double largest_stiffness) noexcept;

  Eigen::VectorXd predicted_q_;
  MatrixV stiffness_, system_matrix_, modes_;
  VectorV brake_;
  SymmetricEigen eigen_;
  const char* reason_ = "";
};

}  // namespace vms_ph
