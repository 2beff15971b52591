// What a controller is: from state, reference and time step to a command with its energy.
#pragma once

#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace vms_ph {

class Model;

struct RobotState {
  Eigen::VectorXd q;  ///< (nq,) configuration
  Eigen::VectorXd v;  ///< (nv,) velocity

  /// Whether it is a state of this robot, and finite.
  bool is_usable(const Model& model) const noexcept;
};

/// What is wanted of the robot; what is not there means: stay as you were told before.
struct Reference {
  std::optional<Eigen::Vector3d> position;  ///< of the end effector in the inertial frame, m
  std::optional<Eigen::Vector3d> velocity;  ///< in the inertial frame, m/s
  std::optional<Eigen::Matrix4d> pose;      ///< of what the law controls, base or end effector
  std::optional<Eigen::Matrix<double, 6, 1>> twist;  ///< in the axes of the reference, linear first
  Eigen::VectorXd joints;  ///< (n,) positions, rad or m; (0,) for none. Sized once, not per update.
  bool has_joints = false;
};

/// How the last update went; the numbers are those of the ControllerState message.
enum class Status : unsigned char { ok = 0, saturated = 1, holding = 2, degraded = 3 };

/// The energy record of one update; energies in J, powers in W. The fields are those of the
/// ControllerState message and of ControlEnergy in vms_ph_controllers, where each is described.
struct ControlEnergy {
  double closed_loop_energy = 0.0, shaped_potential = 0.0;
  double kinetic_task = 0.0, kinetic_null = 0.0, kinetic_base = 0.0, kinetic_shape = 0.0;
  double damping_task = 0.0, damping_null = 0.0, damping_base = 0.0, damping_shape = 0.0;
  double reference_power = 0.0, clipped_power = 0.0, routing_power = 0.0, null_to_task = 0.0;
  double tank_level = 0.0, unaccounted_energy = 0.0;
};

/// A field of ControlEnergy by its name.
struct ControlEnergyField {
  const char* name;
  double ControlEnergy::*value;
};

/// All fields in the order of the records. Bindings, golden files, the Python host and the ROS
/// messages follow from this table; its size is that of the struct, which is checked below.
inline constexpr ControlEnergyField control_energy_fields[] = {
    {"closed_loop_energy", &ControlEnergy::closed_loop_energy},
    {"shaped_potential", &ControlEnergy::shaped_potential},
    {"kinetic_task", &ControlEnergy::kinetic_task},
    {"kinetic_null", &ControlEnergy::kinetic_null},
    {"kinetic_base", &ControlEnergy::kinetic_base},
    {"kinetic_shape", &ControlEnergy::kinetic_shape},
    {"damping_task", &ControlEnergy::damping_task},
    {"damping_null", &ControlEnergy::damping_null},
    {"damping_base", &ControlEnergy::damping_base},
    {"damping_shape", &ControlEnergy::damping_shape},
    {"reference_power", &ControlEnergy::reference_power},
    {"clipped_power", &ControlEnergy::clipped_power},
    {"routing_power", &ControlEnergy::routing_power},
    {"null_to_task", &ControlEnergy::null_to_task},
    {"tank_level", &ControlEnergy::tank_level},
    {"unaccounted_energy", &ControlEnergy::unaccounted_energy},
};
static_assert(sizeof(ControlEnergy) == std::size(control_energy_fields) * sizeof(double));

struct Command {
  Eigen::VectorXd wrench_base;  ///< (b,) in the base frame, linear first, N and N m
  Eigen::VectorXd torque;       ///< (n,) N m or N
  ControlEnergy energy;
  Status status = Status::ok;
  const char* reason = "";  ///< in words, empty when all is well; never freed before the controller
  double task_error = 0.0;  ///< distance between task and reference, m
  double smallest_singular_value = std::numeric_limits<double>::infinity();  ///< of the task Jacobian
  double authority = 1.0;                ///< share of the potential in force, in [0, 1]
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

  /// Forget everything and hold the present pose; false for a state that is not one of the robot.
  virtual bool reset(const RobotState& state) noexcept = 0;

  /// The command for a state.
  ///
  /// @param state      measured; with an entry that is not finite the safe output is given.
  /// @param dt         time since the last update, s.
  /// @returns a record that stays valid, and unchanged, until the next call.
  virtual const Command& update(const RobotState& state, const Reference& reference,
                                double dt) noexcept = 0;

  /// Know that the safe output has acted for a while since the last update.
  ///
  /// Hosts say so before the next one. A law that keeps books of energy must not take for its own
  /// what the robot did meanwhile.
  virtual void missed_updates() noexcept {}

  /// The gains with their present values, for hosts that expose them as parameters.
  virtual std::vector<Gain> gains() const = 0;

  /// Change a gain between two updates; false for an unknown name or a value out of bounds.
  virtual bool set_gain(const std::string& name, double value) noexcept = 0;
};

}  // namespace vms_ph
