// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
