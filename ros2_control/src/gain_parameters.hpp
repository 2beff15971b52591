// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The gains of a control law as parameters of a node.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rclcpp_lifecycle/lifecycle_node.hpp>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Gains that are declared already (by a parameter schema) are used as they are; the others are
/// declared with the bounds of the law. Changes reach the law between two updates.
class GainParameters {
 public:
  /// Read all gains and set them.
  ///
  /// @throws vms_ph::ModelError  a value that the law does not accept.
  GainParameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node, vms_ph::Controller& law);

  /// The same for other numbers that a user sets; `set` takes a name and a value, and returns
  /// whether the value is accepted.
  GainParameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node,
                 const std::vector<vms_ph::Gain>& gains,
                 const std::function<bool(const std::string&, double)>& set);

  /// Pass the changed gains to the law; called by the control loop, without locks or
  /// allocation.
  void apply(vms_ph::Controller& law) noexcept;

  /// Pass the changed gains to a function of name and value, in the same way.
  template <class Set>
  void apply_to(Set&& set) noexcept {
    if (!slots_->changed.exchange(false, std::memory_order_acquire)) return;
    for (const auto& slot : slots_->all) {
      if (!slot->changed.exchange(false, std::memory_order_acquire)) continue;
      set(slot->name, slot->value.load(std::memory_order_relaxed));
    }
  }

 private:
  struct Slot {
    std::string name;
    std::atomic<double> value;
    std::atomic<bool> changed{false};
    bool is_number = true;  ///< else a switch
  };
  struct Slots {
    std::vector<std::unique_ptr<Slot>> all;
    std::atomic<bool> changed{false};  ///< whether any of them has changed
  };

  rclcpp_lifecycle::LifecycleNode::SharedPtr node_;
  std::shared_ptr<Slots> slots_;  ///< shared with the callback, which may outlive this object
  rclcpp::node_interfaces::PreSetParametersCallbackHandle::SharedPtr convert_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr watch_;
};

}  // namespace vms_ph_ros2_control
