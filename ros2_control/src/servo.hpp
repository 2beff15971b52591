// The inner loop of a simulated robot: its drives where no effort is commanded.
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
  /// Desired velocity of the held freedoms, (nv,); their targets move with it.
  Eigen::VectorXd rate;

  /// Set every target to the present position.
  void rest_at(const Eigen::VectorXd& q) noexcept;
  /// Set the target of one freedom to its present position; for a moving base all of its freedoms.
  void rest_at(const Eigen::VectorXd& q, int freedom) noexcept;
  /// Set the target of a joint, rad or m.
  void go_to(int joint, double position) noexcept;
  /// Advance the targets by a time, s.
  void advance(double dt) noexcept;

  /// Put the efforts of the held freedoms into a vector of all efforts, (nv,).
  void fill(const vms_ph::RobotState& state, Eigen::VectorXd& effort) noexcept;

 private:
  struct Workspace;
  vms_ph::Model model_;
  double frequency_;
  std::vector<pinocchio::JointIndex> joints_;  ///< of the joint rates, looked up once
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace vms_ph_ros2_control
