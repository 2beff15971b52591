// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A flying robot with two joints, one of them endless, and the ros2_control tag of its simulation.
#pragma once

#include <initializer_list>
#include <string>

inline std::string flying_arm(const std::string& base = "floating", const std::string& effects = "",
                              const std::string& more_joints = "",
                              const std::string& more_parameters = "") {
  const auto tags = [](const std::string& tag, std::initializer_list<const char*> names) {
    std::string xml;
    for (const char* name : names) xml += "<" + tag + " name='" + name + "'/>";
    return xml;
  };
  const auto link = [](const std::string& name, const std::string& mass, const std::string& ixx,
                       const std::string& iyy, const std::string& izz) {
    return "<link name='" + name + "'><inertial><origin xyz='0.02 0.01 0.05'/><mass value='" +
           mass + "'/><inertia ixx='" + ixx + "' iyy='" + iyy + "' izz='" + izz +
           "' ixy='0' ixz='0' iyz='0'/></inertial></link>";
  };
  const auto joint = [&](const std::string& name, const std::string& home) {
    return "<joint name='" + name + "'>" +
           tags("command_interface", {"effort", "position", "velocity"}) +
           "<state_interface name='position'><param name='initial_value'>" + home +
           "</param></state_interface>" + tags("state_interface", {"velocity", "effort"}) +
           "</joint>";
  };
  std::string moving;
  if (base != "fixed") {
    moving = "<gpio name='base'>" +
             tags("command_interface",
                  {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"}) +
             tags("state_interface",
                  {"position.x", "position.y", "position.z", "orientation.x", "orientation.y",
                   "orientation.z", "orientation.w", "linear_velocity.x", "linear_velocity.y",
                   "linear_velocity.z", "angular_velocity.x", "angular_velocity.y",
                   "angular_velocity.z"}) +
             "</gpio>";
  }
  return "<robot name='flying_arm'>" + link("base_link", "2.0", "0.05", "0.06", "0.08") +
         link("upper", "0.5", "0.004", "0.005", "0.002") +
         link("lower", "0.3", "0.002", "0.002", "0.001") +
         "<joint name='shoulder' type='revolute'><parent link='base_link'/><child link='upper'/>"
         "<origin xyz='0 0 -0.1'/><axis xyz='0 1 0'/>"
         "<limit lower='-2.5' upper='2.5' effort='20' velocity='20'/>"
         "<dynamics damping='0.05'/></joint>"
         "<joint name='elbow' type='continuous'><parent link='upper'/><child link='lower'/>"
         "<origin xyz='0 0 0.25'/><axis xyz='1 0 0'/><limit effort='20' velocity='20'/></joint>"
         "<ros2_control name='simulated' type='system'><hardware>"
         "<plugin>vms_ph/SimulatedSystem</plugin><param name='base'>" +
         base + "</param><param name='step'>0.001</param>" + more_parameters + "</hardware>" +
         joint("shoulder", "0.4") + joint("elbow", "-0.3") + more_joints + moving +
         "<gpio name='clock'>" + tags("state_interface", {"sec", "nanosec"}) +
         "</gpio><gpio name='port_energy'>" +
         tags("state_interface", {"torque", "wrench_base", "wrench_end_effector", "dissipated",
                                  "resets", "electric", "actuator_losses", "spinning"}) +
         "</gpio><sensor name='wrench_end_effector'>" +
         tags("state_interface",
              {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"}) +
         "</sensor></ros2_control>" + effects + "</robot>";
}
