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

// The tag <ros2_control> of simulated hardware: its parameters, and the posture that it begins in.
#pragma once

#include <string>
#include <vector>

#include <hardware_interface/hardware_info.hpp>

#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Reads a tag, which must outlive it. All functions but flag() throw vms_ph::ModelError for what
/// is not accepted; the message says what is.
class HardwareTag {
 public:
  /// @throws vms_ph::ModelError  an interface that is not of type double.
  explicit HardwareTag(const hardware_interface::HardwareInfo& info);

  std::string text(const std::string& name, const std::string& otherwise) const;
  std::vector<std::string> words(const std::string& name) const;  ///< with spaces between
  bool flag(const std::string& name) const;                       ///< true unless it says otherwise
  double number(const std::string& name, double otherwise) const;  ///< that is positive
  Eigen::Vector3d vector(const std::string& name, const std::string& otherwise) const;

  /// Refuse command interfaces of a base that is driven by its wheels.
  void check_no_commands_of(const std::string& base) const;

  /// The configuration (nq,) of the initial values of its joints.
  Eigen::VectorXd home(const vms_ph::Model& model) const;

 private:
  void check_types() const;
  void check_follower(const hardware_interface::ComponentInfo& joint) const;

  const hardware_interface::HardwareInfo& info_;
};

}  // namespace vms_ph_ros2_control
