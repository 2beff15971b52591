// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A controller written in Python, hosted for calls from a real-time thread.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/fluid.hpp"

namespace vms_ph {

/// Python, or an object in it, is not available; the message says what to do.
class PythonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The actuators of a base as a map; see vms_ph_dynamics.actuation.allocation.Allocation.
struct PythonAllocation {
  Eigen::MatrixXd matrix;  ///< (b,m) from inputs to the wrench; (0,0) for any wrench
  Eigen::VectorXd lower_limits, upper_limits;  ///< (m,) limits of the inputs, N or N m
};

/// The arguments of vms_ph_dynamics.VMSModel.from_urdf.
struct PythonRobot {
  std::string urdf;           ///< text of the URDF
  std::string base = "auto";  ///< auto, fixed, planar or floating
  std::string end_effector;   ///< name of a frame; when empty, that of the longest chain
  std::vector<std::string> locked_joints;    ///< joints fixed at zero
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};  ///< in the inertial frame, m/s^2
  bool base_actuated = true;    ///< whether the base has actuators, for controllers that ask
  PythonAllocation allocation;  ///< those actuators; without any every wrench is possible
  Fluid fluid;                  ///< without links in it, none
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

/// Hosts a vms_ph_controllers.Controller, one of this project or one written by a user.
/// Python runs in its own thread. update() passes it the state and waits at most half a period.
/// If there is no answer by then, if Python raised, or if a number in the answer is not finite, the
/// safe output is returned, with Status::holding, the reason, and no energy. The safe output is
/// what the controller's safe_output() returned with its last valid answer or its reset; it is zero
/// before the first reset. A late answer is discarded, except for its safe output. While Python
/// still computes with an old state, no new one is passed.
/// update(), reset() and set_gain() may be called from a thread without a Python thread state and
/// never take the GIL. One thread at a time may call update() and reset(), any thread the others.
class PythonController final : public Controller {
 public:
  /// Import and construct the controller; not for a real-time thread.
  ///
  /// @param class_path  "module.Class".
  /// @throws PythonError  Python is not available, or the class does not exist, is not a
  /// controller or does not support this robot.
  PythonController(const std::string& class_path, const PythonRobot& robot,
                   const PythonOptions& options = {});

  /// Waits a few seconds for Python; the thread of a controller that hangs for longer is detached.
  ~PythonController() override;
  PythonController(const PythonController&) = delete;
  PythonController& operator=(const PythonController&) = delete;

  int b() const;   ///< dimension of the base velocity: 0, 3 or 6
  int n() const;   ///< number of joints
  int nq() const;  ///< size of a configuration
  int nv() const;  ///< size of a velocity
  const std::vector<std::string>& joint_names() const;  ///< in the order of the joint rates

  /// Not real time: waits for Python for at most reset_timeout.
  bool reset(const RobotState& state) noexcept override;
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;

  /// Passed to Python with the next state; updates that the host itself missed are passed anyway.
  void note_missed_updates() noexcept override;

  /// The requested values, which Python receives with the next update. A switch is 0 or 1.
  std::vector<Gain> gains() const override;
  bool set_gain(const std::string& name, double value) noexcept override;

  /// Change the period whose half bounds the waiting, s; not during an update.
  void set_period(double period) noexcept;

  /// The last few exceptions raised in Python, with tracebacks, oldest first. Not real time.
  std::string log() const;

  std::uint64_t late_updates() const noexcept;    ///< updates whose answer did not come in time
  std::uint64_t failed_updates() const noexcept;  ///< Python raised, or a number was not finite

 private:
  class Host;
  std::unique_ptr<Host> host_;
};

}  // namespace vms_ph
