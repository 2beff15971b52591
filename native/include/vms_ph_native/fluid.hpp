// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A fluid around the robot: added mass, buoyancy and drag.
#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

class Dynamics;
class Model;

/// The coefficients of one link in a fluid, in the axes and about the origin of its frame; linear
/// parts first. See vms_ph_dynamics/actuation/fluid.py.
struct ImmersedBody {
  std::string link;
  Eigen::Matrix<double, 6, 6> added_mass = Eigen::Matrix<double, 6, 6>::Zero();
  double volume = 0.0;                                           ///< of the displaced fluid, m^3
  Eigen::Vector3d centre_of_buoyancy = Eigen::Vector3d::Zero();  ///< m
  Eigen::Matrix<double, 6, 1> linear_drag = Eigen::Matrix<double, 6, 1>::Zero();  ///< N s/m, N m s
  Eigen::Matrix<double, 6, 1> quadratic_drag =
      Eigen::Matrix<double, 6, 1>::Zero();  ///< N s^2/m^2, N m s^2
};

/// A fluid at rest, and the links that are in it.
struct Fluid {
  std::vector<ImmersedBody> bodies;
  double density = 1000.0;  ///< kg/m^3

  /// @throws ModelError  a coefficient that is not finite or not physically possible.
  void check() const;
};

/// What a fluid adds to the terms of a robot; without a fluid, nothing.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class FluidTerms {
 public:
  explicit FluidTerms(const Model& model);

  bool has_bodies() const noexcept { return !bodies_.empty(); }

  /// Take the configuration that a robot was placed at, then the velocity (nv,) it was moved with.
  void set_configuration(const Dynamics& robot) noexcept;
  void set_velocity(const Dynamics& robot, const ConstVector& v) noexcept;

  // Of the configuration:
  void add_inertia(MatrixV& M) const noexcept;  ///< sum J^T M_A J, (nv,nv)
  void add_gravity(VectorV& g) const noexcept;  ///< less buoyancy, (nv,)
  double potential_energy() const noexcept;     ///< of buoyancy, J

  // Of the velocity:
  void add_coriolis(MatrixV& C) const noexcept;  ///< J^T (M_A Jdot - ad~_p J), (nv,nv)
  void add_kinetic_gradient(VectorV& gradient) const noexcept;  ///< C^T v, (nv,)
  void add_momentum(VectorV& momentum) const noexcept;          ///< (nv,)
  void add_drag(VectorV& force) const noexcept;                 ///< (nv,), N and N m
  double kinetic_energy() const noexcept;                       ///< of the added mass, J

 private:
  using Jacobian = Eigen::Matrix<double, 6, Eigen::Dynamic, Eigen::RowMajor>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;

  struct BodyTerms {
    ImmersedBody description;
    int frame_index;
    Jacobian jacobian, jacobian_rate;
    Vector6 twist, momentum, buoyancy;
    Eigen::Matrix3d rotation;
    Eigen::Vector3d origin;
    Vector6 drag() const noexcept;
  };

  std::vector<BodyTerms> bodies_;
  double density_ = 0.0;
  Eigen::Vector3d gravity_;
};

}  // namespace vms_ph
