// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The robot: a kinematic tree on a base that is fixed, planar or floating.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "vms_ph_native/pinocchio.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// A joint that follows another: `position = multiplier * position of the other + offset`.
struct Mimic {
  std::string joint, leader;
  double multiplier = 1.0;  ///< m/rad or rad/m between joints of different kinds
  double offset = 0.0;      ///< rad or m
};

/// Mimics without chains.
struct ResolvedMimics {
  std::vector<Mimic> mimics;                       ///< each of a joint that mimics no other
  std::map<std::string, double> locked_positions;  ///< all joints to lock, with their positions
};

/// Resolve chains of mimics, and lock joints that mimic locked ones.
///
/// @throws ModelError  joints mimic each other in a circle.
ResolvedMimics resolve_mimics(const std::vector<Mimic>& mimics,
                              const std::map<std::string, double>& locked_positions);

/// The mimic tags of a URDF without comments, in the order of the file.
///
/// @throws ModelError  a tag that names no joint, or has a number that is none.
std::vector<Mimic> mimics_of_urdf(const std::string& xml);

/// An input that cannot be used; the message says what was given, what is accepted and what to do.
class ModelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Fluid;
struct ModelParts;

enum class Base { fixed, planar, floating };

/// Name of a kind of base, for messages.
inline const char* name_of(Base base) noexcept {
  return base == Base::fixed ? "fixed" : base == Base::planar ? "planar" : "floating";
}

/// That a joint of Pinocchio's model moves with one of the n joints of the robot, its leader:
/// `position = multiplier * position of joint + offset`.
struct JointLeader {
  int index;  ///< of the leader among the n joints
  double multiplier = 1.0, offset = 0.0;
};

/// Immutable after construction and safe to share between threads; copies share Pinocchio's data.
///
/// Configurations and velocities are Pinocchio's: q = [base, joints], v = [base twist in the base
/// frame, linear first; joint rates]. Joints that mimic others are not in them; *full* ones have
/// them too, as Pinocchio's model does.
class Model {
 public:
  /// Construct from a Pinocchio model whose first joint is that of the base, if the base moves.
  ///
  /// @param end_effector  name of a frame; when empty, the farthest link of the longest chain.
  /// @param mimics        resolved, see resolve_mimics.
  /// @throws ModelError   a joint with more than one degree of freedom besides the base, no such
  ///                      frame, or a joint that cannot mimic another.
  explicit Model(const pinocchio::Model& model, const std::string& end_effector = "",
                 std::vector<Mimic> mimics = {});

  /// Construct from the parts of a Pinocchio model.
  ///
  /// @throws ModelError  as above, or a kind of joint that the core does not cover.
  explicit Model(const ModelParts& robot, const std::string& end_effector = "",
                 std::vector<Mimic> mimics = {});

  /// Construct from the text of a URDF.
  ///
  /// @param base           kind of base.
  /// @param locked_joints  joints to fix at zero; those that mimic them are fixed where they are
  ///                       then.
  /// @param gravity        in the inertial frame, m/s^2.
  /// @throws ModelError    the text is not a URDF, a joint does not exist, or joints mimic each
  ///                       other in a circle.
  static Model from_urdf(const std::string& xml, Base base, const std::string& end_effector = "",
                         const std::vector<std::string>& locked_joints = {},
                         const Eigen::Vector3d& gravity = {0.0, 0.0, -9.81});

  /// The same robot in another gravity, given in the inertial frame, m/s^2.
  Model with_gravity(const Eigen::Vector3d& gravity) const;

  /// The same robot in a fluid.
  ///
  /// @throws ModelError  a link that the robot lacks, or coefficients that are not valid.
  Model in_fluid(const Fluid& fluid) const;

  /// The fluid around the robot, or null.
  const Fluid* fluid() const { return fluid_.get(); }

  const pinocchio::Model& pinocchio() const { return *model_; }
  const std::string& name() const;
  Base base() const { return base_; }
  int b() const { return b_; }  ///< dimension of the base velocity: 0, 3 or 6
  int n() const { return n_; }  ///< number of joints that mimic no other
  int nq() const { return nq_; }
  int nv() const { return b_ + n_; }
  const std::vector<std::string>& joint_names() const { return joint_names_; }

