// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms, energies and rates of a robot at one state after another, on recursions of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/task_derivatives.hpp"
#include "vms_ph_native/tree.hpp"

namespace vms_ph {

/// Where derivatives of the velocity and of the momentum rate of a form are written, row by row:
/// (nv,nv), those by parameters (nv,10 bodies). Directions of q are velocities.
struct RateDerivatives {
  double *velocity_by_q, *velocity_by_momenta, *rate_by_q, *rate_by_momenta, *rate_by_force;
  double *velocity_by_parameters = nullptr, *rate_by_parameters = nullptr;  ///< null for none
};

/// What ten inertial parameters of a body (mass, mass times centre, Ixx, Ixy, Iyy, Ixz, Iyz, Izz
/// about its origin) contribute to the product of a twist and a momentum, both in the body's axes.
void write_momentum_regressor(const Screw& twist_1, const Screw& twist_2, double* out) noexcept;

/// The derivatives of a tree at its configuration and velocity: sums over pairs of a joint and one
/// before it, and products with the inverse of the mass matrix.
/// After construction nothing allocates or throws.
class TreeDerivatives {
 public:
  explicit TreeDerivatives(const Tree& tree);

  /// Begin with the velocity set last, in a field in root axes, m/s^2; slopes (n,) of friction and
  /// the rate of the base momentum.
  void reset(Tree& tree, bool is_decoupled, const Eigen::Vector3d& field,
             const double* friction_slopes, const Screw& p_rate,
             TaskDerivatives* task = nullptr) noexcept;

  /// Add a wrench (root axes) that moves with a body.
  void add_wrench(const Tree& tree, int body, const Screw& wrench) noexcept;

  /// Add the drag of a fluid at the velocity set last.
  void add_drag(const Tree& tree) noexcept;

  /// Write the derivatives.
  void write(const Tree& tree, const RateDerivatives& out) noexcept;

 private:
  /// Of the bodies in a group: changes with their own joint.
  struct alignas(Lanes) Group {
    LaneRow ad_screw[6], momentum_change[6],
        field_cross[3];  ///< ad(V) S; of a subtree; field x axis
    LaneRow weight[3];   ///< of a subtree: mass times the velocity of its centre, less the fluid's
    LaneRow screw_rate[6], inertia_rate[10], unit_momentum_rate[6];
    // Of the projected motion, with locked joints or in the null space of a task; and rates.
    LaneRow twist[6], twist_rate[6], momentum[6], momentum_rate[6];
    LaneRow projected_ad_screw[6], projected_change[6], ad_screw_rate[6], change_rate[6];
  };
  /// Columns of derivatives, (nv,stride) each: of the momenta of the motion and of the projected
  /// one at fixed velocities, the rate of that, the forces, and what follows; of the momenta of a
  /// task at fixed M v, and of their rates as far as known.
  struct Columns {
    std::vector<double> momentum, projected, projected_rate, force, velocity, rate, pi, pi_rate;
  };
  friend class TaskDerivatives;
  struct alignas(Lanes) AddedMassRate {
    LaneRow rows[36];  ///< (6,6) column by column
  };

  template <class IsWet>
  LaneInertia inertia_rate(std::size_t group, IsWet is_wet) const noexcept {
    return LaneInertia(groups_[group].inertia_rate,
                       is_wet ? added_mass_rates_[group].rows : nullptr);
  }
  double* row(std::vector<double>& matrix, int i) const noexcept { return &matrix[row_offset(i)]; }
  std::size_t row_offset(int i) const noexcept { return static_cast<std::size_t>(i) * stride_; }
  bool has_projection() const noexcept { return is_decoupled_ || task_ != nullptr; }
  void clear_columns(const Tree& tree, bool is_task) noexcept;
  template <class IsWet>
  void compute_groups(Tree& tree, const Screw& p_rate, IsWet is_wet) noexcept;
  void compute_null_motion(Tree& tree) noexcept;
  void compute_pairs(const Tree& tree) noexcept;
  void complete_columns(const Tree& tree, Columns& columns, std::size_t group_count) noexcept;
  void write_parameters(const Tree& tree, const RateDerivatives& out) noexcept;

