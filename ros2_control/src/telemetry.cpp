#include "telemetry.hpp"

#include <limits>

#include "robot_setup.hpp"

namespace vms_ph_ros2_control {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Reasons are short sentences; room for them is made before the loop runs.
constexpr std::size_t kReason = 512;

template <typename Message>
auto make(rclcpp_lifecycle::LifecycleNode& node, const std::string& topic) {
  // A plain publisher: that of a managed node would print when it is told to publish while inactive.
  return std::make_unique<realtime_tools::RealtimePublisher<Message>>(
      rclcpp::create_publisher<Message>(node, topic, 10));
}

}  // namespace

Telemetry::Telemetry(rclcpp_lifecycle::LifecycleNode::SharedPtr node, const vms_ph::Model& model,
                     double rate, bool friction)
    : split_(model),
      audit_(model, friction),
      sampling_(rate),
      states_(make<vms_ph::msg::ControllerState>(*node, "~/state")),
      energies_(make<vms_ph::msg::Energy>(*node, "~/energy")),
      powers_(make<vms_ph::msg::Power>(*node, "~/power")) {
  before_.wrench_base = Eigen::VectorXd::Zero(model.b());
  before_.torque = Eigen::VectorXd::Zero(model.n());
  energy_.header.frame_id = power_.header.frame_id = inertial_frame(model);
  state_.reason.reserve(kReason);
  states_->lock();
  states_->msg_.reason.reserve(kReason);
  states_->unlock();
}

void Telemetry::reset() noexcept {
  audit_.reset();
  begun_ = false;
}

void Telemetry::add(const builtin_interfaces::msg::Time& stamp, const vms_ph::RobotState& state,
                    const vms_ph::Command& command) noexcept {
  const double now = stamp.sec + 1e-9 * stamp.nanosec;
  const auto& energies = split_.of(state);
  if (!begun_) {
    // Nothing acted before the first command that is known here.
    before_.wrench_base = command.wrench_base;
    before_.torque = command.torque;
  }
  const auto& balance =
      audit_.add(state, before_, command, energies.total(), begun_ ? now - last_ : 0.0);
  begun_ = true;
  last_ = now;
  before_.wrench_base = command.wrench_base;
  before_.torque = command.torque;
  if (!sampling_.is_due(stamp)) return;
  state_.header.stamp = energy_.header.stamp = power_.header.stamp = stamp;
  tell_state(command);
  tell_energy(energies);
  tell_power(balance, command);
}

void Telemetry::tell_state(const vms_ph::Command& command) noexcept {
  const auto& energy = command.energy;
  state_.status = static_cast<std::uint8_t>(command.status);
  state_.reason.assign(command.reason, std::min(std::char_traits<char>::length(command.reason),
                                                kReason));
  state_.closed_loop_energy = energy.closed_loop_energy;
  state_.shaped_potential = energy.shaped_potential;
  state_.kinetic_task = energy.kinetic_task;
  state_.kinetic_null = energy.kinetic_null;
  state_.kinetic_base = energy.kinetic_base;
  state_.kinetic_shape = energy.kinetic_shape;
  state_.damping_task = energy.damping_task;
  state_.damping_null = energy.damping_null;
  state_.damping_base = energy.damping_base;
  state_.damping_shape = energy.damping_shape;
  state_.reference_power = energy.reference_power;
  state_.clipped_power = energy.clipped_power;
  state_.routing_power = energy.routing_power;
  state_.null_to_task = energy.null_to_task;
  state_.tank_level = energy.tank_level;
  state_.unaccounted_energy = energy.unaccounted_energy;
  state_.authority = command.authority;
  state_.task_error = command.task_error;
  state_.smallest_singular_value = command.smallest_singular_value;
  states_->try_publish(state_);
}

void Telemetry::tell_energy(const vms_ph::Energies& energies) noexcept {
  energy_.total = energies.total();
  energy_.kinetic = energies.kinetic;
  energy_.potential = energies.potential;
  energy_.kinetic_base = energies.kinetic_base;
  energy_.kinetic_shape = energies.kinetic_shape;
  energy_.kinetic_task = energies.kinetic_task;
  energy_.kinetic_null = energies.kinetic_null;
  energies_->try_publish(energy_);
}

void Telemetry::tell_power(const vms_ph::PowerBalance& balance,
                           const vms_ph::Command& command) noexcept {
  power_.torque = balance.torque;
  power_.wrench_base = balance.base;
  power_.dissipated = balance.dissipated;
  power_.torque_energy = balance.torque_energy;
  power_.wrench_base_energy = balance.wrench_base_energy;
  power_.dissipated_energy = balance.dissipated_energy;
  power_.stored = balance.stored;
  power_.unaccounted_energy = balance.unaccounted_energy();
  power_.residual = balance.residual;
  // A controller feels no wrench at the end effector, and knows no basis of the null space.
  power_.null_to_task = command.energy.kinetic_null > 0.0 ? command.energy.null_to_task : kNaN;
  power_.null_to_task_g12 = kNaN;
  powers_->try_publish(power_);
}

}  // namespace vms_ph_ros2_control
