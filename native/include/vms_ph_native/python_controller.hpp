// A controller written in Python, hosted so that it can be called from a real-time thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/python_host.hpp"

namespace vms_ph {

/// Hosts a vms_ph_controllers.Controller, of this project or a user's own.
///
/// Python runs in a thread of its own. update() hands it the state and waits at most half a period.
/// When the answer does not come, when Python raised, or when a number in it is not finite, the
/// safe output is given: what holds the robot against gravity, as the controller's own
/// safe_output() returned with its last good answer (or its reset; zero before the first), with
/// Status::holding, the reason, and no energy. A late answer is discarded, except for its safe
/// output. While Python is busy with an old state no new one is handed over.
///
/// update(), reset() and set_gain() may be called from a thread that Python knows nothing of, and
/// never take its lock; update() and reset() from one thread at a time, the others from any.
class PythonController final : public Controller {
 public:
  /// Load and construct it; not for a real-time thread.
  ///
  /// @param kind  "module.Class".
  /// @throws PythonError  no Python, no such class, one that is no controller, or not for this
  /// robot.
  PythonController(const std::string& kind, const PythonRobot& robot,
                   const PythonOptions& options = {});

  /// Waits for Python for a few seconds; a controller that hangs for longer keeps its thread.
  ~PythonController() override;
  PythonController(const PythonController&) = delete;
  PythonController& operator=(const PythonController&) = delete;

  int b() const;   ///< dimension of the base velocity: 0, 3 or 6
  int n() const;   ///< number of joints
  int nq() const;  ///< size of a configuration
  int nv() const;  ///< size of a velocity
  const std::vector<std::string>& joint_names() const;  ///< in the order of the joint rates

  /// Not real time: waits for Python, reset_timeout at most.
  bool reset(const RobotState& state) noexcept override;
  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;

  /// Passed to Python with the next state; updates that the host itself missed are passed anyway.
  void missed_updates() noexcept override;

  /// The requested values, which Python has from the next update on. A switch is 0 or 1.
  std::vector<Gain> gains() const override;
  bool set_gain(const std::string& name, double value) noexcept override;

  /// Change the period that the waiting is measured by, s; not during an update.
  void set_period(double period) noexcept;

  /// The last few exceptions raised in Python, with tracebacks, oldest first. Not real time.
  std::string log() const;

  std::uint64_t late() const noexcept;  ///< updates whose answer did not come in time
  std::uint64_t failed()
      const noexcept;  ///< updates where Python raised or a number was not finite

 private:
  class Hosted;
  std::unique_ptr<Hosted> hosted_;
};

}  // namespace vms_ph
