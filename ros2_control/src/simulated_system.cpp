// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "simulated_system.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <pluginlib/class_list_macros.hpp>

#include "hardware_tag.hpp"
#include "interface_names.hpp"

namespace vms_ph_ros2_control {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// A lag of more cycles than this is discarded, not made up for; a lead too (clock set back).
constexpr int kMaxLagPeriods = 25;

bool has_prefix(const std::string& name, const std::string& prefix) {
  return name.compare(0, prefix.size() + 1, prefix + "/") == 0;
}

}  // namespace

SimulatedSystem::CallbackReturn SimulatedSystem::on_init(
    const hardware_interface::HardwareComponentInterfaceParams& params) {
  if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) return CallbackReturn::ERROR;
  RobotSetup setup;
  vms_ph::PlantOptions options;
  try {
    const HardwareTag tag(info_);
    setup.urdf = info_.original_xml;
    setup.base = tag.text("base", "fixed");
    setup.end_effector = tag.text("end_effector", "");
    setup.locked_joints = tag.words("locked_joints");
    setup.gravity = tag.vector("gravity", "0 0 -9.81");
    base_name_ = tag.text("base_name", "base");
    clock_name_ = tag.text("clock_name", "clock");
    port_energy_name_ = tag.text("port_energy_name", "port_energy");
    wrench_name_ = tag.text("wrench_name", "wrench_end_effector");
    model_ = std::make_unique<vms_ph::Model>(make_model(setup));
    options.time_step = time_step_ = tag.positive_number("step", 1e-3);
    command_timeout_ = tag.positive_number("command_timeout", 0.25);
    options.scheme = tag.text("scheme", "");
    options.has_friction = tag.flag("joint_friction");
    options.has_stops = tag.flag("joint_stops");
    options.wheels = parse_wheels(tag.text("wheels", ""));
    if (!options.wheels.empty()) tag.check_no_commands_of(base_name_);
    has_stand_ = tag.flag("stand") && options.wheels.empty();
    options.start_q = tag.home_configuration(*model_);
    options.current = tag.vector("current", "0 0 0");
    options.actuators = base_actuators(setup);
    actuator_failures_ = std::make_unique<ActuatorFailures>(
        options.actuators ? options.actuators->names : std::vector<std::string>());
    plant_ = std::make_unique<vms_ph::Plant>(*model_, options);
    servo_ = std::make_unique<vms_ph::Servo>(*model_, tag.positive_number("servo_frequency", 30.0),
                                             options.wheels);
    external_wrench_ = std::make_unique<ExternalWrench>(*model_, command_timeout_);
    // Without an executor, as in tests of components, the hardware has no node.
    if (get_node()) {
      external_wrench_->subscribe(*get_node());
      actuator_failures_->declare_parameter(get_node());
    }
  } catch (const std::exception& error) {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  steps_per_cycle_ = std::max(1, static_cast<int>(std::lround(1.0 / (info_.rw_rate * time_step_))));
  effort_ = Eigen::VectorXd::Zero(model_->nv());
  wrench_base_ = Eigen::VectorXd::Zero(model_->b());
  torque_ = Eigen::VectorXd::Zero(model_->n());
  state_.q = options.start_q;
  state_.v = Eigen::VectorXd::Zero(model_->nv());
  return CallbackReturn::SUCCESS;
}

