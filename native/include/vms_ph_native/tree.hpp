// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Mass matrix, bias and momenta of a robot, with every quantity in the axes of the root.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/lanes.hpp"
#include "vms_ph_native/se3.hpp"

namespace vms_ph {

class Model;

/// Recursions over the joints of a robot with screws, momenta and inertias in the axes of its root:
/// the base where that moves, the world where it does not.
///
/// In common axes composite inertias are plain sums and a row of the mass matrix costs one product
/// per joint. The base is eliminated by way of the centre of mass, where its inertia is
/// block-diagonal: only the shape inertia [A (55)] remains to be factorised.
///
/// In a fluid inertia and momentum include the added mass, and the weight the buoyancy.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class Tree {
 public:
  /// @param has_gravity  whether gravity acts. Its components along free directions of the base
  ///                     accelerate the centre of mass only and are left out; the rest is a
  ///                     field that acts on the shape.
  /// @throws ModelError  a joint whose axis is not constant, or a second tree beside the base.
  Tree(const Model& model, bool has_gravity);

  /// A frame of the robot: the body it is fixed to, -1 for the root, and its pose there.
  struct Frame {
    int body = -1;
    Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
    Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  };
  int b() const { return b_; }  ///< dimension of the base velocity: 0, 3 or 6
  int n() const { return n_; }  ///< number of joints that mimic no other
  int body_count() const { return static_cast<int>(joints_.size()); }  ///< beside the root
  int nv() const { return b_ + n_; }
  int nq() const { return nq_; }
  /// Dimensions in which the centre of mass falls freely.
  int free_dimensions() const { return b_ == 6 ? 3 : b_ == 3 ? 2 : 0; }
  const Eigen::Vector3d& fall_acceleration() const { return fall_acceleration_; }  ///< m/s^2
  bool has_potential() const { return !field_.isZero(0.0); }
  double total_mass() const { return total_mass_; }  ///< kg
  double net_mass() const { return net_mass_; }      ///< less that of the displaced fluid, kg

  /// Set the joint positions from a configuration (nq,); the base pose is not used.
  void set_configuration(const Eigen::VectorXd& q) noexcept;

  /// Take over the joint positions of another tree of this robot, with what it has computed there.
  void copy_configuration(const Tree& other) noexcept;

  // Of the configuration set last:
  const Eigen::Vector3d& centre_of_mass() const { return centre_of_mass_; }  ///< root axes, m
  double potential_energy() const { return potential_in(field_); }           ///< of the field, J

  /// The twist of the base that has a given momentum with all joints locked.
  Screw locked_twist(const Screw& momentum) const noexcept;

  /// Add the generalised force of a wrench on the end effector, in its axes, to ``force`` (nv,).
  void add_wrench_end_effector(const Screw& wrench, double* force) const noexcept;

  /// Number of entries of a configuration that belong to the joints.
  int position_count() const { return nq_ - (b_ == 6 ? 7 : b_ == 3 ? 4 : 0); }

  /// Gradient of the potential by the joints, added to ``gradient`` (n,) times ``factor``.
  void add_weight(double factor, double* gradient) const noexcept {
    add_joint_weight(-factor * field_, gradient);
  }

  /// Compute twists and momenta of a velocity (nv,).
  void set_velocity(const Eigen::VectorXd& v) noexcept;

  // Of the velocity set last:
  const Screw& momentum() const { return momentum_; }  ///< of the robot, about the root's origin
  double kinetic_energy() const { return kinetic_energy_; }  ///< J
  void write_joint_momenta(double* out) const noexcept;      ///< pi, (n,)

  /// Add `factor` times the derivatives (n,) of kinetic energy by joints at fixed velocity.
  void add_kinetic_gradient(double factor, double* gradient) const noexcept;

  /// Acceleration (nv,) under generalised forces (nv,) and the field.
  void solve_acceleration(const Eigen::VectorXd& v, const Eigen::VectorXd& force,
                          Eigen::VectorXd& a) noexcept;

  /// Velocity (nv,) of the momenta of the robot about the root's origin and of the joints (n,).
  template <class Momenta>
  void solve_velocity(const Screw& momentum, const Momenta& pi, Eigen::VectorXd& v) noexcept {
    right_side_.head(n_) = pi;
    solve_mass(momentum, v);
  }

  /// Replace shape momenta (n,) by joint rates: a product with the inverse shape inertia.
  void solve_shape_rates(double* pi_hat) noexcept;

  /// Column of a joint in the rows of the base's linear velocity of the mass matrix, (3,).
  Eigen::Vector3d linear_coupling(int joint) noexcept;

  // The terms of the equations of motion, written row by row; in tree_terms.cpp.
  // Of the configuration set last:

