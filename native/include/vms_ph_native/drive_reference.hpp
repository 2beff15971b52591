// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A pose in the plane that turns, drives straight and turns, as two wheels on an axle can.
#pragma once

#include <optional>

#include <Eigen/Core>

namespace vms_ph {

/// A place in the plane, m, with a heading, rad.
struct PlanarPose {
  Eigen::Vector2d place = Eigen::Vector2d::Zero();
  double heading = 0.0;
};

/// A pose that comes to a target by turning on the spot, driving straight, and turning again; it is
/// described in vms_ph_controllers/references/drive_reference.py.
class DriveReference {
 public:
  /// Largest forward speed, m/s, rate of turning, rad/s, and their rates of change.
  struct Bounds {
    double speed, turn, acceleration, turn_acceleration;
  };

  /// Rest at a pose.
  void restart(const PlanarPose& pose) noexcept;

  /// Set the target, to be turned to the shorter way; the one that it has is not taken again.
  void go_to(const PlanarPose& target) noexcept;

  /// Advance by one time step, s.
  void advance(const Bounds& bounds, double dt) noexcept;

  const Eigen::Vector2d& place() const { return pose_.place; }     ///< m
  double heading() const { return pose_.heading; }                 ///< rad, not limited to a turn
  double speed() const { return speed_; }                          ///< forward, m/s
  double turn() const { return turn_; }                            ///< about the vertical, rad/s
  double acceleration() const { return acceleration_; }            ///< rate of speed()
  double turn_acceleration() const { return turn_acceleration_; }  ///< rate of turn()

 private:
  /// Position, rate and acceleration along a part of the way.
  struct Motion {
    double position = 0.0, rate = 0.0, acceleration = 0.0;
  };

  /// A polynomial of degree five from a motion to rest.
  struct Quintic {
    Quintic(const Motion& start, double end, double time) noexcept;
    Motion at(double t) const noexcept;

    double duration = 0.0;
    Motion now;
    double c, d, e;
  };

  enum Part : int { kTurn, kDrive, kArrive, kNone };

  void begin(int what, const Bounds& bounds) noexcept;
  void brake(const Bounds& bounds) noexcept;
  void stand() noexcept;
  Eigen::Vector2d ahead() const noexcept;

  PlanarPose pose_;
  double speed_ = 0.0, turn_ = 0.0, acceleration_ = 0.0, turn_acceleration_ = 0.0;
  std::optional<PlanarPose> goal_, waiting_;
  std::optional<Quintic> part_;
  Eigen::Vector2d origin_ = Eigen::Vector2d::Zero();
  int next_ = kNone;
  double time_ = 0.0;
  bool turns_ = false, braking_ = false;
};

}  // namespace vms_ph