void SimulatedSystem::find_handles() {
  const auto state_of = [this](const std::string& name) {
    return has_state(name) ? get_state_interface_handle(name) : nullptr;
  };
  const auto command_of = [this](const std::string& name) {
    return has_command(name) ? get_command_interface_handle(name) : nullptr;
  };
  joints_.clear();
  for (int i = 0; i < model_->n(); ++i) {
    const std::string& name = model_->joint_names()[static_cast<std::size_t>(i)];
    Joint joint{};
    joint.q_index = model_->position_index(i);
    joint.v_index = model_->b() + i;
    joint.is_continuous = model_->is_continuous(i);
    joint.position = state_of(name + "/position");
    joint.velocity = state_of(name + "/velocity");
    joint.effort = state_of(name + "/effort");
    joint.effort_command = TimedCommand(command_of(name + "/effort"));
    joint.position_command = command_of(name + "/position");
    joint.velocity_command = TimedCommand(command_of(name + "/velocity"));
    joints_.push_back(joint);
  }
  followers_.clear();
  for (const vms_ph::Mimic& mimic : model_->mimics()) {
    const auto& names = model_->joint_names();
    const auto leader_index = std::find(names.begin(), names.end(), mimic.leader) - names.begin();
    followers_.push_back({static_cast<std::size_t>(leader_index), mimic.multiplier, mimic.offset,
                          state_of(mimic.joint + "/position"), state_of(mimic.joint + "/velocity"),
                          state_of(mimic.joint + "/effort")});
  }
  const auto add_states = [&](std::vector<State>& handles, const std::string& prefix,
                              const auto& names) {
    for (const char* name : names) handles.push_back(state_of(prefix + "/" + name));
  };
  base_commands_.clear();
  for (auto* handles :
       {&base_states_, &clock_, &port_energies_, &actuator_energies_, &wrench_states_})
    handles->clear();
  if (model_->b() > 0) {
    add_states(base_states_, base_name_, kPoseAndTwistNames);
    for (const auto& name : wrench_interface_names(*model_, base_name_)) {
      base_commands_.emplace_back(command_of(name));
    }
  }
  add_states(clock_, clock_name_, kStampNames);
  add_states(port_energies_, port_energy_name_, kPortEnergyNames);
  add_states(actuator_energies_, port_energy_name_, kActuatorEnergyNames);
  add_states(wrench_states_, wrench_name_, kWrenchNames);
}

SimulatedSystem::CallbackReturn SimulatedSystem::on_configure(const rclcpp_lifecycle::State&) {
  find_handles();
  base_mode_ = Mode::braked;  // as are the joints, whose handles are new
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  epoch_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  // Port energies start at zero with every configuration, here or in another process: seconds since
  // 1970 distinguish one start from the next.
  reset_count_ = std::max(static_cast<double>(epoch_ / kNanosecondsPerSecond), reset_count_ + 1.0);
  plant_->reset();
  external_wrench_->clear();
  step_count_ = 0;
  state_.q = plant_->q();
  state_.v = plant_->v();
  servo_->hold_position(state_.q);
  write_states();
  return CallbackReturn::SUCCESS;
}

SimulatedSystem::CallbackReturn SimulatedSystem::on_activate(const rclcpp_lifecycle::State&) {
  elapsed_time_ = static_cast<double>(step_count_) * time_step_;
  gather_efforts(0.0);
  return CallbackReturn::SUCCESS;
}

SimulatedSystem::return_type SimulatedSystem::prepare_command_mode_switch(
    const std::vector<std::string>& start, const std::vector<std::string>& stop) {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const std::string& name = model_->joint_names()[i];
    const auto matches = [&](const std::string& interface) { return has_prefix(interface, name); };
    const auto requested_count = std::count_if(start.begin(), start.end(), matches);
    const bool keeps_interface =
        joints_[i].mode != Mode::braked && std::none_of(stop.begin(), stop.end(), matches);
    if (requested_count > (keeps_interface ? 0 : 1)) {
      RCLCPP_ERROR(get_logger(),
                   "the joint '%s' accepts one of effort, position and velocity at a time",
                   name.c_str());
      return return_type::ERROR;
    }
  }
  return return_type::OK;
}

SimulatedSystem::return_type SimulatedSystem::perform_command_mode_switch(
    const std::vector<std::string>& start, const std::vector<std::string>& stop) {
  set_modes(stop, false);
  set_modes(start, true);
  return return_type::OK;
}