  bool is_decoupled_ = false;
  TaskDerivatives* task_ = nullptr;
  std::size_t base_column_, stride_;  ///< columns: of the joints (padded), the base, momenta
  std::vector<Group> groups_;
  std::vector<AddedMassRate> added_mass_rates_;  ///< empty without a fluid
  Eigen::MatrixXd drag_slopes_;                  ///< (nv,nv) by the velocity, empty likewise
  Eigen::Matrix<double, 6, Eigen::Dynamic, Eigen::RowMajor> link_jacobian_, damped_jacobian_;
  std::vector<double> ancestors_, descendants_;  ///< of bodies: ones where one moves another
  Columns state_, parameters_;
  Eigen::Vector3d field_ = Eigen::Vector3d::Zero();
  Screw projected_twist_, projected_twist_rate_;  ///< of the base
  std::vector<double> friction_slopes_;
  std::vector<double> difference_, change_, projected_velocity_;  ///< as in Columns, intermediate
  /// Inverses of locked and shape inertia, A and its rate, ad_v^T, `ad_._^T p`, slope of A^T p.
  std::vector<double> locked_inverse_, shape_inverse_, connection_, connection_rate_,
      twist_coadjoint_, momentum_coadjoint_, connection_slope_;
};

/// A wrench (6,) on a frame in its axes, linear first.
struct FrameWrench {
  int frame = 0;
  const double* wrench = nullptr;
};

/// The efforts at the power ports; see vms_ph_dynamics.forms.Ports. Null pointers for none.
struct Efforts {
  const double* torque = nullptr;         ///< (n,)
  const double* wrench_base = nullptr;    ///< (b,)
  const FrameWrench* wrenches = nullptr;  ///< at the end effector and the tools
  std::size_t wrench_count = 0;
  const double* damping = nullptr;       ///< (n,) viscous friction
  const double* dry_friction = nullptr;  ///< (n,), where there is damping
  double slip_speed = 1.0;  ///< speed over which Coulomb friction builds up, rad/s or m/s
  bool has_gravity = true, has_drag = true;
};

/// The momenta of a robot in inertial axes; see vms_ph_dynamics.evaluation.
struct Momenta {
  Eigen::Vector3d centre_of_mass;
  Screw centroidal, spatial;
};

/// What vms_ph_dynamics.Evaluation and the standard and decoupled form offer, at one state.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws; arrays are
/// written row by row, to memory of the caller.
class Dynamics {
 public:
  /// @throws ModelError  a joint whose axis is not constant, or a second tree beside the base.
  explicit Dynamics(const Model& model);

  int b() const { return tree_.b(); }
  int n() const { return tree_.n(); }
  int nv() const { return tree_.nv(); }
  int nq() const { return tree_.nq(); }
  int frame_count() const { return static_cast<int>(frames_.size()); }

  /// Whether the entries are finite and every rotation in q has length one.
  bool is_configuration(const double* q) const noexcept;

  /// Set the configuration (nq,), then the velocity (nv,). `tree` is one of this robot at the joint
  /// positions of q, whose results are copied, or null.
  void set_configuration(const double* q, const Tree* tree = nullptr) noexcept;
  void set_velocity(const double* v) noexcept;

  const Tree& tree() const noexcept { return tree_; }

  // Of the configuration:
  void mass(double* out) noexcept { tree_.write_mass(out); }                         ///< (nv,nv)
  void locked_inverse(double* out) noexcept { tree_.write_locked_inverse(out); }     ///< (b,b)
  void connection(double* out) noexcept { tree_.write_connection(out); }             ///< A, (b,n)
  void shape_inertia(double* out) noexcept { tree_.write_shape_inertia(out, n()); }  ///< (n,n)
  void gravity(double* out) const noexcept;                                          ///< g, (nv,)
  double potential_energy() const noexcept;                                          ///< J

  /// Jacobian of a frame (6,nv), in its own axes or in inertial ones.
  void jacobian(int frame, bool is_inertial, double* out) const noexcept;

  // Of the velocity:
  void coriolis(double* out) noexcept { tree_.write_coriolis(out); }            ///< C, (nv,nv)
  void kinetic_gradient(double* out) const noexcept;                            ///< C^T v, (nv,)
  void momentum(double* out) const noexcept { tree_.write_momentum(out); }      ///< M v, (nv,)
  double kinetic_energy() const noexcept { return tree_.kinetic_energy(); }     ///< J
  void jacobian_rate(int frame, bool is_inertial, double* out) const noexcept;  ///< (6,nv)
  Momenta momenta() const noexcept;
  void locked_velocity(double* out) const noexcept;                               ///< v_hat, (b,)
  void shape_momentum(double* out) noexcept { tree_.write_shape_momentum(out); }  ///< pi_hat, (n,)