  /// Mass matrix, (nv,nv) [A (17)].
  void write_mass(double* out) noexcept;

  /// Inverse of the locked inertia, (b,b).
  void write_locked_inverse(double* out) const noexcept;

  /// Mechanical connection, (b,n) [A (53)].
  void write_connection(double* out) noexcept;

  /// Shape inertia, (n,n) [A (55)], in rows of `stride` numbers with zeros at their ends.
  void write_shape_inertia(double* out, int stride) noexcept;

  /// Add `factor` times the force (nv,) that holds the robot in a field in root axes, m/s^2.
  void add_weight(const Eigen::Vector3d& field, double factor, double* force) const noexcept;

  const Eigen::Vector3d& root_origin() const { return root_origin_; }  ///< in root coordinates, m

  /// Its potential with the root at the origin of its coordinates, J.
  double potential_in(const Eigen::Vector3d& field) const {
    return -field.dot(net_mc_ + net_mass_ * root_origin_);
  }

  /// The frame of a model by Pinocchio's index.
  Frame frame(const Model& model, std::size_t index) const;
  Frame placement(const Frame& frame) const noexcept;  ///< its pose in root axes

  /// A wrench in the axes of a frame in those of the root, and its generalised force (nv,).
  static Screw in_root_axes(const Frame& frame, const Screw& wrench);
  void add_wrench(const Frame& frame, const Screw& wrench, double* force) const noexcept;

  /// Jacobian (6,nv) of a frame at its origin, in the axes that `rotation` maps to the root's; or
  /// (6,b+bodies) with a column for every joint, also those that mimic others.
  void write_jacobian(const Frame& frame, const Eigen::Matrix3d& rotation, double* out,
                      bool includes_mimics = false) const noexcept;

  // Of the velocity set last:

  /// Its rate at the velocity; its axes rotate with `angular_velocity` (root axes).
  void write_jacobian_rate(const Frame& frame, const Eigen::Matrix3d& rotation,
                           const Eigen::Vector3d& angular_velocity, double* out) const noexcept;

  /// Coriolis matrix of the Levi-Civita connection, (nv,nv): Mdot = C + C^T.
  void write_coriolis(double* out) noexcept;

  /// Generalised momentum, (nv,), and shape momentum [A (56)], (n,).
  void write_momentum(double* out) const noexcept {
    write_joint_momenta(write_base(momentum_, out));
  }
  void write_shape_momentum(double* out) noexcept;

  /// The twist of a body about the root's origin.
  Screw twist_of(int body) const noexcept;

  /// Add the generalised force (nv,) of the drag of a fluid.
  void add_drag(double* force) const noexcept;

  // The rates of the forms; in tree_rates.cpp.

  /// The wrench ad_v^T p under which the momentum of the base changes in its own axes.
  Screw momentum_rate() const noexcept;

  /// Velocity (nv,) of the momentum of the base and the shape momenta (n,) [A (56)].
  void solve_decoupled(const Screw& p, const double* pi_hat, Eigen::VectorXd& v) noexcept;

  /// Add what the rates of the shape momenta (n,) have beyond those of the joint momenta, under the
  /// rate `p_rate` of the momentum of the base [A (59)].
  void add_shape_rates(const Screw& p_rate, double* pi_rate) noexcept;

  /// The twist of the base in a velocity (nv,), and back.
  template <class Numbers>
  Screw base_twist(const Numbers& v) const noexcept;
  void set_base(const Screw& twist, Eigen::VectorXd& v) const noexcept;
  /// Write its components; return what follows them.
  double* write_base(const Screw& value, double* out, int stride = 1) const noexcept;

 private:
  friend class TreeDerivatives;
  friend class TaskDerivatives;

  struct Joint {
    int parent;                 ///< index of another, -1 for the root
    int leader;                 ///< of the n joints: the one that it mimics, or itself
    int position_index;         ///< in q
    double multiplier, offset;  ///< position = multiplier * (that in q) + offset
    bool is_continuous;         ///< its position in q is a pair (cos, sin)
    double armature;            ///< that the joint it mimics feels
  };
  // The structs below contain kLaneCount bodies each; lanes without a body are zero.

