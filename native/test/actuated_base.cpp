// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Rotors that tilt, powered casters and what spins on the base of a simulated robot.
#include <cmath>
#include <memory>
#include <string>

#include <Eigen/Geometry>
#include <pinocchio/algorithm/centroidal.hpp>

#include "../../ros2_control/src/robot_setup.hpp"
#include "../../ros2_control/test/flying_arm.hpp"
#include "../../ros2_control/test/spinning_actuators.hpp"
#include "allocations.hpp"
#include "core_test.hpp"
#include "golden.hpp"
#include "vms_ph_native/energy_split.hpp"
#include "vms_ph_native/pinocchio_model.hpp"
#include "vms_ph_native/plant/plant.hpp"

namespace actuated_base {

using vms_ph::Plant;
using vms_ph::PlantOptions;
using vms_ph_ros2_control::RobotSetup;

/// A flying arm with actuators, without friction and stops.
struct Robot {
  explicit Robot(const std::string& actuators, const std::string& scheme = "",
                 const Eigen::Vector3d& gravity = Eigen::Vector3d::Zero(),
                 const std::string& base = "floating") {
    RobotSetup setup;
    setup.base = base;
    setup.end_effector = "lower";
    setup.urdf = flying_arm(base, actuators);
    setup.gravity = gravity;
    model = std::make_unique<vms_ph::Model>(vms_ph_ros2_control::make_model(setup));
    split = std::make_unique<vms_ph::EnergySplit>(*model);
    PlantOptions options;
    options.start_q = model->neutral_configuration();
    options.scheme = scheme;
    options.has_friction = options.has_stops = false;
    options.actuators = vms_ph_ros2_control::base_actuators(setup);
    plant = std::make_unique<Plant>(*model, options);
  }

  /// Angular momentum of robot and what spins about the centre of mass, in inertial axes.
  Eigen::Vector3d angular_momentum() const {
    pinocchio::Data data(model->pinocchio());
    const auto& h =
        pinocchio::computeCentroidalMomentum(model->pinocchio(), data, plant->q(), plant->v());
    return h.angular() + attitude() * plant->actuators().momentum();
  }
  Eigen::Quaterniond attitude() const {
    const auto& q = plant->q();
    return {q[6], q[3], q[4], q[5]};
  }
  double energy() const { return split->compute({plant->q(), plant->v()}).total(); }

  /// Energy of the supply that is neither work on the base, nor stored by what spins, nor lost.
  double unaccounted_energy(double initial_stored_energy) const {
    const auto& a = plant->actuators();
    return a.electric_energy() - plant->port_energies().supplied_energy[1] -
           (a.stored_energy() - initial_stored_energy) - a.lost_energy();
  }

