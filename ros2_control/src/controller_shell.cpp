// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "controller_shell.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace vms_ph_ros2_control {

using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

constexpr double kMaxServoOffset = 0.1;  // beyond a joint limit, for the weight, rad or m

ControllerShell::CallbackReturn ControllerShell::on_init() {
  return try_to_set_up(CallbackReturn::ERROR, *get_node(), [this] {
    listener_ = std::make_shared<controller_shell::ParamListener>(get_node());
    declare();
  });
}

ControllerShell::CallbackReturn ControllerShell::on_configure(const rclcpp_lifecycle::State&) {
  parameters_ = listener_->get_params();
  auto& p = parameters_;
  const std::lock_guard<std::mutex> lock(log_state_->mutex);
  law_.reset();  // before the model that it refers to
  const auto set_up = [&] {
    RobotSetup setup = setup_of(p, get_robot_description(), joint_interface());
    if (p.servo_stiffness.empty()) require_efforts(setup);
    setup.wheels = parse_wheels(p.wheels);
    p.base_actuated = p.base_actuated && setup.wheels.empty();  // then its joints drive it
    model_ = std::make_unique<vms_ph::Model>(make_model(setup));
    model_->set_command_period(1.0 / get_update_rate());
    servo_stiffness_ = expand_to_joints(p.servo_stiffness, *model_, "servo_stiffness");
    weight_.setZero(model_->n());
    gravity_evaluation_.emplace(*model_);
    auto law = make(*model_, setup);
    inner_law_ = law.get();
    law_ = std::make_unique<vms_ph::Supervisor>(
        *model_,
        std::make_unique<vms_ph::PayloadCompensation>(*model_, std::move(law), p.payload.rate),
        plausibility_bounds(p), base_allocation(setup), p.base_actuated);
    gain_parameters_ = std::make_unique<GainParameters>(get_node(), *law_);
    payload_parameters_ = std::make_unique<PayloadParameters>(get_node(), *model_, *law_);
  };
  const auto outcome = try_to_set_up(CallbackReturn::FAILURE, *get_node(), set_up);
  if (outcome != CallbackReturn::SUCCESS) return outcome;
  reader_ = std::make_unique<StateReader>(*model_, p.base_name, p.stamp, false, p.wrench_sensor);
  stamp_monitor_ = StampMonitor(p.state_timeout);
  reference_ports_ = std::make_unique<ReferencePorts>(get_node(), *model_, p.command_timeout,
                                                      p.frame_prefix, pose_is_of_base());
  telemetry_ =
      std::make_unique<Telemetry>(get_node(), *model_, p.frame_prefix + inertial_frame(*model_),
                                  p.publish_rate, p.joint_friction, pose_is_of_base());
  last_log_.clear();
  log_state_->shell = this;
  log_timer_ = get_node()->create_wall_timer(std::chrono::seconds(1), [log_state = log_state_] {
    const std::unique_lock<std::mutex> log_lock(log_state->mutex, std::try_to_lock);
    if (log_lock && log_state->shell != nullptr) log_state->shell->print_log();
  });
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration ControllerShell::command_interface_configuration() const {
  const auto& p = parameters_;
  return {interface_configuration_type::INDIVIDUAL,
          reference_names(p.following_controller,
                          command_interface_names(*model_, p.base_actuated ? p.base_name : "",
                                                  joint_interface()))};
}

InterfaceConfiguration ControllerShell::state_interface_configuration() const {
  return {interface_configuration_type::INDIVIDUAL, reader_->interface_names()};
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
ControllerShell::on_export_reference_interfaces_list() {
  return reference_ports_->create_interfaces();
}

ControllerShell::CallbackReturn ControllerShell::on_activate(const rclcpp_lifecycle::State&) {
  if (!are_all_doubles(get_node()->get_logger(), state_interfaces_, command_interfaces_)) {
    return CallbackReturn::FAILURE;
  }
  const auto& state = reader_->read(state_interfaces_);
  reference_ports_->clear();
  telemetry_->reset();
  gain_parameters_->apply(*law_);
  payload_parameters_->apply(*law_);
  stamp_monitor_.restart();
  was_holding_ = false;
  if (!law_->reset(state)) {
    const std::string text = log_text(*inner_law_);
    RCLCPP_ERROR(
        get_node()->get_logger(),
        "cannot activate: the state of the robot is not finite, or the law rejected it%s%s",
        text.empty() ? "" : ":\n", text.c_str());
    return CallbackReturn::FAILURE;
  }
  // The first update comes a cycle later. Until then the last command of the previous controller
  // would act, or none at all, and an arm would fall.
  const auto& reference = reference_ports_->reference(state.q, 0.0);
  write_command(state, law_->update(state, reference, 1.0 / get_update_rate()));
  return CallbackReturn::SUCCESS;
}

ControllerShell::CallbackReturn ControllerShell::on_deactivate(const rclcpp_lifecycle::State&) {
  // The last effort must not remain active: from here on the hardware holds the robot. Servos hold
  // the last position.
  for (auto i = std::size_t(servo_stiffness_.size()); i < command_interfaces_.size(); ++i)
    std::ignore = command_interfaces_[i].set_value(0.0);
  reference_ports_->clear();
  return CallbackReturn::SUCCESS;
}

ControllerShell::CallbackReturn ControllerShell::on_cleanup(const rclcpp_lifecycle::State&) {
  const std::lock_guard<std::mutex> lock(log_state_->mutex);
  log_state_->shell = nullptr;
  log_timer_.reset();
  telemetry_.reset();
  reference_ports_.reset();
  reader_.reset();
  payload_parameters_.reset();
  gain_parameters_.reset();
  law_.reset();
  model_.reset();
  return CallbackReturn::SUCCESS;
}

ControllerShell::CallbackReturn ControllerShell::on_shutdown(const rclcpp_lifecycle::State&) {
  const std::lock_guard<std::mutex> lock(log_state_->mutex);
  log_state_->shell = nullptr;
  if (reference_ports_) reference_ports_->clear();
  return CallbackReturn::SUCCESS;
}

return_type ControllerShell::update_reference_from_subscribers(const rclcpp::Time&,
                                                               const rclcpp::Duration& period) {
  reference_ports_->read_topics(period.seconds());
  return return_type::OK;
}

return_type ControllerShell::update_and_write_commands(const rclcpp::Time& time,
                                                       const rclcpp::Duration& period) {
  if (is_in_chained_mode()) {
    reference_ports_->read_topics(period.seconds());
    reference_ports_->read_interfaces();
  }
  gain_parameters_->apply(*law_);
  payload_parameters_->apply(*law_);
  const auto& state = reader_->read(state_interfaces_);
  // After a change of the clock or a stalled loop, one period is assumed.
  const double elapsed_time = period.seconds();
  const double dt = vms_ph::is_usable_step(elapsed_time) ? elapsed_time : 1.0 / get_update_rate();
  const auto state_stamp = reader_->stamp();
  const char* problem = state_stamp ? stamp_monitor_.update(*state_stamp, dt) : "";
  const auto& command = problem[0] != '\0'
                            ? law_->hold(problem, dt)
                            : law_->update(state, reference_ports_->reference(state.q, dt), dt);
  write_command(state, command);
  if (command.status == vms_ph::Status::holding) reference_ports_->end_trajectory("the law holds");
  record_hold_reason(command);
  if (const auto stamp = reader_->stamp_or(time)) telemetry_->add(*stamp, state, command);
  return return_type::OK;
}

void ControllerShell::write_command(const vms_ph::RobotState& state,
                                    const vms_ph::Command& command) noexcept {
  const auto n = command.torque.size();
  const bool is_holding = command.status == vms_ph::Status::holding;
  if (servo_stiffness_.size() > 0 && !is_holding) {
    gravity_evaluation_->set(state);
    weight_ = gravity_evaluation_->g().tail(n);
    if (const auto* payload = law_->payload_weight(state.q)) weight_ += payload->tail(n);
    vms_ph::clip_to_max_effort(*model_, weight_);
  }
  for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    double setpoint = k < n ? command.torque[k] : command.wrench_base[k - n];
    if (k < servo_stiffness_.size()) {  // the spring is stretched from the measured position
      const double q = state_interfaces_[2 * i].get_optional().value_or(vms_ph::kNaN);
      const double lower = std::min(model_->min_position()[k], q),
                   upper = std::max(model_->max_position()[k], q);
      setpoint = std::clamp(q + (setpoint - weight_[k]) / servo_stiffness_[k], lower, upper);
      setpoint += weight_[k] / servo_stiffness_[k];  // beyond a limit too: else it would sag there
      setpoint = std::clamp(setpoint, lower - kMaxServoOffset, upper + kMaxServoOffset);
      if (is_holding || !std::isfinite(setpoint)) continue;
    }
    std::ignore = command_interfaces_[i].set_value(setpoint);
  }
}

// Keep the reason of a hold that begins, for the log; neither blocks nor allocates.
void ControllerShell::record_hold_reason(const vms_ph::Command& command) noexcept {
  const bool is_holding = command.status == vms_ph::Status::holding;
  if (is_holding && !was_holding_) {
    const std::unique_lock<std::mutex> log_lock(log_state_->mutex, std::try_to_lock);
    if (!log_lock) return;  // at the next update
    std::snprintf(hold_reason_.data(), hold_reason_.size(), "%s", command.reason);
  }
  was_holding_ = is_holding;
}

void ControllerShell::print_log() {
  if (hold_reason_[0] != '\0') {
    RCLCPP_WARN(get_node()->get_logger(), "holding: %s", hold_reason_.data());
    hold_reason_[0] = '\0';
  }
  const std::string text = log_text(*inner_law_);
  if (text == last_log_) return;
  last_log_ = text;
  RCLCPP_WARN(get_node()->get_logger(), "%s", text.c_str());
}

}  // namespace vms_ph_ros2_control
