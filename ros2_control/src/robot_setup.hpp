// The model of a plugin, from the robot description and a few parameters.
#pragma once

#include <string>
#include <vector>

#include "vms_ph_native/model.hpp"

namespace vms_ph_ros2_control {

struct RobotSetup {
  std::string urdf;
  std::string base = "fixed";  ///< fixed, planar or floating
  std::string end_effector;    ///< name of a frame; when empty, the last link that a joint moves
  std::vector<std::string> locked_joints;
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};
};

/// @throws vms_ph::ModelError  the text describes no robot, or one that is not supported.
vms_ph::Model make_model(const RobotSetup& setup);

/// Name of the root link, the frame of the base.
std::string root_link(const vms_ph::Model& model);

/// The frame that poses are given in: the root link of a fixed base, else odom.
std::string inertial_frame(const vms_ph::Model& model);

/// The names of the interfaces that command a base: none, three or six.
std::vector<std::string> wrench_interfaces(const vms_ph::Model& model, const std::string& base);

}  // namespace vms_ph_ros2_control