  /// Where a joint's position is in a configuration; whether it is (cos, sin) there, or a length.
  int position_index(int joint) const { return position_indices_[static_cast<std::size_t>(joint)]; }
  bool is_continuous(int joint) const { return is_continuous_[static_cast<std::size_t>(joint)]; }
  bool is_prismatic(int joint) const { return is_prismatic_[static_cast<std::size_t>(joint)]; }

  /// Entries of a configuration that form a vector of length one: rotation of the base and pairs.
  struct UnitSlice {
    int start, size;
  };
  const std::vector<UnitSlice>& unit_slices() const { return unit_slices_; }

  /// The joints that mimic others.
  const std::vector<Mimic>& mimics() const { return mimics_; }

  /// Which of the n joints moves a joint of Pinocchio's model beside the base.
  const JointLeader& leader_of(pinocchio::JointIndex joint) const { return leaders_[joint]; }

  /// Pinocchio's configuration, (pinocchio().nq,).
  void expand_configuration(const ConstVector& q,
                            Eigen::Ref<Eigen::VectorXd> full_q) const noexcept;

  pinocchio::FrameIndex end_effector() const { return end_effector_; }

  /// Pinocchio's index of a frame; where a link and a joint share the name, that of the link.
  ///
  /// @throws ModelError  no such frame.
  pinocchio::FrameIndex frame_id(const std::string& name) const;

  /// Name of a frame, and the number of frames.
  const std::string& frame_name(pinocchio::FrameIndex frame) const;
  std::size_t frame_count() const;

  /// Limits of the n joints, first of positions, in the order of rates; infinite where not given.
  const Eigen::VectorXd& min_position() const { return min_position_; }
  const Eigen::VectorXd& max_position() const { return max_position_; }
  const Eigen::VectorXd& max_effort() const { return max_effort_; }
  const Eigen::VectorXd& max_velocity() const { return max_velocity_; }

  /// Nominal time between commands, s, over which hardware counts the rate of a torque, however
  /// late a command is; infinite where it is not known.
  double command_period() const { return command_period_; }
  void set_command_period(double period) { command_period_ = period; }

  /// Viscous friction, N m s/rad or N s/m, and Coulomb friction, N m or N, with that of mimics.
  const Eigen::VectorXd& damping() const { return damping_; }
  const Eigen::VectorXd& dry_friction() const { return dry_friction_; }

  /// Total mass of the moving bodies, kg.
  double total_mass() const { return total_mass_; }

  /// Sum of the distances from joint to joint, a bound of the reach; at least 1 m.
  double reach() const;

  /// Gravity in the inertial frame, m/s^2.
  Eigen::Vector3d gravity() const;

  /// Gravity in the axes of the base's position coordinates, m/s^2; these are the inertial axes
  /// unless the base joint is mounted with a rotation.
  const Eigen::Vector3d& base_gravity() const { return base_gravity_; }

  /// Pose of the base's joint in the inertial frame, at rest; the identity for a fixed base.
  pinocchio::SE3 base_mount() const;

  /// Size of the base's part of a configuration, 0, 4 or 7, and of its positions, 0, 2 or 3.
  int base_size() const { return base_ == Base::fixed ? 0 : b_ == 3 ? 4 : 7; }
  int base_linear_size() const { return base_ == Base::fixed ? 0 : b_ == 3 ? 2 : 3; }

  /// Whether q has the right size and finite entries, and every rotation in it is normalised.
  bool is_configuration(const ConstVector& q) const noexcept;

  /// The configuration with every joint at zero and the base at the origin, (nq,).
  const Eigen::VectorXd& neutral_configuration() const { return neutral_; }

  /// Write the configuration (nq,) reached from q by the constant velocity dv (nv,) in unit time;
  /// the position of the base may be left as it is, or all of the base.
  void integrate(const ConstVector& q, const ConstVector& dv, Eigen::Ref<Eigen::VectorXd> result,
                 bool keeps_base_position = false) const noexcept;
  void integrate_joints(const ConstVector& q, const ConstVector& dv,
                        Eigen::Ref<Eigen::VectorXd> result) const noexcept;

