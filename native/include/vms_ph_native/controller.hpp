// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The interface of control laws: from state, reference and time step to a command with its energy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

class Evaluation;
class Model;

/// Longest time between updates that laws accept, s.
constexpr double kLongestSample = 1.0;

/// Whether a time between updates, s, is in [0, kLongestSample]; zero stands for continuous time.
constexpr bool is_usable_step(double dt) noexcept { return 0.0 <= dt && dt <= kLongestSample; }

struct RobotState {
  Eigen::VectorXd q;  ///< (nq,) configuration
  Eigen::VectorXd v;  ///< (nv,) velocity

  double age = 0.0;  ///< time since it was measured, s, at which the law must be stable as well

  /// Measured, of the surroundings on the end effector, at its origin in its axes; NaN for none.
  Eigen::Matrix<double, 6, 1> wrench = Eigen::Matrix<double, 6, 1>::Constant(kNaN);

  /// What a host has set to this state with Evaluation::set_ahead(); a law does not set it again.
  const Evaluation* evaluation = nullptr;

  /// Whether the state has the dimensions of this robot, is finite and has an age.
  bool is_usable(const Model& model) const noexcept;
};

/// The desired motion; an empty field keeps the last reference of that kind.
struct Reference {
  std::optional<Eigen::Vector3d> position;  ///< of the end effector in the inertial frame, m
  std::optional<Eigen::Vector3d> velocity;  ///< in the inertial frame, m/s
  std::optional<Eigen::Matrix4d> pose;      ///< of the base or end effector that the law controls
  std::optional<Eigen::Matrix<double, 6, 1>> twist;  ///< in the axes of the reference, linear first
  Eigen::VectorXd joints;  ///< (n,) positions, rad or m; (0,) for none. Sized once, not per update.
  bool has_joints = false;
  /// That the end effector is to exert on its surroundings, in inertial axes at its origin.
  std::optional<Eigen::Matrix<double, 6, 1>> wrench;
};

/// The fields of ControlEnergy: energies in J, powers in W, named as in the ControllerState message
/// and in vms_ph_controllers.ControlEnergy, which describe them. Record, bindings, golden files,
/// Python host and ROS telemetry follow from this one list.
#define VMS_PH_CONTROL_ENERGY_FIELDS(FIELD) \
  FIELD(closed_loop_energy)                 \
  FIELD(shaped_potential)                   \
  FIELD(kinetic_task)                       \
  FIELD(kinetic_null)                       \
  FIELD(kinetic_base)                       \
  FIELD(kinetic_shape)                      \
  FIELD(damping_task)                       \
  FIELD(damping_null)                       \
  FIELD(damping_base)                       \
  FIELD(damping_shape)                      \
  FIELD(reference_power)                    \
  FIELD(clipped_power)                      \
  FIELD(routing_power)                      \
  FIELD(null_to_task)                       \
  FIELD(tank_level)                         \
  FIELD(unaccounted_energy)

/// The energy record of one update.
struct ControlEnergy {
#define VMS_PH_FIELD(name) double name = 0.0;
  VMS_PH_CONTROL_ENERGY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
};

/// A field of ControlEnergy by its name.
struct ControlEnergyField {
  const char* name;
  double ControlEnergy::* value;
};

/// All fields, in the order of the record.
inline constexpr ControlEnergyField kControlEnergyFields[] = {
#define VMS_PH_FIELD(name) {#name, &ControlEnergy::name},
    VMS_PH_CONTROL_ENERGY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
};

struct Command {
  Eigen::VectorXd wrench_base;  ///< (b,) in the base frame, linear first, N and N m
  Eigen::VectorXd torque;       ///< (n,) N m or N
  ControlEnergy energy;
  Status status = Status::ok;
  const char* reason = "";  ///< one sentence or empty; valid as long as the controller
  double task_error = 0.0;  ///< distance between task and reference, m
  double smallest_singular_value = kInfinity;  ///< of the task Jacobian
  double authority = 1.0;                      ///< share of the potential in force, in [0, 1]
};

/// A number that a user can set, with its bounds.
struct Gain {
  std::string name, description;
  double value, low, high;
  double initial = 0.0;    ///< the default
  bool is_switch = false;  ///< on or off: 1 or 0
};

/// A control law. reset() and update() never throw, print, block or allocate.
class Controller {
 public:
  virtual ~Controller() = default;

  /// Clear all history and hold the present pose; false for a state that is not one of the robot.
  virtual bool reset(const RobotState& state) noexcept = 0;

  /// Continue at another pose than that of the last update, and hold it; false as for reset().
  ///
  /// A law with an energy tank keeps its level, which reset() sets to the initial one.
  virtual bool resume(const RobotState& state) noexcept { return reset(state); }

  /// The command for a state.
  ///
  /// @param state      measured; if an entry is not finite, the safe output is returned.
  /// @param dt         time since the last update, s; outside [0, 1] the safe output is returned.
  /// @returns a record that stays valid, and unchanged, until the next call.
  virtual const Command& update(const RobotState& state, const Reference& reference,
                                double dt) noexcept = 0;

  /// What update() sets to its state first, for a host that needs terms at it; null for none.
  virtual Evaluation* evaluation() noexcept { return nullptr; }

  /// Report missed updates: the safe output has acted since the last one.
  ///
  /// Hosts call it before the next update. A law that integrates energies must not attribute the
  /// motion in between to its own command.
  virtual void note_missed_updates() noexcept {}

  /// Take over an estimated payload; false for a law that compensates none, and for a payload that
  /// this robot cannot hold.
  ///
  /// @param mass       kg; zero for none.
  /// @param first_moment  mass times centre of mass, from the end effector in its axes, kg m.
  /// @param deviation  standard deviation of the mass, kg.
  virtual bool carry(double /*mass*/, const Eigen::Vector3d& /*first_moment*/,
                     double /*deviation*/) noexcept {
    return false;
  }

  /// Hold a further weight (nv,) from the next update on, within the limits of the law; false for a
  /// law without limits of its own, which leaves it to its host.
  virtual bool carry_load(const Eigen::VectorXd& /*load*/) noexcept { return false; }

  /// The efforts (nv,) that hold at a configuration (nq,) a payload that is not part of the model,
  /// valid until the next call; null for none. A host adds them to a safe output of its own.
  virtual const Eigen::VectorXd* payload_weight(const Eigen::VectorXd& /*q*/) noexcept {
    return nullptr;
  }

  /// The gains with their present values, for hosts that expose them as parameters.
  virtual std::vector<Gain> gains() const = 0;

  /// Change a gain between two updates; false for an unknown name or a value out of bounds.
  virtual bool set_gain(const std::string& name, double value) noexcept = 0;
};

}  // namespace vms_ph