  /// The energies are products of such a row with the ten parameters of every body that moves, the
  /// base first: mass, mass times centre, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the body's origin.
  void kinetic_regressor(double* out) const noexcept;    ///< (10 bodies,)
  void potential_regressor(double* out) const noexcept;  ///< (10 bodies,)
  int body_count() const { return tree_.body_count() + (b() > 0 ? 1 : 0); }

  /// Pose of a frame in the inertial one.
  void placement(int frame, Eigen::Ref<Eigen::Matrix3d> rotation,
                 Eigen::Ref<Eigen::Vector3d> origin) const noexcept;

  /// Rate of the mass matrix (nv,nv) along a velocity (nv,), which replaces the one set last.
  void mass_rate(const double* v, double* out) noexcept;

  /// Velocity (nv,) of the momenta (nv,) of the standard or the inertially decoupled form.
  void velocity(bool is_decoupled, const double* momenta, double* v) noexcept;

  /// At the configuration, velocity and rate (nv,) of the momenta of the standard form [A (47)] or
  /// the inertially decoupled one [A (59)].
  void rates(bool is_decoupled, const double* momenta, const Efforts& efforts, double* v,
             double* rate) noexcept;

  /// Derivatives of these rates, or of those of a task-space form; false, and nothing is written,
  /// near a singularity of the task.
  bool rate_derivatives(bool is_decoupled, const double* momenta, const Efforts& efforts,
                        const RateDerivatives& out, const TaskForm* task = nullptr) noexcept;

  /// Derivatives of the Hamiltonian of such a form by configuration and momenta, (nv,) each, and by
  /// the parameters (10 bodies,); false likewise.
  bool energy_derivatives(bool is_decoupled, const double* momenta, bool has_gravity, double* by_q,
                          double* by_momenta, double* by_parameters,
                          const TaskForm* task = nullptr) noexcept;

  /// Acceleration without gravity at a velocity, under a generalised force; (nv,) each.
  void solve_acceleration(const Eigen::VectorXd& v, const Eigen::VectorXd& force,
                          Eigen::VectorXd& a) noexcept {
    tree_.solve_acceleration(v, force, a);
  }

  /// Add the generalised force (nv,) of all efforts, and of the drag of a fluid, at the velocity
  /// set last.
  void add_force(const Efforts& efforts, double* force) const noexcept;
  void add_drag(double* force) const noexcept { tree_.add_drag(force); }

 private:
  friend class TaskDerivatives;
  void place_base(const double* q) noexcept;
  Tree::Frame frame_in_root(int frame) const noexcept;
  Eigen::Matrix3d inertial_axes() const noexcept {
    return (mount_rotation_ * base_rotation_).transpose();
  }

  void add_kinetic_regressor(double factor, double* out) const noexcept;

  Tree tree_;
  TreeDerivatives derivatives_;
  TaskDerivatives task_;
  std::vector<Tree::Frame> frames_;
  std::vector<Model::UnitSlice> unit_slices_;
  Eigen::Vector3d mount_gravity_, mount_position_;
  double mount_potential_;  ///< of a mass at the mount, J/kg
  Eigen::Matrix3d mount_rotation_, base_rotation_ = Eigen::Matrix3d::Identity();
  Eigen::Vector3d base_position_ = Eigen::Vector3d::Zero(), root_gravity_;
  Eigen::VectorXd q_, v_, rate_, friction_slopes_;
};

/// Call `task(worker, i)` for every i below `count` on up to `threads` threads, the calling one
/// included; each worker has an index below `threads`. The task must not throw.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t worker, std::size_t i)>& task);

/// The robot in as many workspaces as threads. One call at a time.
class Batch {
 public:
  /// @throws ModelError  as for Dynamics.
  Batch(const Model& model, std::size_t threads);

  /// Call `task(d, i)` for every i below `count`, each with a workspace that no other thread uses.
  template <class Task>
  void for_each(std::size_t count, Task&& task) {
    parallel_for(count, workspaces_.size(),
                 [&](std::size_t worker, std::size_t i) { task(*workspaces_[worker], i); });
  }

  Dynamics& first_workspace() { return *workspaces_.front(); }

 private:
  std::vector<std::unique_ptr<Dynamics>> workspaces_;
};

}  // namespace vms_ph
