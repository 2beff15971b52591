// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/SimulatedSystem: the simulator as hardware of ros2_control.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <hardware_interface/system_interface.hpp>

#include "actuator_failures.hpp"
#include "external_wrench.hpp"
#include "robot_setup.hpp"
#include "timed_command.hpp"
#include "vms_ph_native/plant/plant.hpp"
#include "vms_ph_native/plant/servo.hpp"

namespace vms_ph_ros2_control {

/// Integrates a robot with the efforts of its controllers held over every cycle.
///
/// Joints that no controller commands are held by brakes, and a moving base as on a stand; without
/// one it floats.
class SimulatedSystem final : public hardware_interface::SystemInterface {
 public:
  using CallbackReturn = hardware_interface::CallbackReturn;
  using return_type = hardware_interface::return_type;

  CallbackReturn on_init(
      const hardware_interface::HardwareComponentInterfaceParams& params) override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State& previous) override;

  return_type prepare_command_mode_switch(const std::vector<std::string>& start,
                                          const std::vector<std::string>& stop) override;
  return_type perform_command_mode_switch(const std::vector<std::string>& start,
                                          const std::vector<std::string>& stop) override;
  return_type read(const rclcpp::Time& time, const rclcpp::Duration& period) override;
  return_type write(const rclcpp::Time& time, const rclcpp::Duration& period) override;

 private:
  enum class Mode : unsigned char { braked, effort, position, velocity };
  using State = hardware_interface::StateInterface::SharedPtr;
  using Command = hardware_interface::CommandInterface::SharedPtr;

  struct Joint {
    int q_index, v_index;  ///< indices in configuration and velocity
    bool is_continuous;
    double unwrapped_position = 0.0;  ///< position of a continuous joint, with full turns
    State position, velocity, effort;
    TimedCommand effort_command, velocity_command;
    Command position_command;
    Mode mode = Mode::braked;
  };

  /// A joint that mimics another: it has states, and no commands.
  struct Follower {
    std::size_t leader_index;  ///< index among the joints
    double multiplier, offset;
    State position, velocity, effort;
  };

  void find_handles();
  void set_modes(const std::vector<std::string>& interface_names, bool is_starting);
  void gather_efforts(double period) noexcept;
  int advance_clock(double period) noexcept;  ///< returns the number of steps that are due
  void write_states() noexcept;

  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::Plant> plant_;
  std::unique_ptr<vms_ph::Servo> servo_;
  std::unique_ptr<ExternalWrench> external_wrench_;
  std::unique_ptr<ActuatorFailures> actuator_failures_;
  std::string base_name_, clock_name_, port_energy_name_, wrench_name_;
  double time_step_ = 1e-3;
  double command_timeout_ = 0.25;  ///< time for which an effort or a velocity acts, s
  int steps_per_cycle_ = 1;        ///< integrator steps in a cycle

  std::vector<Joint> joints_;
  std::vector<Follower> followers_;
  std::vector<State> base_states_, clock_, port_energies_, actuator_energies_, wrench_states_;
  std::vector<TimedCommand> base_commands_;
  Mode base_mode_ = Mode::braked;
  bool has_stand_ = true;      ///< which holds a base that no controller commands
  bool is_base_free_ = false;  ///< whether the base moves by its actuators, or freely

  Eigen::VectorXd effort_, wrench_base_, torque_;
  vms_ph::RobotState state_;
  std::int64_t epoch_ = 0;     ///< stamp of simulated time zero, ns
  double elapsed_time_ = 0.0;  ///< time of the loop since simulated time zero, s
  std::int64_t step_count_ = 0;
  double reset_count_ = 0.0;
};

}  // namespace vms_ph_ros2_control