  /// Constant geometry and inertia of joints and bodies.
  struct alignas(Lanes) LinkConstants {
    LaneRow fixed[9], cosine[9], sine[9];  ///< rotation = fixed + cos * cosine + sin * sine
    LaneRow offset[3], linear_rate[3];     ///< translation = offset + position * rate
    /// Angular and linear part of the screw, own axes, per rate of the joint that it mimics.
    LaneRow axis[3], linear_axis[3];
    LaneRow mass, centre[3], inertia[6];  ///< about the centre of mass: xx, xy, xz, yy, yz, zz
  };
  struct alignas(Lanes) LinkGroup {
    LaneRow rotation[9], origin[3];
    LaneRow screw[6];  ///< twist at joint rate 1
    LaneRow link_inertia[10], composite_inertia[10];
    LaneRow unit_momentum[6];  ///< composite inertia times screw: momentum at joint rate 1
  };
  /// Of the n joints in the rows of the base.
  struct alignas(Lanes) Column {
    LaneRow coupling[6], connection[6];  ///< of M_bm and A, about the centre of mass
  };
  struct alignas(Lanes) Motion {
    LaneRow twist[6], momentum[6];  ///< the momentum is that of the subtree
  };
  /// A link in a fluid.
  struct ImmersedLink {
    Frame frame;
    ImmersedBody coefficients;
    double displaced_mass;  ///< kg
  };
  /// Of bodies in a fluid.
  struct alignas(Lanes) FluidGroup {
    LaneRow link_added_mass[36], added_mass[36];  ///< (6,6) column by column; of the subtree
    LaneRow net_mass[4];  ///< of the subtree, and that times its centre, less the displaced fluid
  };
  /// Intermediate results of the recursions.
  struct alignas(Lanes) Scratch {
    LaneRow rotation[9], translation[3];  ///< of the joint; or spin and linear momentum
    LaneRow acceleration[6], force[6];
    LaneRow screw_rate[6];                ///< of the screw in inertial axes
    LaneRow locked_momentum[6], bias[6];  ///< momentum of the subtree in the locked motion; its
                                          ///< rate at fixed twist
  };

  std::size_t group_count() const noexcept { return link_constants_.size(); }
  /// Of the bodies in a group, ones for a body itself and those behind it.
  const double* descendant_mask(std::size_t body, std::size_t group) const noexcept {
    return &descendants_[(body * group_count() + group) * kLaneCount];
  }
  Screw screw(std::size_t body) const noexcept {
    return screw_at(link_groups_[body / kLaneCount].screw, body % kLaneCount);
  }
  Screw unit_momentum(std::size_t body) const noexcept {
    return screw_at(link_groups_[body / kLaneCount].unit_momentum, body % kLaneCount);
  }
  Screw twist(std::size_t body) const noexcept {
    return screw_at(motions_[body / kLaneCount].twist, body % kLaneCount);
  }
  Screw momentum(std::size_t body) const noexcept {
    return screw_at(motions_[body / kLaneCount].momentum, body % kLaneCount);
  }
  /// The inertias of the bodies in a group, of what their joints move, and what weighs of that: a
  /// mass, and that times its centre.
  template <class IsWet>
  VMS_PH_INLINED LaneInertia link_inertia(std::size_t g, IsWet is_wet) const noexcept {
    return LaneInertia(link_groups_[g].link_inertia,
                       is_wet ? fluid_groups_[g].link_added_mass : nullptr);
  }
  template <class IsWet>
  VMS_PH_INLINED LaneInertia subtree_inertia(std::size_t g, IsWet is_wet) const noexcept {
    return LaneInertia(link_groups_[g].composite_inertia,
                       is_wet ? fluid_groups_[g].added_mass : nullptr);
  }
  const LaneRow* net_mass(std::size_t g) const noexcept {
    return fluid_groups_.empty() ? link_groups_[g].composite_inertia : fluid_groups_[g].net_mass;
  }
  SpatialInertia composite_inertia(std::size_t body) const noexcept {
    return inertia_at(link_groups_[body / kLaneCount].composite_inertia, body % kLaneCount);
  }
  Screw coupling(int joint) const noexcept {
    const auto i = static_cast<std::size_t>(joint);
    return screw_at(columns_[i / kLaneCount].coupling, i % kLaneCount);
  }
  Screw connection(int joint) const noexcept {
    const auto i = static_cast<std::size_t>(joint);
    return screw_at(columns_[i / kLaneCount].connection, i % kLaneCount);
  }