void SimulatedSystem::set_modes(const std::vector<std::string>& interface_names, bool is_starting) {
  const int b = model_->b();
  for (const auto& name : interface_names) {
    if (b > 0 && has_prefix(name, base_name_)) {
      base_mode_ = is_starting ? Mode::effort : Mode::braked;
      servo_->hold_position(state_.q, 0);
      for (int i = 0; i < b; ++i) servo_->is_held[static_cast<std::size_t>(i)] = !is_starting;
      for (auto& interface : base_commands_) interface.clear();
      continue;
    }
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      const auto& joint_name = model_->joint_names()[i];
      if (!has_prefix(name, joint_name)) continue;
      Joint& joint = joints_[i];
      const std::string interface_name = name.substr(joint_name.size() + 1);
      joint.mode = !is_starting                   ? Mode::braked
                   : interface_name == "effort"   ? Mode::effort
                   : interface_name == "position" ? Mode::position
                                                  : Mode::velocity;
      servo_->hold_position(state_.q, joint.v_index);
      // The joint is held until its controller writes.
      joint.effort_command.clear();
      joint.velocity_command.clear();
      if (joint.position_command) std::ignore = joint.position_command->set_value(vms_ph::kNaN);
    }
  }
}

void SimulatedSystem::gather_efforts(double period) noexcept {
  const int b = model_->b();
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    Joint& joint = joints_[i];
    auto is_held = servo_->is_held.begin() + joint.v_index;
    *is_held = true;
    servo_->desired_rate[joint.v_index] = 0.0;
    switch (joint.mode) {
      case Mode::effort: {
        const double effort = joint.effort_command.read(period, command_timeout_);
        if (std::isfinite(effort)) {
          const double largest_effort = model_->max_effort()[static_cast<Eigen::Index>(i)];
          *is_held = false;
          effort_[joint.v_index] = std::clamp(effort, -largest_effort, largest_effort);
          servo_->hold_position(state_.q, joint.v_index);
        }
        break;
      }
      case Mode::position: {
        const auto position = joint.position_command->get_optional();
        if (position && std::isfinite(*position))
          servo_->set_target(static_cast<int>(i), *position);
        break;
      }
      case Mode::velocity: {
        const double velocity = joint.velocity_command.read(period, command_timeout_);
        if (std::isfinite(velocity)) servo_->desired_rate[joint.v_index] = velocity;
        break;
      }
      case Mode::braked:
        break;
    }
  }
  if (b > 0) {
    for (int i = 0; i < b; ++i)
      wrench_base_[i] = base_commands_[static_cast<std::size_t>(i)].read(period, command_timeout_);
    const bool is_commanded = base_mode_ == Mode::effort && wrench_base_.allFinite();
    if (!is_commanded) wrench_base_.setZero();
    is_base_free_ = is_commanded || !has_stand_;
    for (int i = 0; i < b; ++i) servo_->is_held[static_cast<std::size_t>(i)] = !is_base_free_;
    if (is_base_free_) {
      effort_.head(b) = wrench_base_;
      servo_->hold_position(state_.q, 0);
    }
  }
  servo_->compute_effort(state_, effort_);
  wrench_base_ = effort_.head(b);
  torque_ = effort_.tail(model_->n());
}

int SimulatedSystem::advance_clock(double period) noexcept {
  elapsed_time_ += period;
  const auto lag_steps = std::llround(elapsed_time_ / time_step_) - step_count_;
  // Cycles may be early or late; while the lag is small, every cycle has the same number of steps.
  if (std::abs(lag_steps) > kMaxLagPeriods * steps_per_cycle_) {
    elapsed_time_ = static_cast<double>(step_count_ + steps_per_cycle_) * time_step_;
    return steps_per_cycle_;
  }
  if (lag_steps >= 2 * steps_per_cycle_) return 2 * steps_per_cycle_;
  return lag_steps <= -steps_per_cycle_ ? 0 : steps_per_cycle_;
}

