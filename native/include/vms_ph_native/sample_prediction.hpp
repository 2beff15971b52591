// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energy that an effort will give to a robot while it is held over a sample.
#pragma once

#include <optional>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The outcome of a sample.
struct Prediction {
  /// Upper bound of the energy that the budget lacks for the sample, J; not positive where the
  /// budget covers it.
  double lack = 0.0;
  VectorV acceleration;  ///< (nv,) at the beginning of the sample
  VectorV way;           ///< (nv,) displacement over the sample
};

/// Predicts the net work of held efforts, beyond that against gravity, over the sample.
///
/// The motion of the robot is integrated over the whole sample by Runge-Kutta steps of fourth
/// order, so that Coriolis forces, the change of gravity and that of the inertia are covered. The
/// second-order scheme with the same stages estimates the error, of which the margin is a share.
/// Within a step the energy is the cubic polynomial through the energies and the powers at its
/// ends, so that an effort that gives energy first and takes it back later is seen.
class SamplePrediction {
 public:
  explicit SamplePrediction(const Model& model);

  /// Begin at a state, which must stay unchanged until the last prediction.
  ///
  /// @param unheld  (nv,) part of gravity that no actuator compensates; its work is not counted.
  /// @param budget  energy that the sample may give, J; negative if it must take some out.
  /// @param dt      duration of the sample, s.
  void begin(Evaluation& d, const VectorV& unheld, double budget, double dt) noexcept;

  /// Write what efforts (nv,) held over the sample do.
  void predict(const VectorV& force, Prediction& result) noexcept;

  /// Upper bound of the energy that the last prediction gives, J; infinite for a motion that is too
  /// fast to be predicted.
  double energy() const noexcept { return energy_; }

  /// Configuration (nq,) and velocity (nv,) at the end of the last prediction, if it is finite.
  const Eigen::VectorXd& end_q() const noexcept { return start_; }
  const VectorV& end_v() const noexcept { return v1_; }

 private:
  // Write the acceleration (nv,) at q_ and a velocity; return the power of the effort, W.
  double rate(Dynamics& at, const VectorV& v, const VectorV& force, VectorV& result) noexcept;
  // Power of an effort at q_ and a velocity, W.
  double power(const VectorV& v, const VectorV& force) noexcept;
  // Set q_ to the configuration reached from start_ by a displacement.
  void move(const VectorV& way) noexcept;

  const Model& model_;
  std::optional<Evaluation> wet_;  ///< in a fluid, in place of those below
  Cholesky inertia_;
  // The first two stages of a sample stand where those of the previous prediction did, whatever
  // the effort: each keeps its inertia.
  Dynamics first_, second_, at_;
  Evaluation* d_ = nullptr;
  Eigen::VectorXd start_, q_, velocity_, tangent_, force_, weight_, acceleration_;
  VectorV unheld_, a1_, a2_, a3_, a4_, v1_, v2_, v3_, v4_, way_;
  double budget_ = 0.0, dt_ = 0.0, energy_ = 0.0;
};

}  // namespace vms_ph
