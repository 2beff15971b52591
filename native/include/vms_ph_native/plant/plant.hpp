// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The robot that simulated hardware integrates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/plant/actuated_base.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// Torques of the stops of joints that reach their limits; as in
/// vms_ph_dynamics.simulation.joint_effects.
///
/// A stop only pushes, and only as much as a joint needs to end each step where it can still come
/// to rest before the limit in the next. Its work is never positive: stops dissipate. After
/// construction nothing allocates or throws.
class JointStops {
 public:
  /// @param wheels       on which the robot rolls without slip.
  /// @throws ModelError  a mistake in the wheels.
  explicit JointStops(const Model& model, const std::vector<Wheel>& wheels = {});

  /// Whether a joint has a limit.
  bool has_limits() const { return has_limits_; }

  /// Whether a joint can no longer come to rest before its stop in a step of dt s.
  bool lacks_braking_distance(const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                              double dt) noexcept;

  /// Torques (n,) of the stops for a step.
  ///
  /// @param q, v            motion at its start.
  /// @param free_q, free_v  motion at its end without stops.
  const Eigen::VectorXd& torque(const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                                const Eigen::VectorXd& free_q, const Eigen::VectorXd& free_v,
                                double dt) noexcept;

  /// Displacement (n,) of the joints that have limits; zero for continuous joints.
  const Eigen::VectorXd& displacement(const Eigen::VectorXd& start_q,
                                      const Eigen::VectorXd& end_q) noexcept;

 private:
  void compute_mobility(const Eigen::VectorXd& q, const Eigen::VectorXd& v) noexcept;
  bool compute_wheeled_mobility(const Eigen::VectorXd& q, const Eigen::VectorXd& v) noexcept;

  Model model_;
  Evaluation d_;
  std::optional<WheeledTerms> wheel_terms_;  ///< on wheels
  RobotState wheeled_state_;
  bool has_limits_ = false;
  Eigen::VectorXd lower_, upper_, positions_, displacement_, impulse_, rates_, lower_rates_,
      upper_rates_, torque_;
  Eigen::MatrixXd mobility_;  ///< inverse of the mass matrix, (nv,nv)
};

/// Options of the integration.
struct PlantOptions {
  Eigen::VectorXd start_q;                 ///< (nq,) configuration, also after a reset
  double time_step = 1e-3;                 ///< s
  std::string scheme;                      ///< when empty projected_rk4, in a fluid rkmk4
  bool has_friction = true;                ///< whether the joints' friction acts
  bool has_stops = true;                   ///< whether the limits of the joints are stops
  std::optional<BaseActuators> actuators;  ///< of the base; without them it makes any wrench
  std::vector<Wheel> wheels;               ///< that do not slip; then its joints drive the base
  /// Velocity of the water around a floating base, in inertial axes, m/s. As WaterCurrent in
  /// vms_ph_dynamics/simulation/surroundings.py: the motion is integrated in the frame of the
  /// water, and the port energies are those seen from there.
  Eigen::Vector3d current = Eigen::Vector3d::Zero();
};

/// Integrates a robot with the efforts held over each step, as digital controllers do.
class Plant {
 public:
  /// @throws ModelError  an unknown scheme, a mistake in the wheels, wheels and actuators
  ///                             of the base at once, or a current around a robot that is not in
  ///                             water or does not float.
  Plant(const Model& model, const PlantOptions& options);

  /// Return to the start, at rest, with the port energies at zero.
  void reset();

  /// Hold a wrench at the end effector, in its axes, N and N m, from the next step on.
  ///
  /// @param is_active  whether there is one.
  void push(const Screw& wrench, bool is_active) noexcept;

  /// Integrate steps; false, with the state unchanged, when a step fails. Does not allocate.
  ///
  /// @param wrench_base  (b,) in the base frame, linear first, N and N m.
  /// @param is_on_stand  whether it is that of a stand, and not of the actuators of the base.
  /// @param torque       (n,) N m or N.
  bool advance(const Eigen::VectorXd& wrench_base, bool is_on_stand, const Eigen::VectorXd& torque,
               int steps) noexcept;

  /// The wrench (b,) that acted on the base in the last step.
  const Eigen::VectorXd& wrench_base() const noexcept { return ports_.wrench_base; }

  /// Set the health of an actuator, from the next step on.
  void set_health(std::size_t input, Health health) noexcept { base_.set_health(input, health); }

  /// The motion over ground.
  const Eigen::VectorXd& q() const { return ground_q_; }
  const Eigen::VectorXd& v() const { return ground_v_; }
  /// Port energies since the reset; what stops take is dissipated.
  const StepResult& port_energies() const { return total_result_; }
  /// What the actuators of the base took from their supply and lost since the reset, and store.
  const ActuatedBase& actuators() const { return base_; }
  /// A sentence about the last failure.
  std::string reason() const { return last_failure_.reason(); }

 private:
  void update_ground_motion() noexcept;
  bool step_with_stops(double t, const Eigen::VectorXd& torque) noexcept;
  bool step_with_retry(double t, double dt, int halvings_left) noexcept;

  Model model_;
  PlantOptions options_;
  std::unique_ptr<Stepper> stepper_;
  ActuatedBase base_;
  std::unique_ptr<JointStops> stops_;
  Ports ports_;
  SolverState state_, next_state_, saved_state_, start_state_;  // saved: before advance()
  StepResult total_result_, last_failure_;
  std::int64_t steps_ = 0;               // since the reset
  Eigen::VectorXd q_, v_;                // as the integrator has them
  Eigen::VectorXd ground_q_, ground_v_;  // over ground
  Eigen::VectorXd twist_, start_twist_, free_q_, free_v_;
};

}  // namespace vms_ph
