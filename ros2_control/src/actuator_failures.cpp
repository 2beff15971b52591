// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "actuator_failures.hpp"

#include <algorithm>

#include "robot_setup.hpp"

namespace vms_ph_ros2_control {
namespace {

const char* const kParameterName = "failed_actuators";

}  // namespace

std::string ActuatorFailures::Inputs::set_failed(const std::string& text, bool must_apply) {
  std::vector<vms_ph::Health> new_health(names.size(), vms_ph::Health::working);
  for (std::string& actuator_name : words_of(text)) {
    const bool is_hidden = actuator_name.back() == '?';  // from the allocation
    if (is_hidden) actuator_name.pop_back();
    const auto input_indices = inputs_of(actuator_name, names);
    if (input_indices.empty()) {
      return std::string(kParameterName) + ": there is no actuator '" + actuator_name + "'; " +
             (names.empty() ? "the base has none" : "there are " + join_names(names));
    }
    for (const auto i : input_indices)
      new_health[i] = is_hidden ? vms_ph::Health::hidden : vms_ph::Health::failed;
  }
  if (!must_apply) return {};
  std::copy(new_health.begin(), new_health.end(), health.begin());
  has_changed.store(true, std::memory_order_release);
  return {};
}

void ActuatorFailures::declare_parameter(const rclcpp::Node::SharedPtr& node) {
  const auto on_text = [](const std::vector<rclcpp::Parameter>& parameters, const auto& callback) {
    for (const auto& parameter : parameters) {
      if (parameter.get_name() == kParameterName) callback(parameter.as_string());
    }
  };
  check_callback_ = node->add_on_set_parameters_callback(
      [inputs = inputs_, on_text](const std::vector<rclcpp::Parameter>& parameters) {
        rcl_interfaces::msg::SetParametersResult result;
        on_text(parameters,
                [&](const std::string& text) { result.reason = inputs->set_failed(text, false); });
        result.successful = result.reason.empty();
        return result;
      });
  apply_callback_ = node->add_post_set_parameters_callback(
      [inputs = inputs_, on_text](const std::vector<rclcpp::Parameter>& parameters) {
        on_text(parameters, [&](const std::string& text) { inputs->set_failed(text, true); });
      });
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description =
      "actuators of the base that have failed, by their names; with '?' the allocation does not "
      "know";
  if (!node->has_parameter(kParameterName)) node->declare_parameter(kParameterName, "", descriptor);
}

void ActuatorFailures::apply(vms_ph::Plant& plant) noexcept {
  if (!inputs_->has_changed.exchange(false, std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < inputs_->health.size(); ++i) plant.set_health(i, inputs_->health[i]);
}

}  // namespace vms_ph_ros2_control
