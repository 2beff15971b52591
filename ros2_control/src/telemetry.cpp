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
                     const std::string& frame, double rate, bool has_friction, bool pose_is_of_base)
    : measured_pose_(model, pose_is_of_base),
      energy_split_(model),
      power_audit_(model, has_friction),
      sampling_(rate) {
  last_command_.wrench_base = Eigen::VectorXd::Zero(model.b());
  last_command_.torque = Eigen::VectorXd::Zero(model.n());
  state_msg_.header.frame_id = energy_msg_.header.frame_id = power_msg_.header.frame_id = frame;
  pose_msg_.header.frame_id = frame;
  state_msg_.reason.assign(kReasonCapacity, ' ');
  state_publisher_ = make_publisher(*node, "~/state", state_msg_);
  energy_publisher_ = make_publisher(*node, "~/energy", energy_msg_);
  power_publisher_ = make_publisher(*node, "~/power", power_msg_);
  pose_publisher_ = make_publisher(*node, "~/pose", pose_msg_);
}

void Telemetry::reset() noexcept {
  power_audit_.reset();
  has_last_command_ = false;
}

void Telemetry::add(const builtin_interfaces::msg::Time& stamp, const vms_ph::RobotState& state,
                    const vms_ph::Command& command) noexcept {
  const double now = stamp.sec + 1e-9 * stamp.nanosec;
  const bool is_due = sampling_.begin_sample_if_due(stamp);
  const auto& energies = energy_split_.compute(state, is_due);
  // Efforts are unknown before the first command.
  const auto& balance =
      power_audit_.add(state, has_last_command_ ? last_command_ : command, command,
                       energies.total(), has_last_command_ ? now - last_time_ : 0.0);
  has_last_command_ = true;
  last_time_ = now;
  last_command_.wrench_base = command.wrench_base;
  last_command_.torque = command.torque;
  if (!is_due) return;
  state_msg_.header.stamp = energy_msg_.header.stamp = power_msg_.header.stamp = stamp;
  pose_msg_.header.stamp = stamp;
  publish_state(command);
  publish_pose(state.q);
  fill(energy_msg_, energies);
  energy_publisher_->try_publish(energy_msg_);
  publish_power(balance, command);
}

void Telemetry::publish_state(const vms_ph::Command& command) noexcept {
  state_msg_.status = static_cast<std::uint8_t>(command.status);
  state_msg_.reason.assign(
      command.reason, std::min(std::char_traits<char>::length(command.reason), kReasonCapacity));
#define VMS_PH_FIELD(name) state_msg_.name = command.energy.name;
  VMS_PH_CONTROL_ENERGY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  state_msg_.authority = command.authority;
  state_msg_.task_error = command.task_error;
  state_msg_.smallest_singular_value = command.smallest_singular_value;
  state_publisher_->try_publish(state_msg_);
}

void Telemetry::publish_pose(const Eigen::VectorXd& q) noexcept {
  if (!q.allFinite()) return;
  set_pose(pose_msg_.pose, measured_pose_.at(q));
  pose_publisher_->try_publish(pose_msg_);
}

void Telemetry::publish_power(const vms_ph::PowerBalance& balance,
                              const vms_ph::Command& command) noexcept {
  power_msg_.torque = balance.torque_power;
  power_msg_.wrench_base = balance.wrench_base_power;
  power_msg_.dissipated = balance.dissipated_power;
  power_msg_.torque_energy = balance.torque_energy;
  power_msg_.wrench_base_energy = balance.wrench_base_energy;
  power_msg_.dissipated_energy = balance.dissipated_energy;
  power_msg_.stored = balance.stored_energy;
  power_msg_.unaccounted_energy = balance.unaccounted_energy();
  power_msg_.residual = balance.unaccounted_power;
  // A controller measures no wrench at the end effector, and has no basis of the null space.
  power_msg_.null_to_task = command.energy.kinetic_null > 0.0 ? command.energy.null_to_task : kNaN;
  power_msg_.null_to_task_g12 = kNaN;
  power_publisher_->try_publish(power_msg_);
}

}  // namespace vms_ph_ros2_control
