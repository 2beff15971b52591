// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "law_parameters.hpp"

#include <cmath>

namespace vms_ph_ros2_control {
namespace {

rcl_interfaces::msg::ParameterDescriptor descriptor_of(const vms_ph::Gain& gain) {
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description = gain.description;
  if (std::isfinite(gain.low) && std::isfinite(gain.high)) {
    descriptor.floating_point_range.resize(1);
    descriptor.floating_point_range[0].from_value = gain.low;
    descriptor.floating_point_range[0].to_value = gain.high;
  }
  return descriptor;
}

// Switches are declared as booleans by a schema and as numbers by the law.
double number_of(const rclcpp::Parameter& parameter) {
  return parameter.get_type() == rclcpp::ParameterType::PARAMETER_BOOL
             ? (parameter.as_bool() ? 1.0 : 0.0)
             : parameter.as_double();
}

}  // namespace

GainParameters::GainParameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node,
                               vms_ph::Controller& law)
    : GainParameters(std::move(node), law.gains(), [&law](const std::string& name, double value) {
        return law.set_gain(name, value);
      }) {}

GainParameters::GainParameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node,
                               const std::vector<vms_ph::Gain>& gains,
                               const std::function<bool(const std::string&, double)>& set_number)
    : node_(std::move(node)), gains_(std::make_shared<SharedGains>()) {
  for (const auto& gain : gains) {
    if (!node_->has_parameter(gain.name)) {
      node_->declare_parameter(gain.name, gain.value, descriptor_of(gain));
    }
    const double value = number_of(node_->get_parameter(gain.name));
    if (!set_number(gain.name, value)) {
      throw vms_ph::ModelError("the gain " + gain.name + " must be from " +
                               std::to_string(gain.low) + " to " + std::to_string(gain.high) +
                               "; given: " + std::to_string(value));
    }
    gains_->gains.push_back(std::make_unique<SharedGain>());
    gains_->gains.back()->name = gain.name;
    gains_->gains.back()->value = value;
    gains_->gains.back()->is_number =
        node_->get_parameter(gain.name).get_type() == rclcpp::ParameterType::PARAMETER_DOUBLE;
  }
  // "ros2 param set <controller> stiffness 100" sends an integer.
  conversion_callback_ = node_->add_pre_set_parameters_callback(
      [shared_gains = gains_](std::vector<rclcpp::Parameter>& parameters) {
        for (auto& parameter : parameters) {
          if (parameter.get_type() != rclcpp::ParameterType::PARAMETER_INTEGER) continue;
          for (const auto& gain : shared_gains->gains) {
            if (gain->name == parameter.get_name() && gain->is_number)
              parameter = {gain->name, static_cast<double>(parameter.as_int())};
          }
        }
      });
  storing_callback_ = node_->add_post_set_parameters_callback(
      [shared_gains = gains_](const std::vector<rclcpp::Parameter>& parameters) {
        for (const auto& parameter : parameters) {
          for (const auto& gain : shared_gains->gains) {
            if (gain->name != parameter.get_name()) continue;
            gain->value.store(number_of(parameter), std::memory_order_relaxed);
            gain->has_changed.store(true, std::memory_order_release);
            shared_gains->has_changed.store(true, std::memory_order_release);
          }
        }
      });
}

void GainParameters::apply(vms_ph::Controller& law) noexcept {
  for_each_change([&law](const std::string& name, double value) { law.set_gain(name, value); });
}

}  // namespace vms_ph_ros2_control