  /// Write the dv (nv,) with integrate(q0, dv) = q1.
  void difference(const ConstVector& q0, const ConstVector& q1,
                  Eigen::Ref<Eigen::VectorXd> result) const noexcept;

  /// Write the positions of the n joints, continuous ones within (-pi, pi].
  void joint_positions(const ConstVector& q, Eigen::Ref<Eigen::VectorXd> result) const noexcept;

  /// Set the position of one of the n joints, rad or m, in a configuration (nq,).
  void set_joint(int joint, double position, Eigen::Ref<Eigen::VectorXd> q) const noexcept;

  /// Pose of the base in the inertial frame; the identity for a fixed base.
  pinocchio::SE3 base_pose(const ConstVector& q) const noexcept;

 private:
  void read_gravity();
  bool is_mimic(const std::string& joint) const;
  void check_mimics() const;
  void read_joints();
  void add_mimic(const Mimic& mimic);

  std::shared_ptr<const pinocchio::Model> model_;
  std::shared_ptr<const Fluid> fluid_;
  Base base_;
  std::vector<Mimic> mimics_;
  int b_, n_, nq_;
  std::vector<std::string> joint_names_;
  std::vector<int> position_indices_;
  std::vector<char> is_continuous_, is_prismatic_;
  std::vector<UnitSlice> unit_slices_;
  std::vector<JointLeader> leaders_;  ///< by Pinocchio's index of a joint
  pinocchio::FrameIndex end_effector_;
  Eigen::VectorXd min_position_, max_position_, max_effort_, max_velocity_, damping_, dry_friction_,
      neutral_;
  double total_mass_, command_period_ = kInfinity;
  Eigen::Vector3d base_gravity_;
};

/// The rotation of a base of dimension b in its mount, of a configuration (nq,).
inline Eigen::Matrix3d base_rotation(int b, const double* q) noexcept {
  if (b == 6) return Eigen::Quaterniond(q[6], q[3], q[4], q[5]).toRotationMatrix();
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  if (b == 3) rotation.topLeftCorner<2, 2>() << q[2], -q[3], q[3], q[2];
  return rotation;
}

/// Whether the slices of a configuration have length one; further away is a mistake, not rounding.
bool are_unit(const std::vector<Model::UnitSlice>& slices, const double* q,
              double tolerance = 1e-6) noexcept;

/// Turn a pair (cos, sin) by an angle, rad; errors of its length are removed to second order.
void rotate_cos_sin(const double* cos_sin, double angle, double* rotated) noexcept;

/// What a model of Pinocchio holds, in its order and by its names.
struct ModelParts {
  /// A joint and the body that it moves.
  struct Joint {
    std::string name, kind;             ///< of Pinocchio, such as JointModelRZ
    int dofs;                           ///< degrees of freedom
    std::size_t parent;                 ///< 0 is the universe, 1 the first joint
    Eigen::Matrix4d placement;          ///< in the frame of the parent
    Eigen::Vector3d linear_axis, axis;  ///< linear and angular velocity at rate 1, own axes
    double mass;                        ///< of the body, kg
    Eigen::Vector3d centre;             ///< of its mass, m
    Eigen::Matrix3d inertia;            ///< about its centre of mass, kg m^2
  };

  /// A frame, fixed to the body of a joint.
  struct Frame {
    std::string name;
    int type;                   ///< of Pinocchio
    std::size_t joint, parent;  ///< indices of its joint and of the frame before it
    Eigen::Matrix4d placement;  ///< in the frame of the joint
  };

  std::string name;
  std::vector<Joint> joints;     ///< without the universe
  std::vector<Frame> frames;     ///< without the universe
  Eigen::VectorXd min_q, max_q;  ///< of configurations, (nq,)
  Eigen::VectorXd max_effort, max_velocity, armature, damping, dry_friction;  ///< (nv,)
  Eigen::Vector3d gravity;                                                    ///< m/s^2
};

}  // namespace vms_ph
