// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The actuators of a base: their map, where it turns, the momentum of their rotors, and the
// inputs that come nearest to a wrench.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {

/// Constants of actuators, (m,) each; zero where unknown.
struct ActuatorInputs {
  std::vector<std::string> names;
  Eigen::VectorXd thrust_constant;  ///< thrust over the square of the rate, N s^2/rad^2
  Eigen::VectorXd time_constant;    ///< of the lag, s
  Eigen::VectorXd dead_zone;        ///< magnitude below which there is no thrust, N
  Eigen::VectorXd loss_ratio;       ///< torque of the fluid on the shaft over thrust, m
  Eigen::VectorXd friction;         ///< of wheels, viscous, N m s/rad
  Eigen::VectorXd largest_rate;     ///< beyond which a wheel is driven no further, rad/s
  Eigen::VectorXd rate;             ///< of the shaft at the start, rad/s
  std::vector<bool> reaction;       ///< whether it is a reaction wheel
  Eigen::VectorXd torque_constant;  ///< of the motor, N m/A
  Eigen::VectorXd resistance;       ///< of its winding, ohm
};

/// The momentum of rotors and wheels, `inertia rate axis` with axis = cos(tilt) axis + sin(tilt)
/// quarter_axis.
struct SpinningParts {
  Eigen::VectorXd inertia;              ///< (m,) kg m^2; zero where there is none
  Eigen::Matrix3Xd axis, quarter_axis;  ///< (3,m) in the base frame
};

/// Columns of the map that depend on an angle: fixed + cos(angle) cosine + sin(angle) sine.
struct TurningColumns {
  std::vector<Eigen::Index> angle_input;  ///< (m,) input whose angle turns a column; -1 for none
  Eigen::MatrixXd fixed, cosine, sine;    ///< (b,m)
  Eigen::VectorXd start;                  ///< (m,) angles at the start, rad
  Eigen::VectorXd lower, upper,
      largest_tilt_rate;  ///< (m,) of tilts, rad and rad/s; others have fastest zero

  /// A column at an angle, (b,).
  VectorB at(Eigen::Index i, double angle) const noexcept;
  bool tilts(Eigen::Index i) const { return largest_tilt_rate[i] > 0.0; }
  bool steers(Eigen::Index i) const {
    return angle_input[static_cast<std::size_t>(i)] == i && !tilts(i);
  }
  bool any() const;
};

/// The actuators of a base.
struct BaseActuators : ActuatorInputs {
  Allocation allocation;    ///< the map at the start, without tilt
  Eigen::VectorXd weights;  ///< (b,) of the components of a wrench that cannot be made whole
  SpinningParts spinning;
  TurningColumns columns;
};

/// The inputs within bounds whose wrench is nearest, of several the smallest; as nearest_inputs in
/// vms_ph_dynamics/actuation/allocation.py. Where bounds do not matter they are the least squares
/// themselves, to rounding, which the search within bounds is not where inputs have no effect.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class NearestInputs {
 public:
  /// @param weighted  (b,m) map from inputs to wrenches, times the weights of their components.
  explicit NearestInputs(const Eigen::MatrixXd& weighted)
      : weighted_(weighted), search_(weighted), eigen_(weighted.rows()) {}

  /// Take another map of the same size.
  void replace(const Eigen::MatrixXd& weighted) noexcept;

  /// Write the inputs (m,).
  ///
  /// @param goal          (b,) desired wrench times the weights.
  /// @param lower, upper  (m,) bounds; may be infinite.
  void solve(const VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
             Eigen::VectorXd& inputs) noexcept;

  /// The same without a search; false, with inputs undefined, where bounds matter.
  bool solve_freely(const VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                    Eigen::VectorXd& inputs) noexcept;

 private:
  Eigen::MatrixXd weighted_;
  BoundedLeastSquares search_;
  MatrixV gram_;  ///< (b,b) of the columns that are free
  SymmetricEigen eigen_;
  VectorB residual_, coordinates_;
};

/// The map w = B u (b,m) at the angles of its inputs.
///
/// A workspace: after construction nothing allocates or throws.
class ActuatorMap {
 public:
  explicit ActuatorMap(const BaseActuators& actuators);

  bool turns() const noexcept { return has_turning_; }
  bool spins() const noexcept { return has_spin_; }

  /// B at the angles set last, those of the start before.
  const Eigen::MatrixXd& matrix() const noexcept { return matrix_; }

  /// Set the angles (m,) of tilts and of steering, rad.
  void turn(const Eigen::VectorXd& angles) noexcept;

  /// Angular momentum of rotors and wheels with rates (m,), rad/s, in the base frame, kg m^2/s.
  Eigen::Vector3d momentum(const Eigen::VectorXd& angles,
                           const Eigen::VectorXd& rates) const noexcept;

 private:
  TurningColumns columns_;
  SpinningParts spinning_;
  Eigen::MatrixXd matrix_;
  bool has_turning_, has_spin_;
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
  bool exist() const noexcept { return !tilting_.empty(); }

  /// Write the angles (m,) at the end of a step, rad.
  ///
  /// @param goal          (b,) desired wrench times the weights.
  /// @param lower, upper  (m,) limits of the inputs.
  /// @param angles        (m,) at its start.
  /// @param step          its length, s.
  void aim(const VectorB& goal, const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
           const Eigen::VectorXd& angles, double step, Eigen::VectorXd& out) noexcept;

 private:
  ActuatorMap map_;
  Eigen::VectorXd weights_;
  Eigen::VectorXd lower_angles_, upper_angles_,
      mean_angles_;                     ///< limits of the angles and their mean, (t,)
  Eigen::VectorXd largest_tilt_rates_;  ///< rad/s, (t,)
  std::vector<Eigen::Index> tilting_;
  Eigen::MatrixXd parts_;  ///< (b,m+2t), times the weights
  Eigen::VectorXd mean_inputs_, lower_, upper_, forces_;
  VectorB residual_goal_;
  NearestInputs unbounded_;  ///< where limits do not matter
  BoundedLeastSquares search_;
};

}  // namespace vms_ph