SimulatedSystem::return_type SimulatedSystem::read(const rclcpp::Time&,
                                                   const rclcpp::Duration& period) {
  if (get_lifecycle_id() != lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE) {
    return return_type::OK;
  }
  external_wrench_->update(state_.q, period.seconds());
  plant_->push(external_wrench_->wrench(), external_wrench_->is_active());
  actuator_failures_->apply(*plant_);
  const int steps = advance_clock(period.seconds());
  if (steps == 0) return return_type::OK;
  if (!plant_->advance(wrench_base_, !is_base_free_, torque_, steps)) {
    RCLCPP_ERROR(get_logger(), "the simulation failed: %s", plant_->reason().c_str());
    return return_type::ERROR;
  }
  step_count_ += steps;
  servo_->advance(steps * time_step_);
  state_.q = plant_->q();
  state_.v = plant_->v();
  write_states();
  return return_type::OK;
}

SimulatedSystem::return_type SimulatedSystem::write(const rclcpp::Time&,
                                                    const rclcpp::Duration& period) {
  gather_efforts(period.seconds());
  return return_type::OK;
}

void SimulatedSystem::write_states() noexcept {
  const auto set_state = [](const State& handle, double value) {
    if (handle) std::ignore = handle->set_value(value, true);
  };
  for (Joint& joint : joints_) {
    if (joint.is_continuous) {
      const double angle = std::atan2(state_.q[joint.q_index + 1], state_.q[joint.q_index]);
      joint.unwrapped_position += std::remainder(angle - joint.unwrapped_position, 2.0 * M_PI);
      set_state(joint.position, joint.unwrapped_position);
    } else {
      set_state(joint.position, state_.q[joint.q_index]);
    }
    set_state(joint.velocity, state_.v[joint.v_index]);
    set_state(joint.effort, torque_[joint.v_index - model_->b()]);
  }
  for (const Follower& follower : followers_) {
    const Joint& leader = joints_[follower.leader_index];
    set_state(follower.position, follower.multiplier * state_.q[leader.q_index] + follower.offset);
    set_state(follower.velocity, follower.multiplier * state_.v[leader.v_index]);
    set_state(follower.effort, 0.0);  // the motor is that of the other one
  }
  if (model_->b() > 0) {
    Eigen::Matrix<double, 13, 1> base_values = Eigen::Matrix<double, 13, 1>::Zero();
    if (model_->b() == 3) {
      const double half_angle = 0.5 * std::atan2(state_.q[3], state_.q[2]);
      base_values.head<2>() = state_.q.head<2>();
      base_values.segment<2>(5) << std::sin(half_angle), std::cos(half_angle);
      base_values.segment<2>(7) = state_.v.head<2>();
      base_values[12] = state_.v[2];
    } else {
      base_values << state_.q.head<7>(), state_.v.head<6>();
    }
    for (std::size_t i = 0; i < base_states_.size(); ++i)
      set_state(base_states_[i], base_values[static_cast<Eigen::Index>(i)]);
  }
  const std::int64_t stamp = epoch_ + std::llround(static_cast<double>(step_count_) * time_step_ *
                                                   static_cast<double>(kNanosecondsPerSecond));
  set_state(clock_[0], static_cast<double>(stamp / kNanosecondsPerSecond));
  set_state(clock_[1], static_cast<double>(stamp % kNanosecondsPerSecond));
  const auto& energies = plant_->port_energies();
  for (std::size_t i = 0; i < 3; ++i) set_state(port_energies_[i], energies.supplied_energy[i]);
  set_state(port_energies_[3], energies.dissipated_energy);
  set_state(port_energies_[4], reset_count_);
  set_state(actuator_energies_[0], plant_->actuators().electric_energy());
  set_state(actuator_energies_[1], plant_->actuators().lost_energy());
  set_state(actuator_energies_[2], plant_->actuators().stored_energy());
  const auto& wrench = external_wrench_->wrench();
  for (std::size_t i = 0; i < wrench_states_.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    set_state(wrench_states_[i], k < 3 ? wrench.linear[k] : wrench.angular[k - 3]);
  }
}

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::SimulatedSystem, hardware_interface::SystemInterface)
