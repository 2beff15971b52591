// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The actuators of a base: their map, where it turns, the momentum of their rotors, the inputs that
// come nearest to a wrench; and in time.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"

namespace vms_ph {

/// Constants of actuators, (m,) each; zero where unknown.
struct ActuatorInputs {
  std::vector<std::string> names;
  Eigen::VectorXd thrust_constant;      ///< thrust over the square of the rate, N s^2/rad^2
  Eigen::VectorXd time_constant;        ///< of the lag, s
  Eigen::VectorXd dead_zone;            ///< magnitude below which there is no thrust, N
  Eigen::VectorXd loss_ratio;           ///< torque of the fluid on the shaft over thrust, m
  Eigen::VectorXd friction;             ///< of wheels, viscous, N m s/rad
  Eigen::VectorXd largest_rate;         ///< beyond which a wheel is driven no further, rad/s
  Eigen::VectorXd start_rate;           ///< of the shaft at the start, rad/s
  std::vector<bool> is_reaction_wheel;  ///< whether it is a reaction wheel
  Eigen::VectorXd torque_constant;      ///< of the motor, N m/A
  Eigen::VectorXd resistance;           ///< of its winding, ohm
};

/// The momentum of rotors and wheels, `inertia rate axis` with axis = cos(tilt) axis + sin(tilt)
/// quarter_turn_axis.
struct SpinningParts {
  Eigen::VectorXd inertia;                   ///< (m,) kg m^2; zero where there is none
  Eigen::Matrix3Xd axis, quarter_turn_axis;  ///< (3,m) in the base frame
};

/// Columns of the map that depend on an angle: fixed + cos(angle) cosine + sin(angle) sine.
struct AngleColumns {
  std::vector<Eigen::Index> angle_input;  ///< (m,) input whose angle turns a column; -1 for none
  Eigen::MatrixXd fixed, cosine, sine;    ///< (b,m)
  Eigen::VectorXd angles;                 ///< (m,) angles at the start, rad
  Eigen::VectorXd lower_tilt, upper_tilt, largest_tilt_rate;  ///< (m,) rad and rad/s; others: zero

  /// A column at an angle, (b,).
  VectorB column(Eigen::Index i, double angle) const noexcept {
    return fixed.col(i) + std::cos(angle) * cosine.col(i) + std::sin(angle) * sine.col(i);
  }
  bool is_tilting(Eigen::Index i) const { return largest_tilt_rate[i] > 0.0; }
  bool is_steering(Eigen::Index i) const {
    return angle_input[static_cast<std::size_t>(i)] == i && !is_tilting(i);
  }
  bool has_angle_inputs() const;
};

/// The actuators of a base.
struct BaseActuators : ActuatorInputs {
  Allocation allocation;    ///< the map at the start, without tilt
  Eigen::VectorXd weights;  ///< (b,) of the components of a wrench that cannot be made whole
  SpinningParts spinning_parts;
  AngleColumns columns;
};

/// The inputs within bounds whose wrench is nearest, of several the smallest; as nearest_inputs in
/// vms_ph_dynamics/actuation/allocation.py. Where bounds do not matter they are the least squares
/// themselves, to rounding, which the search within bounds is not where inputs have no effect.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class NearestInputs {
 public:
  /// @param weighted_map  (b,m) map from inputs to wrenches, times the weights of their components.
  explicit NearestInputs(const Eigen::MatrixXd& weighted_map)
      : weighted_map_(weighted_map), solver_(weighted_map), eigen_(weighted_map.rows()) {}

  /// Take another map of the same size.
  void set_matrix(const Eigen::MatrixXd& weighted_map) noexcept {
    weighted_map_ = weighted_map;
    solver_.set_matrix(weighted_map);
  }

  /// Write the inputs (m,).
  ///
  /// @param goal          (b,) desired wrench times the weights.
  /// @param lower, upper  (m,) bounds; may be infinite.
  void solve(const VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
             Eigen::VectorXd& inputs) noexcept {
    if (!solve_freely(goal, lower, upper, inputs)) solver_.solve(goal, lower, upper, inputs);
  }