  std::unique_ptr<vms_ph::Model> model;
  std::unique_ptr<vms_ph::EnergySplit> split;
  std::unique_ptr<Plant> plant;
};

/// Moments on the base, torques of the arm.
void drive(Robot& robot, int steps, double moment = 0.2) {
  Eigen::VectorXd wrench = Eigen::VectorXd::Zero(6), torque(2);
  for (int i = 0; i < steps; ++i) {
    const double t = 1e-3 * i;
    wrench.tail<3>() << moment * std::sin(9.0 * t), moment * std::cos(7.0 * t), -moment;
    torque << 0.3 * std::sin(5.0 * t), 0.1 * std::cos(6.0 * t);
    CHECK(robot.plant->advance(wrench, false, torque, 1));
  }
}

void reaction_wheels_keep_the_angular_momentum_of_robot_and_wheels() {
  // A scheme of second order leaves more of a step of 1 ms than one of fourth; the discrete
  // gradient keeps the momentum whatever the step.
  for (const auto& [scheme, tolerance] : {std::pair<std::string, double>{"projected_rk4", 1e-11},
                                          {"rkmk4", 1e-11},
                                          {"projected_midpoint", 1e-6},
                                          {"discrete_gradient", 1e-14}}) {
    Robot robot(three_wheels(), scheme);
    const Eigen::Vector3d initial_momentum = robot.angular_momentum();
    const Eigen::Vector3d wheel_momentum = robot.attitude() * robot.plant->actuators().momentum();
    const double initial_stored_energy = robot.plant->actuators().stored_energy(),
                 initial_energy = robot.energy();
    drive(robot, 600);
    const Eigen::Vector3d displacement =
        robot.attitude() * robot.plant->actuators().momentum() - wheel_momentum;
    CHECK(displacement.norm() > 0.05);
    CHECK((robot.angular_momentum() - initial_momentum).norm() <
          tolerance * initial_momentum.norm());
    CHECK(robot.plant->actuators().lost_energy() > 1.0);
    CHECK(std::abs(robot.unaccounted_energy(initial_stored_energy)) <= 1e-11);
    const auto& ports = robot.plant->port_energies();
    CHECK(std::abs(robot.energy() - initial_energy -
                   (ports.supplied_energy[0] + ports.supplied_energy[1])) <= 1e-11);
  }
}

void a_reaction_wheel_ends_no_step_beyond_its_largest_spin() {
  Robot robot(three_wheels());
  const Eigen::VectorXd torque = Eigen::VectorXd::Zero(2);
  Eigen::VectorXd wrench = Eigen::VectorXd::Zero(6);
  wrench[5] = -0.4;  // the wheel about z spins up
  double max_rate = 0.0;
  for (int i = 0; i < 500; ++i) {
    CHECK(robot.plant->advance(wrench, false, torque, 1));
    max_rate = std::max(max_rate, robot.plant->actuators().momentum().z() / 0.002);
  }
  CHECK(std::abs(max_rate - 300.0) <= 1e-9);
  CHECK(max_rate <= 300.0 * (1.0 + 1e-15));
  CHECK(std::abs(robot.plant->actuators().momentum().z() / 0.002 - 300.0) <=
        1e-9);  // it stays there
}

void the_gyroscopic_moment_is_that_of_the_momentum_of_its_time_and_has_no_power() {
  vms_ph::Spin spin{true, 2.0, {1.0, 2.0, 3.0}, {4.0, -5.0, 6.0}};
  const Eigen::Vector3d w(0.3, 0.1, -0.2), later_momentum = spin.momentum + 0.5 * spin.rate;
  CHECK((spin.moment(2.5, w) + w.cross(later_momentum)).norm() < 1e-15);
  CHECK(std::abs(spin.moment(2.5, w).dot(w)) <= 1e-15);
}

void rotors_that_turn_hold_the_base_as_a_gyroscope_does() {
  // Two rotors on one axis whose thrusts cancel, and which turn in the same sense.
  const auto pair = [](const std::string& inertia) {
    const std::string rest =
        "' lower='2' upper='9' thrust_constant='1e-5' time_constant='0.05' " +
        (inertia.empty() ? "" : "inertia='" + inertia + "' spin_axis='0 0 1' ") + "/>";
    return allocation("<input name='up' column='0 0 1 0 0 0" + rest +
                      "<input name='down' column='0 0 -1 0 0 0" + rest);
  };
  const auto tilt_angle = [&](const std::string& inertia) {
    Robot robot(pair(inertia));
    const Eigen::Vector3d initial_momentum = robot.angular_momentum();
    const Eigen::VectorXd no_wrench = Eigen::VectorXd::Zero(6);
    const Eigen::Vector2d torque(0.05, 0.0);  // of the shoulder, whose reaction turns the base
    for (int i = 0; i < 400; ++i) CHECK(robot.plant->advance(no_wrench, false, torque, 1));
    CHECK((robot.angular_momentum() - initial_momentum).norm() <
          1e-9 * std::max(1.0, initial_momentum.norm()));
    return 2.0 * robot.attitude().vec().norm();
  };
  // The tilt is that of a nutation of the moment over the momentum, instead of a free turn.
  CHECK(tilt_angle("") > 5.0 * tilt_angle("0.004"));
}

void rotors_tilt_towards_a_force_sideways_at_their_rate() {
  Robot robot(tilting_rotors(), "", {0.0, 0.0, -9.81});
  const double weight = 9.81 * robot.model->total_mass();
  const auto& actuators = robot.plant->actuators();
  const double initial_stored_energy = actuators.stored_energy();
  CHECK(std::abs(initial_stored_energy - (0.5 * 2e-5 * weight / 1e-5)) <=
        0.5 * initial_stored_energy);  // as they carry the weight
  Eigen::VectorXd wrench = Eigen::VectorXd::Zero(6);
  const Eigen::VectorXd torque = Eigen::VectorXd::Zero(2);
  wrench << 0.3 * weight, 0.0, weight, 0.0, 0.0, 0.0;
  for (int i = 0; i < 50; ++i) CHECK(robot.plant->advance(wrench, false, torque, 1));
  for (int i = 0; i < 4; ++i)
    CHECK(std::abs(actuators.angles()[i] - 0.1) <= 1e-12);  // 50 ms at 2 rad/s
  for (int i = 0; i < 100; ++i) CHECK(robot.plant->advance(wrench, false, torque, 1));
  for (int i = 0; i < 4; ++i) CHECK(std::abs(actuators.angles()[i] - (std::atan(0.3))) <= 1e-9);
  const Eigen::VectorXd& wrench_base = robot.plant->wrench_base();
  CHECK(std::abs(wrench_base[0] - (0.3 * weight)) <= 1e-6);
  CHECK(std::abs(wrench_base[2] - weight) <= 1e-6);
  wrench[0] = weight;  // farther than they tilt
  for (int i = 0; i < 300; ++i) CHECK(robot.plant->advance(wrench, false, torque, 1));
  for (int i = 0; i < 4; ++i) CHECK(std::abs(actuators.angles()[i] - 0.5) <= 1e-12);
  CHECK(std::abs(robot.unaccounted_energy(initial_stored_energy)) <= 1e-10);
}

/// A powered caster in the middle of a planar base: radius 0.05 m, trail 0.04 m.
std::string caster() {
  return allocation(
      "<input name='caster/wheel' column='0 20 0' column_cos='20 0 0' column_sin='0 20 0' "
      "lower='-5' upper='5' friction='0.01' torque_constant='0.5' resistance='0.1' "
      "steering='caster/steering'/>"
      "<input name='caster/steering' column='-25 0 -1' column_fixed='0 0 -1' column_cos='0 25 0' "
      "column_sin='-25 0 0' lower='-5' upper='5' steering='caster/steering' "
      "angle='1.5707963267948966'/>",
      "planar");
}

void a_caster_turns_into_the_direction_of_travel_and_its_supply_gives_work_and_losses() {
  Robot robot(caster(), "", Eigen::Vector3d::Zero(), "planar");
  const auto& actuators = robot.plant->actuators();
  const Eigen::VectorXd torque = Eigen::VectorXd::Zero(2);
  // Across the wheel: first the steering drives, then the wheel.
  const Eigen::Vector3d push(3.0, 0.0, 0.0);
  CHECK(actuators.angles()[1] == 1.5707963267948966);
  for (int i = 0; i < 800; ++i) {
    const double steering_angle = actuators.angles()[1];
    const Eigen::Vector3d velocity_before = robot.plant->v().head<3>();
    CHECK(robot.plant->advance(push, false, torque, 1));
    const Eigen::Vector3d mean_velocity = 0.5 * (velocity_before + robot.plant->v().head<3>());
    const double rate = (std::cos(steering_angle) * mean_velocity[1] -
                         std::sin(steering_angle) * mean_velocity[0]) /
                            0.04 -
                        mean_velocity[2];
    CHECK(std::abs(actuators.angles()[1] - steering_angle - (1e-3 * rate)) <=
          1e-14);  // it does not slip
  }
  CHECK(robot.plant->q()[0] > 0.1);
  CHECK(std::abs(actuators.angles()[1]) < 0.3);
  CHECK(actuators.lost_energy() > 1e-3);
  CHECK(std::abs(robot.unaccounted_energy(0.0)) <= 1e-12);
}

void nothing_is_allocated_while_it_moves() {
  for (const auto& [actuators, base] : {std::pair(three_wheels(), "floating"),
                                        {tilting_rotors(), "floating"},
                                        {caster(), "planar"}}) {
    Robot robot(actuators, "", Eigen::Vector3d::Zero(), base);
    const Eigen::VectorXd torque = Eigen::VectorXd::Constant(2, 0.01);
    Eigen::VectorXd wrench = Eigen::VectorXd::Zero(robot.model->b());
    CHECK(robot.plant->advance(wrench, false, torque, 1));
    const long initial_count = allocations();
    bool all_succeeded = true;
    for (int i = 0; i < 100; ++i) {
      wrench[0] = 2.0 * std::sin(0.1 * i);
      wrench[2] = i == 50 ? 1e3 : 0.1;  // at the limits once
      all_succeeded = robot.plant->advance(wrench, i % 10 == 0, torque, 1) && all_succeeded;
    }
    CHECK(allocations() == initial_count);
    CHECK(all_succeeded);
  }
}

/// A golden file of test/native/golden_actuated.py: what Python's simulation does.
void the_plant_does_what_the_simulation_in_python_does(const std::string& folder,
                                                       const std::string& name) {
  const auto lines = vms_ph::golden::read(folder + "actuated-" + name + ".txt");
  RobotSetup setup;
  PlantOptions options;
  std::unique_ptr<vms_ph::Model> model;
  std::unique_ptr<Plant> plant;
  Eigen::VectorXd wrench;
  double initial_stored_energy = 0.0, max_difference = 0.0;
  int compared_count = 0;
  const auto compare = [&](const vms_ph::golden::Line& line, const Eigen::VectorXd& numbers) {
    const Eigen::VectorXd golden_numbers = line.numbers();
    CHECK(golden_numbers.size() == numbers.size());
    for (Eigen::Index i = 0; i < numbers.size(); ++i) {
      const double difference =
          std::abs(numbers[i] - golden_numbers[i]) / std::max(1.0, std::abs(golden_numbers[i]));
      max_difference = std::max(max_difference, difference);
      ++compared_count;
    }
  };
  for (const auto& line : lines) {
    if (line.key == "robot") {
      const auto words = line.words();
      setup.urdf = file_text(folder + words[0]);
      setup.base = words[1];
      setup.end_effector = words[2];
    } else if (line.key == "gravity") {
      setup.gravity = line.numbers();
    } else if (line.key == "step") {
      options.time_step = line.number();
    } else if (line.key == "actuators") {
      setup.urdf.insert(setup.urdf.rfind("</robot>"), line.text);
    } else if (line.key == "start") {
      model = std::make_unique<vms_ph::Model>(vms_ph_ros2_control::make_model(setup));
      options.start_q = line.numbers();
      options.has_friction = options.has_stops = false;
      options.actuators = vms_ph_ros2_control::base_actuators(setup);
      plant = std::make_unique<Plant>(*model, options);
      initial_stored_energy = plant->actuators().stored_energy();
    } else if (line.key == "wrench_base") {
      wrench = line.numbers();
    } else if (line.key == "torque") {
      CHECK(plant->advance(wrench, false, line.numbers(), 10));
    } else if (line.key == "q") {
      compare(line, plant->q());
    } else if (line.key == "v") {
      compare(line, plant->v());
    } else if (line.key == "energy") {
      const auto& a = plant->actuators();
      compare(line, Eigen::Vector4d(plant->port_energies().supplied_energy[1], a.electric_energy(),
                                    a.lost_energy(), a.stored_energy()));
      CHECK(std::abs(a.electric_energy() -
                     (plant->port_energies().supplied_energy[1] + a.stored_energy() -
                      initial_stored_energy + a.lost_energy())) <=
            1e-12 * (1.0 + a.stored_energy() + a.lost_energy()));
    }
  }
  std::printf("%s: %d compared, furthest apart %.1e\n", name.c_str(), compared_count,
              max_difference);
  CHECK(compared_count > 400);
  // Rounding, and of tilting rotors what the search within limits leaves open: how the parts of a
  // force share it.
  CHECK(max_difference < (name == "tilting_rotors" ? 1e-7 : 1e-10));
}

void an_input_that_is_not_valid_is_refused_in_a_sentence() {
  const auto refusal = [](const std::string& inputs, const std::string& base = "floating") {
    try {
      vms_ph_ros2_control::parse_actuators("<robot>" + allocation(inputs, base) + "</robot>");
    } catch (const vms_ph::ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string z = "<input name='a' column='0 0 1 0 0 0' lower='0' upper='9' ";
  const std::string tilts =
      z + "column_cos='0 0 1 0 0 0' column_sin='1 0 0 0 0 0' tilt_lower='-0.5' tilt_upper='0.5' ";
  CHECK(refusal(tilts + "tilt_rate='2'/>") == "");
  CHECK(refusal(tilts + "tilt_rate='inf'/>") == "");
  CHECK_HAS(refusal(z + "kind='flywheel'/>"),
            "kind of <input> must be reaction_wheel, or not be there; given: "
            "'flywheel'");
  CHECK_HAS(refusal(z + "kind='reaction_wheel'/>"),
            "inertia of <input> must be above zero for a reaction_wheel; given: ''");
  CHECK_HAS(refusal(z + "kind='reaction_wheel' inertia='1' spin_axis='0 0 2'/>"),
            "spin_axis of <input> must be an axis of length one; given: '0 0 2'");
  CHECK_HAS(refusal(wheel("0 0 1", "0 0 -1", "301")), "must be within the largest_rate");
  CHECK_HAS(refusal(z + "inertia='1' spin_axis='0 0 1'/>"),
            "thrust_constant of <input> must be above zero beside inertia");
  CHECK_HAS(refusal(z + "inertia='-1'/>"), "inertia of <input> must be finite and not negative");
  CHECK_HAS(refusal(tilts + "/>"), "tilt_lower of <input> must be beside tilt_rate");
  CHECK_HAS(refusal(tilts + "tilt_rate='2' angle='0.1'/>"), "starts without tilt; given: '0.1'");
  CHECK_HAS(refusal(tilts + "tilt_rate='0'/>"),
            "tilt_rate of <input> must be above zero; given: '0'");
  CHECK_HAS(refusal(tilts + "tilt_rate='fast'/>"),
            "tilt_rate of <input> must be 1 numbers; given: 'fast'");
  CHECK_HAS(refusal(tilts + "tilt_rate='1' steering='a'/>"),
            "steering of <input> must be absent beside tilt_rate; given: 'a'");
  CHECK_HAS(refusal(z + "column_cos='0 0 2 0 0 0' tilt_lower='0' tilt_upper='0' tilt_rate='1'/>"),
            "at the angle of the start, '0 0 2 0 0 0'; given: '0 0 1 0 0 0'");
  const std::string caster =
      "<input name='a' column='1 0 0' column_cos='1 0 0' lower='0' upper='1' ";
  CHECK(refusal(caster + "steering='a' angle='0'/>", "planar") == "");
  CHECK_HAS(refusal(caster + "steering='b'/>", "planar"),
            "steering of <input> must be the name of an input; given: 'b'");
  CHECK_HAS(refusal(caster + "steering='b'/><input name='b' column='0 1 0' lower='0' upper='1'/>",
                    "planar"),
            "must be an input that steers itself; given: 'b'");
  CHECK_HAS(refusal(caster + "steering='a' angle='nan'/>", "planar"),
            "angle of <input> must be finite; given: 'nan'");
}

void an_actuator_fails_with_all_of_its_inputs() {
  using Inputs = std::vector<std::size_t>;
  const std::vector<std::string> names{"wheel_0", "caster_0/wheel", "caster_0/steering"};
  CHECK(vms_ph_ros2_control::inputs_of("caster_0", names) == Inputs({1, 2}));
  CHECK(vms_ph_ros2_control::inputs_of("caster_0/wheel", names) == Inputs({1, 2}));
  CHECK(vms_ph_ros2_control::inputs_of("wheel_0", names) == Inputs({0}));
  CHECK(vms_ph_ros2_control::inputs_of("wheel", names) == Inputs());
  CHECK(vms_ph_ros2_control::inputs_of("caster_0/brake", names) == Inputs());
}

TEST(actuated_base) {
  reaction_wheels_keep_the_angular_momentum_of_robot_and_wheels();
  a_reaction_wheel_ends_no_step_beyond_its_largest_spin();
  the_gyroscopic_moment_is_that_of_the_momentum_of_its_time_and_has_no_power();
  rotors_that_turn_hold_the_base_as_a_gyroscope_does();
  rotors_tilt_towards_a_force_sideways_at_their_rate();
  a_caster_turns_into_the_direction_of_travel_and_its_supply_gives_work_and_losses();
  nothing_is_allocated_while_it_moves();
  an_input_that_is_not_valid_is_refused_in_a_sentence();
  an_actuator_fails_with_all_of_its_inputs();
  for (const char* name : {"reaction_wheels", "tilting_rotors", "spinning_rotors", "casters"}) {
    the_plant_does_what_the_simulation_in_python_does(folder + "/", name);
  }
}

}  // namespace actuated_base
