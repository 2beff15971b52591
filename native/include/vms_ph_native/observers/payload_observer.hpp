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

// The mass and centre of mass of a payload, observed online from the balance of momentum.
#pragma once

#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// An observed payload; see vms_ph_controllers.observers.Payload.
struct Payload {
  double mass = 0.0;                                         ///< kg
  Eigen::Vector3d moment = Eigen::Vector3d::Zero();          ///< mass times centre of mass, kg m
  Eigen::Matrix4d covariance = Eigen::Matrix4d::Identity();  ///< of mass and moment
  bool changed = false;  ///< whether a change was noticed in this sample

  /// Standard deviation of the mass, kg.
  double mass_deviation() const noexcept;

  /// Centre of mass from the end effector in its axes, m; zero without a mass.
  Eigen::Vector3d centre() const noexcept;

  /// Its standard deviations, m; infinite without a mass.
  Eigen::Vector3d centre_deviation() const noexcept;
};

/// Kalman filter of the momentum that a payload takes from the robot; see
/// vms_ph_controllers.observers.PayloadObserver. Nothing but the constructor allocates.
class PayloadObserver {
 public:
  /// The standard coordinates are those of the balance. Standard deviations before anything is
  /// measured: of the mass, kg, of the distance of its parts from the end effector, m, and of the
  /// external force on a moving base, N.
  PayloadObserver(const ImpulseBalance& balance, double mass = 10.0, double reach = 0.2,
                  double wind = 0.5);

  /// Forget payload and offsets.
  void restart() noexcept;

  /// Forget the payload, because it is about to change, and keep the offsets.
  void expect_change() noexcept;

  /// The payload observed up to the end of a sample.
  const Payload& add(const ExternalImpulse& impulse) noexcept;

 private:
  using Regressor = Eigen::Matrix<double, Eigen::Dynamic, 10, 0, kMaxVelocities, 10>;

  void predict(const ExternalImpulse& impulse) noexcept;
  void find_regressors() noexcept;
  const Payload& told(bool changed) noexcept;

  const Model& model_;
  const int nv_;
  const double error_, limit_;
  Evaluation ahead_;  // the state with the velocity expected from the samples before it
  Eigen::VectorXd prior_, mean_, innovation_;
  Eigen::MatrixXd covariance_, across_, gain_;
  VectorV sum_, velocity_, acceleration_, expected_, missed_;
  MatrixV spread_;
  Regressor momentum_, rate_, last_momentum_, last_rate_, taken_;
  bool has_sum_ = false, has_last_ = false, has_velocity_ = false;
  Payload payload_;
};

}  // namespace vms_ph