  /// The same without a search; false, with inputs undefined, where bounds matter.
  bool solve_freely(const VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                    Eigen::VectorXd& inputs) noexcept;

 private:
  Eigen::MatrixXd weighted_map_;
  BoundedLeastSquares solver_;
  MatrixV gram_;  ///< (b,b) of the columns that are free
  SymmetricEigen eigen_;
  VectorB residual_, coordinates_;  ///< of the goal; along the eigenvectors
};

/// The map w = B u (b,m) at the angles of its inputs.
///
/// A workspace: after construction nothing allocates or throws.
class ActuatorMap {
 public:
  explicit ActuatorMap(const BaseActuators& actuators);

  bool has_angles() const noexcept { return has_angles_; }
  bool has_spin() const noexcept { return has_spin_; }

  /// B at the angles set last, those of the start before.
  const Eigen::MatrixXd& matrix() const noexcept { return matrix_; }

  /// Set the angles (m,) of tilts and of steering, rad.
  void set_angles(const Eigen::VectorXd& angles) noexcept;

  /// Angular momentum of rotors and wheels with rates (m,), rad/s, in the base frame, kg m^2/s.
  Eigen::Vector3d momentum(const Eigen::VectorXd& angles,
                           const Eigen::VectorXd& rates) const noexcept;

 private:
  AngleColumns columns_;
  SpinningParts spinning_parts_;
  Eigen::MatrixXd matrix_;
  bool has_angles_, has_spin_;
};

/// Angles of tilting rotors, as ActuatorDynamics._tilted_commands in
/// vms_ph_dynamics/actuation/actuator_dynamics.py: by forces that are not negative, at
/// the limits of their angles and in the middle between them.
///
/// A workspace: after construction nothing allocates or throws.
class TiltAllocation {
 public:
  /// @throws ModelError  more columns than the C++ core serves.
  explicit TiltAllocation(const BaseActuators& actuators);

  /// Whether there are such rotors.
  bool has_tilting_inputs() const noexcept { return !tilting_inputs_.empty(); }

  /// Write the angles (m,) at the end of a step, rad.
  ///
  /// @param goal          (b,) desired wrench times the weights.
  /// @param lower, upper  (m,) limits of the inputs.
  /// @param angles        (m,) at its start.
  /// @param dt            its length, s.
  void solve_angles(const VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                    const Eigen::VectorXd& angles, double dt, Eigen::VectorXd& end_angles) noexcept;

 private:
  ActuatorMap map_;
  Eigen::VectorXd weights_;
  Eigen::VectorXd lower_angles_, upper_angles_, mean_angles_;  ///< limits and their mean, (t,)
  Eigen::VectorXd largest_tilt_rates_;                         ///< rad/s, (t,)
  std::vector<Eigen::Index> tilting_inputs_;
  Eigen::MatrixXd force_columns_;                                 ///< (b,m+2t), times the weights
  Eigen::VectorXd angles_at_mean_tilt_, lower_, upper_, forces_;  ///< forces and their limits
  VectorB residual_goal_;
  NearestInputs unbounded_solver_;  ///< where limits do not matter
  BoundedLeastSquares solver_;
};

/// Whether an input works.
enum class Health : unsigned char {
  working,
  failed,  ///< it gives nothing, and the allocation does without it
  hidden,  ///< it gives nothing, and the allocation does not know
};

/// Makes of the wrench that is commanded the one that actuators apply, as ActuatorDynamics in
/// vms_ph_dynamics/actuation/actuator_dynamics.py. Without actuators, the commanded one. Of their
/// energy,
///
///     electric = work on the base + change of rotors and wheels stores + losses
///
/// Over a step inputs are constant. After construction nothing allocates or throws.
class ActuatedBase {
 public:
  /// @param dt  length of the steps, s.
  /// @throws ModelError  actuators of another kind of base, or more than the core serves.
  ActuatedBase(const Model& model, std::optional<BaseActuators> base_actuators, double dt);

