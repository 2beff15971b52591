// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Failures of the actuators of a simulated base, by a parameter.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rclcpp/node.hpp>

#include "vms_ph_native/plant/plant.hpp"

namespace vms_ph_ros2_control {

/// The parameter `failed_actuators` of the hardware's node: names of actuators that have failed,
/// with spaces or commas between; of one with a question mark the allocation does not know. As that
/// of the node simulator.
class ActuatorFailures {
 public:
  explicit ActuatorFailures(std::vector<std::string> names)
      : inputs_(std::make_shared<Inputs>(std::move(names))) {}

  /// Declare the parameter.
  void declare_parameter(const rclcpp::Node::SharedPtr& node);

  /// Pass changes to a plant; called by the control loop, without locks or allocation.
  void apply(vms_ph::Plant& plant) noexcept;

 private:
  struct Inputs {
    explicit Inputs(std::vector<std::string> input_names)
        : names(std::move(input_names)), health(names.size()) {
      for (auto& input_health : health) input_health = vms_ph::Health::working;
    }
    /// Check the names, and apply them if asked to; return why they are not valid, or nothing.
    std::string set_failed(const std::string& text, bool must_apply);

    const std::vector<std::string> names;
    std::vector<std::atomic<vms_ph::Health>> health;
    std::atomic<bool> has_changed{false};
  };

  std::shared_ptr<Inputs> inputs_;  ///< shared with the callbacks, which may outlive this object
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr check_callback_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr apply_callback_;
};

}  // namespace vms_ph_ros2_control
