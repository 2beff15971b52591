// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The tag <ros2_control> of simulated hardware: its parameters, and the posture that it begins in.
#pragma once

#include <string>
#include <vector>

#include <hardware_interface/hardware_info.hpp>

#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

/// Reads a tag, which must outlive it. All functions but flag() throw vms_ph::ModelError for what
/// is not accepted; the message lists the accepted ones.
class HardwareTag {
 public:
  /// @throws vms_ph::ModelError  an interface that is not of type double.
  explicit HardwareTag(const hardware_interface::HardwareInfo& info);

  std::string text(const std::string& name, const std::string& fallback) const;
  std::vector<std::string> words(const std::string& name) const;  ///< with spaces between
  bool flag(const std::string& name) const;                       ///< true unless it says otherwise
  double positive_number(const std::string& name, double fallback) const;
  Eigen::Vector3d vector(const std::string& name, const std::string& fallback) const;

  /// Refuse command interfaces of a base that is driven by its wheels.
  void check_no_commands_of(const std::string& base_name) const;

  /// The configuration (nq,) of the initial values of its joints.
  Eigen::VectorXd home_configuration(const vms_ph::Model& model) const;

 private:
  const hardware_interface::HardwareInfo& info_;
};

}  // namespace vms_ph_ros2_control
