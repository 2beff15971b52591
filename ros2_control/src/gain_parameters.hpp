// The gains of a control law as parameters of a node.
#pragma once

#include <atomic>
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

  /// Pass the changed gains to the law; called by the control loop, without locks or
  /// allocation.
  void apply(vms_ph::Controller& law) noexcept;

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
