// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The motion of a robot split into that of its centre of mass and the rest.
#pragma once

#include <limits>

#include <Eigen/Core>

#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/tree.hpp"

namespace vms_ph {

/// Rounding of energies, as a share of their terms; as in the Python schemes.
constexpr double kEnergyRounding = 8.0 * std::numeric_limits<double>::epsilon();

/// The split of a robot's motion; see vms_ph_dynamics/integrators/centroidal.py. A workspace.
class Centroidal {
 public:
  Centroidal(const Model& model, bool gravity);

  Tree tree;
  const int k;                 ///< dimensions in which the centre of mass moves freely: 0, 2 or 3
  const double mass;           ///< kg
  const Eigen::Vector3d fall;  ///< gravity that the centre of mass follows, m/s^2
  const bool has_potential;    ///< whether a part of gravity acts on the shape

  /// Write the motion (q, v) in the inertial frame at time t as one about the centre of mass.
  void split(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t, SolverState& x) noexcept;

  /// From a frame at `at` with `velocity` to the inertial one, in place.
  void to_inertial(const Eigen::Vector3d& at, const Eigen::Vector3d& velocity, Eigen::VectorXd& q,
                   Eigen::VectorXd& v) const noexcept;

  /// From base axes to inertial axes.
  Eigen::Matrix3d rotation(const Eigen::VectorXd& q) const noexcept;

  Eigen::Vector3d position(const Eigen::VectorXd& q) const noexcept;
  void set_position(const Eigen::Vector3d& at, Eigen::VectorXd& q) const noexcept;

  /// Move the centre of mass of q to the origin and evaluate the tree there.
  void settle(const Eigen::Matrix3d& rotation, Eigen::VectorXd& q) const noexcept;

  /// q after a displacement (nv,) along the exponential; `turn_only` leaves the position unchanged.
  void integrate(const Eigen::VectorXd& q, const Eigen::VectorXd& reach, Eigen::VectorXd& out,
                 bool turn_only = false) const noexcept;

  /// As displace(), for the joints of q only.
  void integrate_joints(const Eigen::VectorXd& q, const Eigen::VectorXd& reach,
                        Eigen::VectorXd& out) const noexcept;

  /// Kinetic energy of a motion plus the potential of the gravity that acts on the shape, J.
  double energy(const Eigen::VectorXd& q, const Eigen::VectorXd& v) noexcept;

  /// Generalised force (nv,) of all efforts but gravity at time t; the tree is evaluated at the
  /// configuration.
  void external_force(const Ports& ports, double t, const Eigen::VectorXd& v,
                      Eigen::VectorXd& force) const noexcept;

  /// Add the work of the efforts at a velocity (nv,) in the inertial frame, held for `duration` s.
  void add_port_energies(const Ports& ports, const Eigen::VectorXd& v, double duration,
                         StepResult& result) const noexcept;

 private:
  void friction(const Ports& ports, int joint, double rate, double& force) const noexcept;
};

}  // namespace vms_ph
