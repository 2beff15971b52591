// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/observers/robot_observers.hpp"

namespace vms_ph {

RobotObservers::RobotObservers(const Model& model, const ObserverOptions& options)
    : balance_(model, options.noise, options.decoupled, options.friction),
      standard_(model, options.noise, false, options.friction),
      is_decoupled_(options.decoupled && model.b() > 0),
      force_(model, options.bandwidth),
      wrench_(balance_, options.force, options.moment, options.wind_force, options.wind_moment),
      detector_(balance_, options.false_alarms, options.windows),
      payload_observer_(standard_) {}

void RobotObservers::restart() noexcept {
  balance_.restart();
  standard_.restart();
  force_.restart();
  detector_.restart();
  payload_observer_.restart();
  contact_ = ContactReport();
  payload_ = Payload();
}

bool RobotObservers::add(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
                         double dt) noexcept {
  const ExternalImpulse* impulse = balance_.add(q, v, effort, dt);
  const ExternalImpulse* standard = is_decoupled_ ? standard_.add(q, v, effort, dt) : impulse;
  if (impulse == nullptr || standard == nullptr) return false;
  force_.add(*impulse);
  wrench_.estimate(*impulse->d, force_);
  contact_ = detector_.add(*impulse);
  payload_ = payload_observer_.add(*standard);
  return true;
}

}  // namespace vms_ph
