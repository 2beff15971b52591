// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Derivatives of the rates of the standard and the decoupled form; see docs/derivations.md.
#pragma once

#include <vector>

#include "vms_ph_native/tree.hpp"

namespace vms_ph {

/// Where derivatives of the velocity and of the momentum rate of a form are written, row by row:
/// (nv,nv), those by parameters (nv,10 bodies). Directions of q are velocities.
struct RateDerivatives {
  double *velocity_by_q, *velocity_by_z, *rate_by_q, *rate_by_z, *rate_by_force;
  double *velocity_by_parameters = nullptr, *rate_by_parameters = nullptr;  ///< null for none
};

/// What ten inertial parameters of a body (mass, mass times centre, Ixx, Ixy, Iyy, Ixz, Iyz, Izz
/// about its origin) contribute to the product of a twist and the momentum of another one, both in
/// the axes of the body.
void write_pairing(const Screw& one, const Screw& other, double* out) noexcept;

/// The derivatives of a tree at its configuration and velocity: sums over pairs of a joint and one
/// before it, and products with the inverse of the mass matrix. After construction nothing
/// allocates or throws.
class TreeDerivatives {
 public:
  explicit TreeDerivatives(const Tree& tree);

  /// Begin with the velocity set last, in a field in root axes, m/s^2; `slopes` (n,) are those of
  /// the friction.
  void reset(Tree& tree, bool decoupled, const Eigen::Vector3d& field, const double* slopes,
             const Screw& base_rate) noexcept;

  /// Add a wrench (root axes) that moves with a body.
  void add_wrench(const Tree& tree, int body, const Screw& wrench) noexcept;

  /// Write the derivatives. The rate of the base momentum was given to reset().
  void write(const Tree& tree, const RateDerivatives& out) noexcept;

 private:
  /// Of the bodies in a group: changes with their own joint.
  struct alignas(Lanes) Group {
    Row turned[6], change[6], pull[3];  ///< ad(V) S; of the subtree's momentum; field x axis
    Row screw_rate[6], inertia_rate[10], reaction_rate[6];
    // The same of the motion with locked joints, and their rates.
    Row locked_turned[6], locked_change[6], turned_rate[6], change_rate[6];
  };
  /// Columns of derivatives, (nv,stride) each: of the momenta M v and M (v_hat, 0) at fixed
  /// velocities, the rate of the latter, the forces, and what follows.
  struct Columns {
    std::vector<double> momentum, locked, locked_rate, slope, velocity, rate;
  };

  double* row(std::vector<double>& matrix, int i) const noexcept { return &matrix[at(i)]; }
  std::size_t at(int i) const noexcept { return static_cast<std::size_t>(i) * stride_; }
  void compute_groups(Tree& tree, const Screw& base_rate) noexcept;
  void compute_pairs(const Tree& tree) noexcept;
  void compute_inverse(const Tree& tree) noexcept;
  void finish(const Tree& tree, Columns& columns, std::size_t groups) noexcept;
  void write_parameters(const Tree& tree, const RateDerivatives& out) noexcept;

  bool decoupled_ = false;
  std::size_t first_, stride_;  ///< columns: of the joints (padded), of the base, of z
  std::vector<Group> groups_;
  std::vector<double> above_, below_;  ///< of bodies and groups: ones where one moves the other
  Columns state_, parameters_;
  Eigen::Vector3d field_ = Eigen::Vector3d::Zero();
  Screw locked_, locked_rate_;  ///< twist of the base, its rate
  std::vector<double> slopes_, difference_;
  /// Inverses of locked and shape inertia, connection A and its rate, ad_v^T, `ad_._^T p`, the
  /// derivative of A^T p.
  std::vector<double> locked_inverse_, inverse_, connection_, connection_rate_, transport_,
      momentum_transport_, turn_;
};

}  // namespace vms_ph
