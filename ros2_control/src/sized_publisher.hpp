// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Publishers of messages that are sized before the control loop begins.
#pragma once

#include <memory>
#include <string>

#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_publisher.hpp>

namespace vms_ph_ros2_control {

template <typename Message>
using SizedPublisher = std::unique_ptr<realtime_tools::RealtimePublisher<Message>>;

/// A publisher whose own message has the sizes of another, so that the loop copies without
/// allocating.
template <typename Message>
SizedPublisher<Message> make_publisher(rclcpp_lifecycle::LifecycleNode& node,
                                       const std::string& topic, const Message& sized) {
  auto made = std::make_unique<realtime_tools::RealtimePublisher<Message>>(
      rclcpp::create_publisher<Message>(node, topic, 10));
  made->lock();
  made->msg_ = sized;
  made->unlock();
  return made;
}

}  // namespace vms_ph_ros2_control
