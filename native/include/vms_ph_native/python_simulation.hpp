// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The Python simulator, stepped as if it were a robot.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/python_host.hpp"

namespace vms_ph {

struct PythonSimulationOptions {
  Eigen::VectorXd start;  ///< (nq,) configuration, also after a reset; neutral when (0,)
  double step = 1e-3;     ///< of the integrator, s
  std::string scheme;     ///< of vms_ph_dynamics.integrators.SCHEMES; the default scheme when empty
  bool friction = false;  ///< whether the joints' viscous friction acts
  double timeout = 1.0;   ///< longest wait for a call of step() or reset(), s
};

/// State and energies of a simulated robot at one instant; energies in J, since the last reset.
struct SimulatedMotion {
  Eigen::VectorXd q;  ///< (nq,) configuration
  Eigen::VectorXd v;  ///< (nv,) velocity
  double time = 0.0;  ///< simulated, s
  double kinetic = 0.0, potential = 0.0;
  double torque_energy = 0.0, wrench_base_energy = 0.0, wrench_end_effector_energy = 0.0;
  double dissipated = 0.0;  ///< by friction
};

/// Hosts vms_ph_dynamics.simulation.Simulation. All calls from one thread at a time.
class PythonSimulation {
 public:
  /// @throws PythonError  Python is not available, the text describes no robot, or there is no such
  /// scheme.
  PythonSimulation(const PythonRobot& robot, const PythonSimulationOptions& simulation = {},
                   const PythonOptions& options = {});
  ~PythonSimulation();
  PythonSimulation(const PythonSimulation&) = delete;
  PythonSimulation& operator=(const PythonSimulation&) = delete;

  int b() const;
  int n() const;
  int nq() const;
  int nv() const;
  const std::vector<std::string>& joint_names() const;

  /// Return to the start, at rest.
  bool reset() noexcept;

  /// Hold efforts and advance.
  /// Time advances in whole integrator steps; the remainder is added to the next call.
  /// @param wrench_base  (b,) in the base frame, linear first, N and N m.
  /// @param torque       (n,) N m or N.
  /// @param dt           s.
  /// @returns false, with motion() unchanged, when Python was late or raised, or when the motion
  ///          could not be integrated; see reason() and log().
  bool step(const Eigen::VectorXd& wrench_base, const Eigen::VectorXd& torque, double dt) noexcept;

  const SimulatedMotion& motion() const noexcept;
  const char* reason() const noexcept;  ///< why the last call failed, empty when it did not
  std::string log() const;              ///< the exceptions raised in Python; not real time

 private:
  class Hosted;
  std::unique_ptr<Hosted> hosted_;
};

}  // namespace vms_ph
