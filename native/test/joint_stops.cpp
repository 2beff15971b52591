// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Stops of joints in simulated hardware: the motion and energies of the twin in Python.
#include "vms_ph_native/plant/plant.hpp"

#include <cmath>
#include <string>

#include "allocations.hpp"
#include "core_test.hpp"
#include "vms_ph_native/energy_split.hpp"

namespace joint_stops {

using Eigen::VectorXd;
using vms_ph::Base;
using vms_ph::Model;
using vms_ph::Plant;
using vms_ph::PlantOptions;

// That of test/dynamics/simulation/test_joint_stops.py.
const std::string kNarrow = R"(<robot name="arm"><link name="base"><inertial><mass value="3"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="0.5"/>
  <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <axis xyz="0 1 0"/><limit lower="-0.3" upper="0.3" effort="9" velocity="9"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0.4 0 0"/><parent link="upper"/>
  <child link="lower"/><axis xyz="0 0.8 0.6"/>
  <limit lower="-0.2" upper="0.4" effort="9" velocity="9"/></joint></robot>)";

// The first of test/dynamics/nonholonomic/carts.py.
const std::string kCart =
    R"(<robot name="differential_drive"><link name="base_link"><inertial><origin xyz="0.1 0.02 0.2"/><mass value="20"/>
  <inertia ixx="1" iyy="1.2" izz="1.5" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="left" type="continuous"><origin xyz="0 0.3 0.1"/>
  <parent link="base_link"/><child link="left_link"/><axis xyz="0 1 0"/></joint>
  <link name="left_link"><inertial><mass value="1.5"/>
  <inertia ixx="0.004" iyy="0.007" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="right" type="continuous"><origin xyz="0 -0.3 0.1"/>
  <parent link="base_link"/><child link="right_link"/><axis xyz="0 1 0"/></joint>
  <link name="right_link"><inertial><mass value="1.5"/>
  <inertia ixx="0.004" iyy="0.007" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="shoulder" type="continuous"><origin xyz="0.2 0 0.4"/>
  <parent link="base_link"/><child link="upper"/><axis xyz="0 0 1"/></joint>
  <link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="4"/>
  <inertia ixx="0.02" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><origin xyz="0.6 0 0"/><parent link="upper"/>
  <child link="fore"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="5"/></joint>
  <link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
  <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>)";

PlantOptions at_neutral(const Model& model) {
  PlantOptions options;
  options.start_q = model.neutral_configuration();
  return options;
}

void moves_as_the_twin_in_python(Base base, const VectorXd& wrench, const VectorXd& joint_positions,
                                 double torque_energy, double dissipated_energy) {
  const Model model = Model::from_urdf(kNarrow, base);
  Plant plant(model, at_neutral(model));
  const VectorXd efforts = Eigen::Vector2d(2.0, -1.0);
  for (int i = 0; i < 40; ++i) CHECK(plant.advance(wrench, false, efforts, 10));
  CHECK((plant.q().tail<2>() - joint_positions).norm() < 1e-9);
  CHECK(std::abs(plant.port_energies().supplied_energy[0] - torque_energy) < 1e-9);
  CHECK(std::abs(plant.port_energies().dissipated_energy - dissipated_energy) < 1e-9);
}

