// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// External forces observed from the momentum, and the wrenches that cause them.
#pragma once

#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// The residual of the generalised momentum; see vms_ph_controllers.observers.MomentumObserver.
class MomentumObserver {
 public:
  /// @param bandwidth  1/s.
  /// @throws ModelError  the bandwidth is not positive and finite.
  MomentumObserver(const Model& model, double bandwidth);

  /// Begin with a force of zero.
  void restart() noexcept;

  /// Observe a sample.
  void add(const ExternalImpulse& impulse) noexcept;

  /// The external force (nv,) in the coordinates of the balance, and its covariance (nv,nv).
  const VectorV& value() const noexcept { return value_; }
  const MatrixV& covariance() const noexcept { return covariance_; }

 private:
  const double bandwidth_;
  VectorV value_, systematic_;
  MatrixV start_covariance_, effort_noise_, end_covariance_, covariance_;
  double end_weight_ = 0.0;
};

/// Distributes an observed force over end effector and base; see
/// vms_ph_controllers.observers.WrenchMap.
class WrenchMap {
 public:
  /// Standard deviations before anything is measured; those of the wind are at a moving base.
  WrenchMap(const ImpulseBalance& balance, double force, double moment, double wind_force,
            double wind_moment);

  /// Find the wrenches of an observed force at the state of the last sample.
  void estimate(Evaluation& d, const MomentumObserver& observed) noexcept;

  /// Wrench (6,) on the end effector in its own axes, linear first, and its covariance (6,6).
  const VectorV& wrench() const noexcept { return wrench_; }
  const MatrixV& covariance() const noexcept { return covariance_; }

  /// Number of components of the base that are estimated; they follow those of the end effector.
  int wind() const noexcept { return wind_; }

 private:
  const ImpulseBalance& balance_;
  const int wind_;
  VectorV prior_, wrench_, force_;
  MatrixV weight_, columns_, weighted_, information_, covariance_;
};

}  // namespace vms_ph
