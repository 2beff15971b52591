// The inner loop of a simulated robot: what its drives do where no effort is commanded.
#pragma once

#include <memory>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Computed-torque servos, critically damped, for the freedoms that are not driven by efforts.
class Servo {
 public:
  /// @param frequency  of all servos, rad/s.
  Servo(const vms_ph::Model& model, double frequency);
  ~Servo();

  /// Which of the nv freedoms are held; the others are driven by their efforts.
  std::vector<bool> held;
  /// Velocity wanted of the held freedoms, (nv,); their target moves on with it.
  Eigen::VectorXd rate;

  /// Let every freedom's target be where it is.
  void rest_at(const Eigen::VectorXd& q) noexcept;
  /// Let the target of one freedom be where it is; for a moving base all of its freedoms.
  void rest_at(const Eigen::VectorXd& q, int freedom) noexcept;
  /// Let the target of a joint be a position, rad or m.
  void go_to(int joint, double position) noexcept;
  /// Let the targets move on for a time, s.
  void advance(double dt) noexcept;

  /// Put the efforts of the held freedoms into a vector of all efforts, (nv,).
  void fill(const vms_ph::RobotState& state, Eigen::VectorXd& effort) noexcept;

 private:
  struct Workspace;
  vms_ph::Model model_;
  double frequency_;
  std::unique_ptr<Workspace> work_;
};

}  // namespace vms_ph_ros2_control