  /// Positions of the joints, their sines and cosines.
  void compute_angles(const double* q) noexcept;
  void update_poses(const double* q) noexcept;  ///< of all bodies
  /// Add the rows of every body to those of the one before it, from the last on; return the
  /// sum at the root. The rows of a group are `rows(group)`.
  template <int kRows, class Rows>
  Eigen::Matrix<double, kRows, 1> root_sum(Rows&& rows) noexcept;
  /// Add to the rows of every body those of the one before it; `root_value` is that of the root.
  template <class Rows>
  void add_from_parents(const Screw& root_value, Rows&& rows) noexcept;
  /// Write the twist of every body at a velocity of the joints, (nv,), and of the base; and the
  /// rates of the joints of all bodies.
  template <class Rows>
  void propagate_velocities(const Screw& root_twist, const double* v, Rows&& rows) noexcept;
  void add_joint_weight(const Eigen::Vector3d& acceleration, double* tau) const noexcept;
  /// Add the values of the joints of all bodies in a group to those of the n joints.
  VMS_PH_INLINED void add_to_joints(std::size_t g, const Lanes& values,
                                    double* sums) const noexcept {
    const std::size_t count = std::min(kLaneCount, joints_.size() - g * kLaneCount);
    for (std::size_t l = 0; l < count; ++l) sums[joints_[g * kLaneCount + l].leader] += values[l];
  }
  double position(const Joint& joint, const double* q) const noexcept {
    return joint.multiplier * q[joint.position_index] + joint.offset;
  }
  /// Call a function with whether there is a fluid, as a constant for the compiler.
  template <class Function>
  VMS_PH_INLINED void with_fluid(Function&& function) const {
    fluid_groups_.empty() ? function(std::false_type{}) : function(std::true_type{});
  }
  void place_fluid() noexcept;
  void add_fluid_coriolis(double* out) noexcept;
  static Screw map_screw(const se3::Adjoint& matrix, Screw s) noexcept;  // a copy, for speed
  Screw momentum_of(const SpatialInertia& inertia, const se3::Adjoint& added_mass,
                    const Screw& twist) const noexcept;
  void compute_unit_momenta() noexcept;
  void add_joint_mass(double* mass, int stride) noexcept;
  void factorise() noexcept;
  void solve_mass(const Screw& momentum, Eigen::VectorXd& v) noexcept;
  void solve_right_side() noexcept;
  void complete_velocity(Screw p, Eigen::VectorXd& v) const noexcept;
  int base_axis(int k) const noexcept;
  Screw base_unit_twist(int k) const noexcept;
  double base_component(const Screw& s, int k) const noexcept;
  Screw planar_part(const Screw& wrench) const noexcept;
  void add_base(const Screw& wrench, double* force, int stride = 1) const noexcept;
  Screw about_centre(const Screw& wrench) const noexcept;
  Screw apply_mobility(const Screw& momentum) const noexcept;
  int n_, b_, nq_;
  Eigen::Vector3d field_, fall_acceleration_;  ///< of gravity: that on the shape; of free fall
  /// The root's origin lies here in its coordinates: at the first joint of a fixed robot, so that
  /// no digits are lost where it stands far away.
  Eigen::Vector3d root_origin_ = Eigen::Vector3d::Zero();
  double total_mass_ = 0.0, net_mass_ = 0.0;
  Eigen::Vector3d net_mc_ = Eigen::Vector3d::Zero();  ///< mass times centre, kg m
  std::vector<Joint> joints_;
  bool has_mimics_ = false;                       ///< whether joints mimic others
  std::vector<double> angles_, sines_, cosines_;  ///< of all bodies; angles are any positions
  std::vector<LinkConstants> link_constants_;
  std::vector<LinkGroup> link_groups_;
  std::vector<ImmersedLink> immersed_links_;
  std::vector<FluidGroup> fluid_groups_;  ///< empty without a fluid
  std::vector<Motion> motions_;
  std::vector<Scratch> scratch_;
  std::vector<Column> columns_;
  std::vector<double> descendants_;              ///< see descendant_mask()
  std::vector<double> body_rates_;               ///< rates of the joints of all bodies
  std::vector<double> products_;                 ///< of all bodies, intermediate
  SpatialInertia root_inertia_, total_inertia_;  ///< of the root, of the whole robot
  Eigen::VectorXd computed_q_;
  bool is_computed_ = false, has_unit_momenta_ = false, is_factorised_ = false;
  Eigen::Vector3d centre_of_mass_ = Eigen::Vector3d::Zero();
  Eigen::Matrix3d inverse_inertia_ = Eigen::Matrix3d::Zero();  ///< about the centre of mass
  /// Added masses of the root and of the whole robot; twists of the locked robot, about its centre
  /// of mass and about the root's origin, by momenta about the former.
  struct {
    se3::Adjoint root, total, central_mobility, mobility;
  } added_mass_;
  Eigen::Matrix<double, 6, Eigen::Dynamic, Eigen::RowMajor> jacobian_, jacobian_rate_;
  /// L of the shape inertia and the inverse of D, as in linear_algebra.hpp.
  std::vector<double> factor_, inverse_diagonal_;
  Eigen::VectorXd right_side_;   ///< padded, as those are
  Screw base_twist_, momentum_;  ///< twist of the base, momentum of the robot
  double kinetic_energy_ = 0.0;
  Eigen::VectorXd joint_rates_;  ///< (n,)
  Frame end_effector_;
};

}  // namespace vms_ph
