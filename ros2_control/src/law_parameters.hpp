// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Numbers set as parameters of a node: gains of a law, its payload, bounds of plausible states.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <vms_ph/controller_shell_parameters.hpp>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/plausibility.hpp"
#include "vms_ph_native/supervisor.hpp"

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
                 const std::function<bool(const std::string&, double)>& set_number);

  /// Pass the changed gains to the law, from the control loop, without locks or allocation.
  void apply(vms_ph::Controller& law) noexcept;

  /// Pass the changed gains to a function of name and value, in the same way.
  template <class SetNumber>
  void for_each_change(SetNumber&& set_number) noexcept {
    if (!gains_->has_changed.exchange(false, std::memory_order_acquire)) return;
    for (const auto& gain : gains_->gains) {
      if (!gain->has_changed.exchange(false, std::memory_order_acquire)) continue;
      set_number(gain->name, gain->value.load(std::memory_order_relaxed));
    }
  }

 private:
  struct SharedGain {
    std::string name;
    std::atomic<double> value;
    std::atomic<bool> has_changed{false};
    bool is_number = true;  ///< false for a switch
  };
  struct SharedGains {
    std::vector<std::unique_ptr<SharedGain>> gains;
    std::atomic<bool> has_changed{false};  ///< whether any of them has changed
  };

  rclcpp_lifecycle::LifecycleNode::SharedPtr node_;
  std::shared_ptr<SharedGains> gains_;  ///< shared with the callback, which may outlive this object
  rclcpp::node_interfaces::PreSetParametersCallbackHandle::SharedPtr conversion_callback_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr storing_callback_;
};

/// The parameters `payload.mass`, kg, and `payload.center.x`, `.y`, `.z`, m, of the centre of mass
/// from the end effector in its axes. They change while the controller runs. Any mass that is not
/// negative with any centre is a payload: only its weight is compensated, not its inertia.
class PayloadParameters {
 public:
  /// Declare and read the parameters, and tell them to a law that compensates payloads.
  ///
  /// @throws vms_ph::ModelError  a value out of its bounds, which are those of the robot.
  PayloadParameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node, const vms_ph::Model& model,
                    vms_ph::Controller& law)
      : max_payload_{model.total_mass(), model.reach() / std::sqrt(3.0),
                     model.reach() / std::sqrt(3.0), model.reach() / std::sqrt(3.0)},
        parameters_(
            std::move(node), payload_gains(),
            [this](const std::string& name, double value) { return set_number(name, value); }) {
    update_law(law);
  }

  /// Pass what has changed to the law; called by the control loop, without locks or allocation.
  void apply(vms_ph::Controller& law) noexcept {
    bool is_new_payload = false;
    parameters_.for_each_change([&](const std::string& name, double value) {
      is_new_payload = set_number(name, value) || is_new_payload;
    });
    if (is_new_payload) update_law(law);
  }

 private:
  static constexpr std::array<const char*, 4> kParameterNames{
      "payload.mass", "payload.center.x", "payload.center.y", "payload.center.z"};

  std::vector<vms_ph::Gain> payload_gains() const {
    std::vector<vms_ph::Gain> gains;
    for (std::size_t i = 0; i < kParameterNames.size(); ++i) {
      gains.push_back({kParameterNames[i],
                       i == 0 ? "mass of what the end effector holds, of which the weight is "
                                "compensated, kg; 0: nothing"
                              : "centre of that mass, from the end effector in its axes, m",
                       0.0, i == 0 ? 0.0 : -max_payload_[i], max_payload_[i]});
    }
    return gains;
  }

  bool set_number(const std::string& name, double value) noexcept {
    for (std::size_t i = 0; i < kParameterNames.size(); ++i) {
      if (name != kParameterNames[i]) continue;
      if (!(value >= (i == 0 ? 0.0 : -max_payload_[i]) && value <= max_payload_[i])) return false;
      payload_[static_cast<Eigen::Index>(i)] = value;
      return true;
    }
    return false;
  }

  void update_law(vms_ph::Controller& law) noexcept {
    law.carry(payload_[0], payload_[0] * payload_.tail<3>(), 0.0);
  }

  std::array<double, 4> max_payload_;                  ///< mass and centre, kg and m
  Eigen::Vector4d payload_ = Eigen::Vector4d::Zero();  ///< mass and centre
  GainParameters parameters_;
};

/// The bounds of plausible states, which all controllers have.
inline vms_ph::PlausibilityBounds plausibility_bounds(const controller_shell::Params& parameters) {
  const auto& limits = parameters.plausibility;
  vms_ph::PlausibilityBounds bounds;
#define VMS_PH_FIELD(name, initial, least, most) bounds.name = static_cast<double>(limits.name);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return bounds;
}

}  // namespace vms_ph_ros2_control
