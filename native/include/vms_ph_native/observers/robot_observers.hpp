// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// All observers of a robot, for a host with states and efforts.
#pragma once

#include "vms_ph_native/observers/contact_detector.hpp"
#include "vms_ph_native/observers/impulse_balance.hpp"
#include "vms_ph_native/observers/payload_observer.hpp"

namespace vms_ph {

/// What a host may choose of the observers; see the parameters of force_observer.
struct ObserverOptions {
  NoiseModel noise;
  bool decoupled = false;     ///< observe wrench and contact in decoupled coordinates
  bool friction = false;      ///< whether the friction of the robot description acts
  double bandwidth = 30.0;    ///< of the wrench, 1/s
  double false_alarms = 1.0;  ///< largest expected number in an hour
  int windows = 6;            ///< of the contact detector
  double wind_force = 10.0;   ///< standard deviation of external forces at a moving base, N
  double wind_moment = 1.0;   ///< the same of moments, N m
  double force = 300.0;       ///< of the force at the end effector before anything is seen, N
  double moment = 60.0;       ///< the same of its moment, N m
};

/// External wrench, contact and payload, from the same samples; nothing but the constructor
/// allocates.
class RobotObservers {
 public:
  /// The model must outlive the observers.
  ///
  /// @throws ModelError  an option is out of its range.
  RobotObservers(const Model& model, const ObserverOptions& options);

  /// Begin at the next state.
  void restart() noexcept;

  /// Take a sample: the state (nq,), (nv,) at its end, the mean effort (nv,) over it, base wrench
  /// first, and its duration, s. Returns false for the first one and for what is not usable: then
  /// the estimates are those of the sample before.
  bool add(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
           double dt) noexcept;

  const MomentumObserver& force() const noexcept { return force_; }
  const WrenchMap& wrench() const noexcept { return wrench_; }
  const ContactReport& contact() const noexcept { return contact_; }
  const Payload& payload() const noexcept { return payload_; }

 private:
  ImpulseBalance balance_;
  ImpulseBalance standard_;  // of the payload, whose regressor is that of these coordinates
  const bool is_decoupled_;
  MomentumObserver force_;
  WrenchMap wrench_;
  ContactDetector detector_;
  PayloadObserver payload_observer_;
  ContactReport contact_;
  Payload payload_;
};

}  // namespace vms_ph
