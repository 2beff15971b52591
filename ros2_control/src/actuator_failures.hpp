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

#include "plant.hpp"

namespace vms_ph_ros2_control {

/// The parameter `failed_actuators` of the hardware's node: names of actuators that have failed,
/// with spaces or commas between; one with a question mark is not known to the allocation. As that
/// of the simulator of the nodes.
class ActuatorFailures {
 public:
  explicit ActuatorFailures(std::vector<std::string> names)
      : said_(std::make_shared<Said>(std::move(names))) {}

  /// Declare the parameter.
  void listen(const rclcpp::Node::SharedPtr& node);

  /// Pass changes to a plant; called by the control loop, without locks or allocation.
  void apply(Plant& plant) noexcept;

 private:
  struct Said {
    explicit Said(std::vector<std::string> given) : names(std::move(given)), health(names.size()) {
      for (auto& each : health) each = Health::good;
    }
    /// Read the names; why not, or nothing. Without `acts` they are only checked.
    std::string read(const std::string& text, bool acts);

    const std::vector<std::string> names;
    std::vector<std::atomic<Health>> health;
    std::atomic<bool> changed{false};
  };

  std::shared_ptr<Said> said_;  ///< shared with the callbacks, which may outlive this object
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr check_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr watch_;
};

}  // namespace vms_ph_ros2_control
