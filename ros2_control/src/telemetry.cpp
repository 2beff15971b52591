// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "telemetry.hpp"

namespace vms_ph_ros2_control {
namespace {

using vms_ph::kNaN;

// Reasons are short sentences; their memory is reserved before the loop runs.
constexpr std::size_t kReasonCapacity = 512;

}  // namespace

void fill(vms_ph::msg::Energy& message, const vms_ph::Energies& energies) noexcept {
  message.total = energies.total();
  message.kinetic = energies.kinetic;
  message.potential = energies.potential;
  message.kinetic_base = energies.kinetic_base;
  message.kinetic_shape = energies.kinetic_shape;
  message.kinetic_task = energies.kinetic_task;
  message.kinetic_null = energies.kinetic_null;
}

Telemetry::Telemetry(rclcpp_lifecycle::LifecycleNode::SharedPtr node, const vms_ph::Model& model,
                     const std::string& frame, double rate, bool friction)
    : split_(model), audit_(model, friction), sampling_(rate) {
  last_command_.wrench_base = Eigen::VectorXd::Zero(model.b());
  last_command_.torque = Eigen::VectorXd::Zero(model.n());
  state_.header.frame_id = energy_.header.frame_id = power_.header.frame_id = frame;
  state_.reason.assign(kReasonCapacity, ' ');
  state_publisher_ = make_publisher(*node, "~/state", state_);
  energy_publisher_ = make_publisher(*node, "~/energy", energy_);
  power_publisher_ = make_publisher(*node, "~/power", power_);
}

void Telemetry::reset() noexcept {
  audit_.reset();
  has_last_command_ = false;
}

void Telemetry::add(const builtin_interfaces::msg::Time& stamp, const vms_ph::RobotState& state,
                    const vms_ph::Command& command) noexcept {
  const double now = stamp.sec + 1e-9 * stamp.nanosec;
  const bool is_due = sampling_.is_due(stamp);
  const auto& energies = split_.compute(state, is_due);
  if (!has_last_command_) {  // efforts are unknown before the first command
    last_command_.wrench_base = command.wrench_base;
    last_command_.torque = command.torque;
  }
  const auto& balance = audit_.add(state, last_command_, command, energies.total(),
                                   has_last_command_ ? now - last_time_ : 0.0);
  has_last_command_ = true;
  last_time_ = now;
  last_command_.wrench_base = command.wrench_base;
  last_command_.torque = command.torque;
  if (!is_due) return;
  state_.header.stamp = energy_.header.stamp = power_.header.stamp = stamp;
  publish_state(command);
  fill(energy_, energies);
  energy_publisher_->try_publish(energy_);
  publish_power(balance, command);
}

void Telemetry::publish_state(const vms_ph::Command& command) noexcept {
  state_.status = static_cast<std::uint8_t>(command.status);
  state_.reason.assign(command.reason,
                       std::min(std::char_traits<char>::length(command.reason), kReasonCapacity));
#define VMS_PH_FIELD(name) state_.name = command.energy.name;
  VMS_PH_CONTROL_ENERGY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  state_.authority = command.authority;
  state_.task_error = command.task_error;
  state_.smallest_singular_value = command.smallest_singular_value;
  state_publisher_->try_publish(state_);
}

void Telemetry::publish_power(const vms_ph::PowerBalance& balance,
                              const vms_ph::Command& command) noexcept {
  power_.torque = balance.torque_power;
  power_.wrench_base = balance.wrench_base_power;
  power_.dissipated = balance.dissipated_power;
  power_.torque_energy = balance.torque_energy;
  power_.wrench_base_energy = balance.wrench_base_energy;
  power_.dissipated_energy = balance.dissipated_energy;
  power_.stored = balance.stored_energy;
  power_.unaccounted_energy = balance.unaccounted_energy();
  power_.residual = balance.unaccounted_power;
  // A controller measures no wrench at the end effector, and has no basis of the null space.
  power_.null_to_task = command.energy.kinetic_null > 0.0 ? command.energy.null_to_task : kNaN;
  power_.null_to_task_g12 = kNaN;
  power_publisher_->try_publish(power_);
}

}  // namespace vms_ph_ros2_control
