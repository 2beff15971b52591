// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Publishers for the control loop: of messages sized before it begins, on a grid of stamps.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <builtin_interfaces/msg/time.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_publisher.hpp>

namespace vms_ph_ros2_control {

/// Publication times, so that all publishers of one rate choose the same stamps.
class Sampling {
 public:
  explicit Sampling(double rate) : rate_(rate) {}

  /// True for the first stamp in an interval of the grid, which it begins.
  bool begin_sample_if_due(const builtin_interfaces::msg::Time& stamp) noexcept {
    // Seconds since 1970 use most digits of a double: whole intervals are counted separately.
    const double intervals_since_epoch = stamp.sec * rate_,
                 whole_intervals = std::floor(intervals_since_epoch);
    const double fraction = intervals_since_epoch - whole_intervals + stamp.nanosec * 1e-9 * rate_;
    const auto interval = static_cast<std::int64_t>(whole_intervals) +
                          static_cast<std::int64_t>(std::floor(fraction + 1e-6));
    const bool is_new = interval != last_interval_;
    last_interval_ = interval;
    return is_new;
  }

 private:
  double rate_;
  std::int64_t last_interval_ = -1;
};

/// Write a vector (3,) to the fields of a message.
template <typename Message, typename Vector>
void set_vector(Message& message, const Vector& vector) noexcept {
  message.x = vector[0];
  message.y = vector[1];
  message.z = vector[2];
}

template <typename Message>
using SizedPublisher = std::unique_ptr<realtime_tools::RealtimePublisher<Message>>;

/// @param sized_message  a message as large as any that is published; its strings are filled.
/// It is not a lifecycle publisher, which would log a warning when it publishes while inactive.
template <typename Message>
SizedPublisher<Message> make_publisher(rclcpp_lifecycle::LifecycleNode& node,
                                       const std::string& topic,
                                       [[maybe_unused]] const Message& sized_message,
                                       const rclcpp::QoS& qos = rclcpp::QoS(10)) {
  auto publisher = std::make_unique<realtime_tools::RealtimePublisher<Message>>(
      rclcpp::create_publisher<Message>(node, topic, qos));
#ifdef VMS_PH_PUBLISHERS_CAN_BE_SIZED
  // So that the loop copies without allocating. In newer realtime_tools the message is private: it
  // grows with the first ones published.
  const std::lock_guard<realtime_tools::RealtimePublisher<Message>> lock(*publisher);
  publisher->msg_ = sized_message;
#endif
  return publisher;
}

}  // namespace vms_ph_ros2_control
