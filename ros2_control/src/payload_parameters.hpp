// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What a user says of a payload, as parameters of a controller.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "gain_parameters.hpp"

namespace vms_ph_ros2_control {

/// The parameters `payload.mass`, kg, and `payload.center.x`, `.y`, `.z`, m, of the centre of mass
/// from the end effector in its axes. They change while the controller runs. Any mass that is not
/// negative with any centre is a payload: only its weight is compensated, not its inertia.
class PayloadParameters {
 public:
  /// Declare and read the parameters, and tell them to a law that compensates payloads.
  ///
  /// @throws vms_ph::ModelError  a value out of its bounds.
  PayloadParameters(rclcpp_lifecycle::LifecycleNode::SharedPtr node, vms_ph::Controller& law)
      : numbers_(std::move(node), declared(),
                 [this](const std::string& name, double value) { return set(name, value); }) {
    tell(law);
  }

  /// Pass what has changed to the law; called by the control loop, without locks or allocation.
  void apply(vms_ph::Controller& law) noexcept {
    bool changed = false;
    numbers_.apply_to(
        [&](const std::string& name, double value) { changed = set(name, value) || changed; });
    if (changed) tell(law);
  }

 private:
  static constexpr std::array<const char*, 4> kNames{"payload.mass", "payload.center.x",
                                                     "payload.center.y", "payload.center.z"};
  static constexpr double kMass = 1e4, kDistance = 10.0;  // the largest, kg and m

  static std::vector<vms_ph::Gain> declared() {
    std::vector<vms_ph::Gain> all;
    for (const char* name : kNames) {
      const bool is_mass = all.empty();
      all.push_back({name,
                     is_mass ? "mass of what the end effector holds, of which the weight is "
                               "compensated, kg; 0: nothing"
                             : "centre of that mass, from the end effector in its axes, m",
                     0.0, is_mass ? 0.0 : -kDistance, is_mass ? kMass : kDistance});
    }
    return all;
  }

  bool set(const std::string& name, double value) noexcept {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (name != kNames[i]) continue;
      if (!(value >= (i == 0 ? 0.0 : -kDistance) && value <= (i == 0 ? kMass : kDistance))) {
        return false;
      }
      told_[static_cast<Eigen::Index>(i)] = value;
      return true;
    }
    return false;
  }

  void tell(vms_ph::Controller& law) noexcept {
    law.carry(told_[0], told_[0] * told_.tail<3>(), 0.0);
  }

  Eigen::Vector4d told_ = Eigen::Vector4d::Zero();  ///< mass and centre
  GainParameters numbers_;
};

}  // namespace vms_ph_ros2_control