  /// Return to the start, where rotors turn as they do when a wrench (b,) has long been commanded;
  /// failures remain.
  void reset(const Eigen::VectorXd& wrench) noexcept;

  /// Keep the present state, for restore().
  void save() noexcept { saved_state_ = state_; }
  void restore() noexcept { state_ = saved_state_; }

  /// Set the health of an input, from the next step on.
  void set_health(std::size_t input, Health health) noexcept { health_[input] = health; }

  /// Let rotors turn as they do when a wrench (b,) has long been commanded; the supply gives what
  /// they store more.
  void set_steady_state(const Eigen::VectorXd& wrench) noexcept;

  /// The wrench (b,) over a step of a base that moves with `twist` (b,), but for the gyroscopic
  /// moment; `wrench` (b,) is commanded.
  const Eigen::VectorXd& begin_step(const Eigen::VectorXd& wrench,
                                    const Eigen::VectorXd& twist) noexcept;

  /// The momentum of rotors and wheels over the step that was held, from time `t` s on.
  const Spin& spin(double t) noexcept;

  /// Enter the step that was held, and its energy.
  ///
  /// @param work   of the wrench during the step, J.
  /// @param twist  (b,) of the base at its end.
  void end_step(double work, const Eigen::VectorXd& twist) noexcept;

  /// Steer casters by a step in which a stand holds the base.
  ///
  /// @param twist_0, twist_1  (b,) at its start and end.
  void steer_on_stand(const Eigen::VectorXd& twist_0, const Eigen::VectorXd& twist_1) noexcept;

  double electric_energy() const noexcept { return state_.electric_energy; }  ///< of the supply, J
  double lost_energy() const noexcept { return state_.lost_energy; }  ///< J, as losses above
  double stored_energy() const noexcept;  ///< kinetic energy of rotors and wheels, J

  /// Angular momentum of rotors and wheels, in the base frame, kg m^2/s.
  Eigen::Vector3d momentum() const noexcept;

  /// Angles (m,) of tilts and of steering, rad; there are actuators.
  const Eigen::VectorXd& angles() const noexcept { return state_.angles; }

 private:
  /// What changes with time.
  struct State {
    Eigen::VectorXd rates, thrusts, angles;  ///< (m,) of shafts, of rotors, of tilts and steering
    double electric_energy = 0.0, lost_energy = 0.0;  ///< energies, J
  };

  /// Parts that exist where there are actuators.
  struct AllocationParts {
    explicit AllocationParts(const BaseActuators& actuators);
    PrioritisedActuation fixed_actuation;  ///< of a map that does not turn, in its usual limits
    Eigen::MatrixXd weighted_map;          ///< map times weights
    NearestInputs solver;
    ActuatorMap map;
    TiltAllocation tilt_allocation;
  };

  void set_limits() noexcept;
  void allocate(const Eigen::VectorXd& wrench, const Eigen::VectorXd& twist) noexcept;
  void apply_lag() noexcept;
  void steer(const Eigen::VectorXd& rates) noexcept;

  double time_step_;
  std::optional<BaseActuators> actuators_;
  std::optional<AllocationParts> allocation_parts_;
  std::vector<Health> health_;
  Eigen::VectorXd lag_factor_;     ///< of a deviation after a step with the lag
  Eigen::VectorXd lower_, upper_;  ///< limits of the inputs
  VectorB goal_;                   ///< desired wrench times the weights
  Eigen::VectorXd commands_, inputs_, friction_, net_inputs_;            ///< over the step
  Eigen::VectorXd end_rates_, end_angles_;                               ///< at its end
  Eigen::VectorXd twist_, input_velocities_, mean_rates_, mean_angles_;  ///< base, inputs; means
  Eigen::VectorXd wrench_;
  Spin spin_;
  State state_, saved_state_;
};

}  // namespace vms_ph
