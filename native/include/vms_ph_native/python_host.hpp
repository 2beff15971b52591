// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The options of hosts of Python objects: which robot, which Python, how long to wait.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace vms_ph {

/// Python, or an object in it, is not available; the message says what to do.
class PythonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The actuators of a base as a map; see vms_ph_dynamics.actuation.allocation.Allocation.
struct PythonAllocation {
  Eigen::MatrixXd matrix;        ///< (b,m) from inputs to the wrench; (0,0) for any wrench
  Eigen::VectorXd lower, upper;  ///< (m,) limits of the inputs, N or N m
};

/// A link in a fluid; see vms_ph_dynamics.actuation.fluid.ImmersedBody.
struct PythonImmersedBody {
  std::string link;
  Eigen::Matrix<double, 6, 6> added_mass;
  double volume = 0.0;  ///< m^3
  Eigen::Vector3d centre_of_buoyancy;
  Eigen::Matrix<double, 6, 1> linear_drag, quadratic_drag;
};

/// The arguments of vms_ph_dynamics.VMSModel.from_urdf.
struct PythonRobot {
  std::string urdf;                          ///< text of the URDF
  std::string base = "auto";                 ///< auto, fixed, planar or floating
  std::string end_effector;                  ///< name of a frame; the last link's when empty
  std::vector<std::string> locked_joints;    ///< joints fixed at zero
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};  ///< in the inertial frame, m/s^2
  bool base_actuated = true;        ///< whether the base has actuators, for controllers that ask
  PythonAllocation allocation;  ///< those actuators; without any every wrench is possible
  std::vector<PythonImmersedBody> immersed;  ///< links in a fluid; empty for none
  double density = 1000.0;                   ///< of that fluid, kg/m^3
};

struct PythonOptions {
  /// The virtual environment whose packages are used; when empty that of the environment variable
  /// VMS_PH_PYTHON, then of VIRTUAL_ENV; without any of them the packages on the default path.
  std::string environment;
  std::vector<std::string> folders;  ///< searched for modules before all others
  double period = 1e-3;              ///< of the caller, s; an update waits at most half of it
  double reset_timeout = 1.0;        ///< longest wait for a reset, s
  double load_timeout = 120.0;       ///< longest wait for imports and construction, s
  int priority = 0;  ///< SCHED_FIFO priority of Python's thread; 0: that of the creating thread
};

}  // namespace vms_ph
