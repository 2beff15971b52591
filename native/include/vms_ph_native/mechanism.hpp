// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Bodies, joints and heat of an exergetic port-Hamiltonian system, solved along their tree.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <Eigen/Core>

namespace vms_ph {

/// A body, its frame at its centre of mass. Places are entries of the vectors of state and rates.
struct MechanismBody {
  int momentum_index = 0;                   ///< place of the momentum in both vectors
  int pose_index = 0, pose_rate_index = 0;  ///< of the pose
  double mass = 1.0;                        ///< kg
  Eigen::Matrix3d inertia;                  ///< kg m^2
  Eigen::Matrix3d inverse_inertia;          ///< of the inertia, as the storage has it
  Eigen::Vector3d weight;                   ///< upward gradient of the potential energy, N
};

/// A storage of entropy.
struct MechanismHeat {
  int entropy_index = 0;  ///< place in both vectors
  double capacity = 0.0;  ///< J/K; zero for the environment
  double theta = 0.0;     ///< K, at zero entropy
};

/// Heat conduction between two storages of entropy, W/K.
struct MechanismConduction {
  int source_heat = 0, sink_heat = 0;
  double conductance = 0.0;
};

enum class JointKind { about_z, cylindrical, planar, spherical };
enum class FrictionKind { none, constant, coulomb };

/// A joint between two bodies, with its potential, friction and rotor.
struct MechanismJoint {
  int body_1 = -1, body_2 = -1;        ///< bodies; -1 is the ground
  Eigen::Matrix4d offset_1, offset_2;  ///< of the joint frames in the bodies, or in space
  JointKind kind = JointKind::about_z;
  double angle_per_unit = 1.0, shift_per_unit = 0.0;  ///< about_z: rad and m per unit
  int dofs = 1;
  Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 3> subspace;     ///< S
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 3, 6> dual_basis;   ///< K with K S = 1
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6> constraints;  ///< N with N S = 0
  int position_index = 0, rate_index = 0;  ///< places of q_r in the state and in the rates
  bool has_spring = false;
  Eigen::Vector3d stiffness, rest_position;
  int rotor_index = -1;  ///< place of its momentum, or -1
  double armature = 0.0;
  FrictionKind friction = FrictionKind::none;
  Eigen::Matrix3d friction_tensor;                             ///< of constant friction
  double damping = 0.0, dry_friction = 0.0, slip_speed = 1.0;  ///< the last: rad/s or m/s
  double thermal_softening = 0.0, reference_theta = 298.15;    ///< fall of `damping`, 1/K, above, K
  int heat = -1;                                               ///< storage of the heat of friction
  int effort_index = 0, effort_index_1 = 0, effort_index_2 = 0;  ///< of u_r, u_j1 and u_j2
};

/// What a system consists of, all of it: there are no further components.
struct MechanismParts {
  int nx = 0, rate_size = 0, effort_size = 0;  ///< of the vectors of states, rates and all efforts
  double theta_0 = 298.15;
  std::vector<MechanismBody> bodies;
  std::vector<MechanismJoint> joints;
  std::vector<MechanismHeat> heats;
  std::vector<MechanismConduction> conductions;
};

enum class MechanismStatus { ok, too_cold, not_finite };

class MechanismTree;

/// The equations of such a system and one step of the projected Runge-Kutta-Munthe-Kaas scheme, at
/// a cost in proportion to the number of bodies: joints along a spanning tree are eliminated from
/// its leaves to its roots, as in the articulated-body algorithm; joints that close loops remain as
/// a small dense system. Twin of vms_ph_ephs.Equations, which is the reference.
///
/// A workspace: one thread at a time. Nothing throws but the function of the flows.
class Mechanism {
 public:
  /// Writes the flows at the outer ports, (effort_size,), zero before, at a time and a state.
  using Flows = std::function<void(double t, const double* x, double* flow)>;

  /// The result of a step.
  struct Step {
    MechanismStatus status = MechanismStatus::ok;
    double opening = 0.0;  ///< of the joints before projection, m or rad
  };

  /// @throws std::invalid_argument  places outside the vectors.
  explicit Mechanism(MechanismParts parts);
  ~Mechanism();

  const MechanismParts& parts() const { return parts_; }

  /// Number of constraints of the joints that close no loop, always independent, and of the others.
  int tree_rows() const { return tree_rows_; }
  int loop_rows() const;

  /// Number of independent constraints among those of loops.
  void set_loop_rank(int rank);

  /// Rates (rate_size,) and efforts (effort_size,) at a state; flow and efforts may be null.
  MechanismStatus rates(const double* x, const double* flow, double* rate, double* efforts);

  /// Move the state onto the constraints, by one Newton step, or two if one has more than tolerance
  /// to close. Returns by how much the joints were open.
  double project(double* x, double tolerance);

  /// A step of the scheme from x to x_after. `total_step` (rate_size,) is the step in the tangent
  /// spaces, `flow_integral` (effort_size,) the integral of the flows, `exergy` (effort_size,) of
  /// the product of efforts and flows; the last two may be null.
  Step step(double t, const double* x, double dt, const Flows* flows, double tolerance,
            double* x_after, double* total_step, double* flow_integral, double* exergy);

  /// The largest opening of a joint, m or rad.
  double violation(const double* x);

  /// The total energy, J: kinetic, potential, heat and theta_0 s of the environment.
  double energy(const double* x) const;

  /// A bound on the rate at which friction stops motions, 1/s.
  double friction_decay_rate(const double* x);

  /// Eigenvalues of the scaled constraints of loops at the last projection, ascending.
  const Eigen::VectorXd& loop_spectrum() const;

 private:
  bool find_temperatures(const double* x);
  void apply_forces(const double* flow, double* rate);
  void write_efforts(double* efforts) const;
  void move(const double* x, const double* step, double* x_after) const;  ///< by a tangent step
  void map_rates(const double* step, double* rate) const;  ///< twists to rates of Cayley steps
  double close_joints(double* x);
  void project_momenta(double* momenta);

  MechanismParts parts_;
  std::unique_ptr<MechanismTree> tree_;
  int tree_rows_ = 0;
  std::vector<double> theta_;                                             ///< of the heats, K
  Eigen::VectorXd stages_[4], increment_, flow_, efforts_, stage_state_;  ///< stages_: rates
};

}  // namespace vms_ph
