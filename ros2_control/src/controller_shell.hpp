// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A control law of the C++ core as a ros2_control controller.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <vms_ph/controller_shell_parameters.hpp>

#include "law_parameters.hpp"
#include "reference_ports.hpp"
#include "robot_setup.hpp"
#include "state_reader.hpp"
#include "telemetry.hpp"
#include "vms_ph_native/supervisor.hpp"

namespace vms_ph_ros2_control {

/// The part of a controller that does not depend on the law: interfaces, parameters, references,
/// topics.
///
/// A plugin constructs its law (make) and declares its parameters (declare).
class ControllerShell : public controller_interface::ChainableControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  CallbackReturn on_init() override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State& previous) override;
  CallbackReturn on_shutdown(const rclcpp_lifecycle::State& previous) override;

 protected:
  /// Declare the parameters of the law in addition to those of the shell.
  virtual void declare() = 0;

  /// Construct the law for a robot; may throw a std::exception whose message is shown to the user.
  virtual std::unique_ptr<vms_ph::Controller> make(const vms_ph::Model& model,
                                                   const RobotSetup& setup) = 0;

  /// Whether a pose is that of the base alone, while a position is that of the end effector.
  virtual bool pose_is_of_base() const { return false; }

  /// Messages of a law besides the reason of its last update; printed when they change, at most
  /// once a second. Not called by the control loop.
  virtual std::string log_text(const vms_ph::Controller&) const { return {}; }

  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
      override;
  controller_interface::return_type update_reference_from_subscribers(
      const rclcpp::Time& time, const rclcpp::Duration& period) override;
  controller_interface::return_type update_and_write_commands(
      const rclcpp::Time& time, const rclcpp::Duration& period) override;

 private:
  std::string joint_interface() const {
    return parameters_.servo_stiffness.empty() ? "effort" : "position";
  }
  void write_command(const vms_ph::RobotState& state, const vms_ph::Command& command) noexcept;
  void record_hold_reason(const vms_ph::Command& command) noexcept;
  void print_log();

  std::shared_ptr<controller_shell::ParamListener> listener_;
  controller_shell::Params parameters_;
  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::Supervisor> law_;  ///< plausible states and references only
  std::unique_ptr<StateReader> reader_;
  std::unique_ptr<ReferencePorts> reference_ports_;
  std::unique_ptr<GainParameters> gain_parameters_;
  std::unique_ptr<PayloadParameters> payload_parameters_;
  const vms_ph::Controller* inner_law_ = nullptr;  ///< by make(); inside of law_
  std::unique_ptr<Telemetry> telemetry_;
  StampMonitor stamp_monitor_;
  Eigen::VectorXd servo_stiffness_;  ///< (n,) N m/rad or N/m; empty where joints take efforts
  Eigen::VectorXd weight_;           ///< (n,) that servos carry, N m or N
  std::optional<vms_ph::Evaluation> gravity_evaluation_;  ///< for that weight
  /// Serialises construction of the law and printing of its log; the control loop does neither.
  /// Shared with the timer, whose callback may still run in an executor when the shell is gone.
  struct LogState {
    std::mutex mutex;
    ControllerShell* shell = nullptr;  ///< whose law is printed
  };
  std::shared_ptr<LogState> log_state_ = std::make_shared<LogState>();
  std::string last_log_;
  std::array<char, 256> hold_reason_{};  ///< of a hold that began, until it is printed
  bool was_holding_ = false;
  rclcpp::TimerBase::SharedPtr log_timer_;
};

}  // namespace vms_ph_ros2_control