/// A cart on wheels that do not slip drives a curve, while its elbow is pushed against its stop.
void wheels_do_not_slip_when_a_joint_reaches_its_stop() {
  const Model model = Model::from_urdf(kCart, Base::planar);
  PlantOptions options = at_neutral(model);
  const int elbow = model.position_index(3);
  options.start_q[elbow] = 2.9;
  options.wheels = {{"left", 0.1}, {"right", 0.1}};
  Plant plant(model, options);
  const VectorXd no_wrench = VectorXd::Zero(3), torque = Eigen::Vector4d(0.5, -0.3, 0.2, 6.0);
  CHECK(plant.advance(no_wrench, false, torque, 1));
  const long initial_count = allocations();
  CHECK(plant.advance(no_wrench, false, torque, 399));
  CHECK(allocations() == initial_count);
  VectorXd positions(4);
  model.joint_positions(plant.q(), positions);
  const Eigen::Vector4d expected_positions(0.3444740351954376, -0.24888585645832853,
                                           0.16632284160316177, 3.000000006007765);
  CHECK((positions - expected_positions).norm() < 1e-9);
  const auto& energies = plant.port_energies();
  CHECK(std::abs(energies.supplied_energy[0] - 0.8801673789024366) < 1e-9);
  CHECK(std::abs(energies.dissipated_energy - 0.21529620221911797) < 1e-9);
  const VectorXd& v = plant.v();
  CHECK(std::abs(v[1]) < 1e-12);
  CHECK(std::abs(0.1 * v[3] - (v[0] - 0.3 * v[2])) < 1e-12);
  CHECK(std::abs(0.1 * v[4] - (v[0] + 0.3 * v[2])) < 1e-12);
}

void stores_what_is_supplied_and_not_dissipated() {
  const Model model = Model::from_urdf(kNarrow, Base::floating);
  Plant plant(model, at_neutral(model));
  vms_ph::EnergySplit split(model);
  const double initial_energy = split.compute({plant.q(), plant.v()}).total();
  const VectorXd wrench = (VectorXd(6) << 0, 0, 40, 0, 0.5, 0).finished();
  double taken_energy = 0.0;
  for (int i = 0; i < 60; ++i) {
    const double sign = i % 20 < 10 ? 1.0 : -1.0;
    CHECK(plant.advance(wrench, false, sign * Eigen::Vector2d(3.0, -2.0), 10));
    CHECK(plant.port_energies().dissipated_energy >= taken_energy - 1e-6);
    taken_energy = plant.port_energies().dissipated_energy;
    for (int joint = 0; joint < 2; ++joint) {
      CHECK(plant.q()[7 + joint] > model.min_position()[joint] - 2e-4);
      CHECK(plant.q()[7 + joint] < model.max_position()[joint] + 2e-4);
    }
  }
  CHECK(taken_energy > 1.0);
  const double stored_energy = split.compute({plant.q(), plant.v()}).total() - initial_energy;
  CHECK(std::abs(stored_energy - plant.port_energies().net_energy()) < 1e-6);
}

void an_arm_lies_on_its_stop() {
  const Model model = Model::from_urdf(kNarrow, Base::fixed);
  Plant plant(model, at_neutral(model));
  const VectorXd no_wrench = VectorXd::Zero(0), zero_torque = Eigen::Vector2d(0.0, 0.0);
  CHECK(plant.advance(no_wrench, false, zero_torque, 100));
  // The first time may load libraries; from then on nothing is allocated, on the stops or off.
  const long initial_count = allocations();
  CHECK(plant.advance(no_wrench, false, zero_torque, 5000));
  CHECK(allocations() == initial_count);
  CHECK(std::abs(plant.q()[0] - 0.3) < 1e-3);
  PlantOptions options_without_stops = at_neutral(model);
  options_without_stops.has_stops = false;
  Plant falling_plant(model, options_without_stops);
  CHECK(falling_plant.advance(no_wrench, false, zero_torque, 500));
  CHECK(falling_plant.q()[0] > 0.5);
}

TEST(joint_stops) {
  const VectorXd no_wrench = VectorXd::Zero(0);
  moves_as_the_twin_in_python(Base::fixed, no_wrench,
                              Eigen::Vector2d(0.30000009217258705, 0.010028707714541344),
                              0.5899714761450837, 1.7788615190137576);
  const VectorXd wrench = (VectorXd(6) << 0, 0, 40, 0, 0.5, 0).finished();
  moves_as_the_twin_in_python(Base::floating, wrench,
                              Eigen::Vector2d(0.29999998723138355, -0.20000766467103126),
                              0.8000076391105452, 1.1770696322395062);
  wheels_do_not_slip_when_a_joint_reaches_its_stop();
  stores_what_is_supplied_and_not_dissipated();
  an_arm_lies_on_its_stop();
}

}  // namespace joint_stops
