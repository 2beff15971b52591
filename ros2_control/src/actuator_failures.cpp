// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "actuator_failures.hpp"

#include <algorithm>
#include <sstream>

namespace vms_ph_ros2_control {
namespace {

const char* const kFailed = "failed_actuators";

}  // namespace

std::string ActuatorFailures::Said::read(const std::string& text, bool acts) {
  std::string words = text;
  std::replace(words.begin(), words.end(), ',', ' ');
  std::istringstream stream(words);
  std::vector<Health> found(names.size(), Health::good);
  for (std::string word; stream >> word;) {
    const bool hidden = word.back() == '?';
    if (hidden) word.pop_back();
    const auto inputs = inputs_of(word, names);
    if (inputs.empty()) {
      std::string known;
      for (const auto& name : names) known += (known.empty() ? "" : ", ") + name;
      return std::string(kFailed) + ": there is no actuator '" + word + "'; " +
             (known.empty() ? "the base has none" : "there are " + known);
    }
    for (const auto i : inputs) found[i] = hidden ? Health::hidden : Health::failed;
  }
  if (!acts) return {};
  std::copy(found.begin(), found.end(), health.begin());
  changed.store(true, std::memory_order_release);
  return {};
}

void ActuatorFailures::listen(const rclcpp::Node::SharedPtr& node) {
  const auto of = [](const std::vector<rclcpp::Parameter>& parameters, const auto& use) {
    for (const auto& each : parameters) {
      if (each.get_name() == kFailed) use(each.as_string());
    }
  };
  check_ = node->add_on_set_parameters_callback(
      [said = said_, of](const std::vector<rclcpp::Parameter>& parameters) {
        rcl_interfaces::msg::SetParametersResult result;
        of(parameters, [&](const std::string& text) { result.reason = said->read(text, false); });
        result.successful = result.reason.empty();
        return result;
      });
  watch_ = node->add_post_set_parameters_callback(
      [said = said_, of](const std::vector<rclcpp::Parameter>& parameters) {
        of(parameters, [&](const std::string& text) { said->read(text, true); });
      });
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description =
      "actuators of the base that have failed, by their names; with '?' the allocation does not "
      "know";
  if (!node->has_parameter(kFailed)) node->declare_parameter(kFailed, "", descriptor);
}

void ActuatorFailures::apply(Plant& plant) noexcept {
  if (!said_->changed.exchange(false, std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < said_->health.size(); ++i) plant.set_health(i, said_->health[i]);
}

}  // namespace vms_ph_ros2_control
