// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The state of the robot and its time, from state interfaces.
#pragma once

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <builtin_interfaces/msg/time.hpp>
#include <hardware_interface/loaned_state_interface.hpp>
#include <rclcpp/logging.hpp>
#include <rclcpp/time.hpp>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Whether all interfaces are doubles; the log names the others, the reason not to activate.
template <class... Loaned>
bool are_all_doubles(const rclcpp::Logger& logger, const std::vector<Loaned>&... interfaces) {
  bool is_valid = true;
  const auto check = [&](const auto& interface) {
    if (interface.get_data_type() == hardware_interface::HandleDataType::DOUBLE) return;
    RCLCPP_ERROR(logger,
                 "cannot activate: the interface %s must be a double; it has another data_type",
                 interface.get_name().c_str());
    is_valid = false;
  };
  (std::for_each(interfaces.begin(), interfaces.end(), check), ...);
  return is_valid;
}

/// The outcome of setting something up: success, or `failure` where it throws; the log of the node
/// has the message.
template <class Outcome, class Node, class SetUp>
Outcome try_to_set_up(Outcome failure, const Node& node, SetUp&& set_up) {
  try {
    set_up();
  } catch (const std::exception& error) {
    RCLCPP_ERROR(node.get_logger(), "%s", error.what());
    return failure;
  }
  return Outcome::SUCCESS;
}

/// Tells whether the stamps of measured states advance.
class StampMonitor {
 public:
  /// @param timeout  time without a new stamp after which the state is old, s.
  explicit StampMonitor(double timeout = 0.1) : timeout_(timeout) {}

  /// Any stamp may come next.
  void restart() noexcept { *this = StampMonitor(timeout_); }

  /// Take a stamp, `elapsed_time` (s) after the last. Returns what is wrong with it; empty if it is
  /// new, or repeats for less than the timeout: hardware may be slower than the loop.
  const char* update(const builtin_interfaces::msg::Time& stamp, double elapsed_time) noexcept;

 private:
  double timeout_, stall_time_ = 0.0;
  std::int64_t last_stamp_ = 0, rejected_stamp_ = 0;
  int consecutive_stamps_ = 0;
  bool has_last_stamp_ = false;
};

class StateReader {
 public:
  /// @param base_name       prefix of the interfaces of a moving base.
  /// @param stamp_name      prefix of sec and nanosec; empty when the hardware has none.
  /// @param reads_positions_only  q is (n,) positions of the joints alone.
  /// @param wrench_name     prefix of the wrench on the end effector; empty when none is measured.
  StateReader(const vms_ph::Model& model, const std::string& base_name,
              const std::string& stamp_name, bool reads_positions_only = false,
              const std::string& wrench_name = "");

  /// The interfaces to claim, in this order.
  const std::vector<std::string>& interface_names() const { return names_; }

  /// The state; NaN where an interface has no value. Neither blocks nor allocates.
  const vms_ph::RobotState& read(
      const std::vector<hardware_interface::LoanedStateInterface>& interfaces) noexcept;

  /// Whether the hardware is configured to stamp its states.
  bool is_stamped() const noexcept { return is_stamped_; }

  /// Time of the states read last; empty if the hardware has no valid stamp.
  std::optional<builtin_interfaces::msg::Time> stamp() const noexcept;

  /// The same; the time of the update where the hardware does not stamp, but not for a bad stamp.
  std::optional<builtin_interfaces::msg::Time> stamp_or(const rclcpp::Time& time) const noexcept {
    return is_stamped_ ? stamp() : builtin_interfaces::msg::Time(time);
  }

 private:
  vms_ph::Model model_;
  bool is_stamped_, reads_positions_only_;
  std::vector<std::string> names_;
  Eigen::Index wrench_index_ = 0;  ///< of the first component; 0 for none
  Eigen::VectorXd values_;
  vms_ph::RobotState state_;
};

}  // namespace vms_ph_ros2_control
