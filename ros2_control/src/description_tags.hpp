// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What a robot description says of actuators and fluids; the elements are those of
// vms_ph_io/settings/plugin_tags.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vms_ph_native/allocation.hpp"
#include "vms_ph_native/fluid.hpp"

namespace vms_ph_ros2_control {

/// What is known of the inputs of actuators, (m,) each; zero where it is not.
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

/// The momentum of what spins, `inertia rate axis` with axis = cos(tilt) axis + sin(tilt) quarter.
struct SpinningParts {
  Eigen::VectorXd inertia;         ///< (m,) kg m^2; zero where there is none
  Eigen::Matrix3Xd axis, quarter;  ///< (3,m) in the base frame
};

/// Columns of the map that turn: fixed + cos(angle) cosine + sin(angle) sine.
struct TurningColumns {
  std::vector<Eigen::Index> by;         ///< (m,) input whose angle turns a column; -1 for none
  Eigen::MatrixXd fixed, cosine, sine;  ///< (b,m)
  Eigen::VectorXd start;                ///< (m,) angles at the start, rad
  Eigen::VectorXd lower, upper,
      fastest;  ///< (m,) of tilts, rad and rad/s; others have fastest zero

  /// A column at an angle, (b,).
  vms_ph::VectorB at(Eigen::Index i, double angle) const noexcept;
  bool tilts(Eigen::Index i) const { return fastest[i] > 0.0; }
  bool steers(Eigen::Index i) const { return by[static_cast<std::size_t>(i)] == i && !tilts(i); }
  bool any() const;
};

/// The actuators of a base.
struct BaseActuators : ActuatorInputs {
  vms_ph::Allocation allocation;  ///< the map at the start, without tilt
  Eigen::VectorXd weights;        ///< (b,) of the components of a wrench that cannot be made whole
  SpinningParts spinning;
  TurningColumns columns;
};

/// All inputs of an actuator, by the name of one of them or the part before "/"; none without it.
std::vector<std::size_t> inputs_of(const std::string& name, const std::vector<std::string>& names);

/// The actuators in the text of a URDF, of which none make any wrench.
///
/// @throws vms_ph::ModelError  they are not valid, or not prepared for the plugins.
std::optional<BaseActuators> actuators_in(const std::string& urdf);

/// The fluid in the text of a URDF.
///
/// @throws vms_ph::ModelError  it is not valid.
std::optional<vms_ph::Fluid> fluid_in(const std::string& urdf);

}  // namespace vms_ph_ros2_control
