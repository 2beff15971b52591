// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Flight on thrust along one axis of the base, with an arm that moves.
#pragma once

#include <optional>

#include "vms_ph_native/attitude_and_shape.hpp"
#include "vms_ph_native/thrust_direction.hpp"

namespace vms_ph {

/// Gains of the flight.
struct UnderactuatedFlightGains : AttitudeGains {
  double frequency_position = 1.2, largest_tilt = 0.6;

  static const GainTable<UnderactuatedFlightGains>& table();
};

/// Geometric flight with a thrust along one axis, in the inertially decoupled coordinates of
/// [A (59)]. The law is described in vms_ph_controllers/laws/underactuated_flight.py.
class UnderactuatedFlight final : public RampedGains<AttitudeAndShape, UnderactuatedFlightGains> {
 public:
  /// Control position and heading of the base and the joints of a robot, which must outlive the
  /// controller.
  ///
  /// @param allocation   its rotors, whose thrusts all have one axis.
  /// @throws ModelError  the base does not float or has no rotors; or the rotors push along several
  ///                     axes, or cannot turn the base about all axes.
  UnderactuatedFlight(const Model& model, const std::optional<Allocation>& allocation,
                      bool base_actuated = true);

 private:
  BaseMotion base_motion(Evaluation& d, const LockedBody& body, double h) noexcept override;
  Eigen::Matrix3d attitude_of(const Eigen::Matrix3d& rotation) const noexcept override {
    return direction_.attitude(up_, rotation);
  }
  Twist twist_of(const Twist& twist) const noexcept override;
  double bandwidth() const noexcept override { return gains_now().frequency_position; }
  double place_frequency() const noexcept override { return gains_now().frequency_position; }

  const SingleAxis thrust_;
  const ThrustDirection direction_;
  const double strength_;     // of gravity, m/s^2
  const Eigen::Vector3d up_;  // length one
};

}  // namespace vms_ph
