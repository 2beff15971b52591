// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the Python module, one file each.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <pybind11/pybind11.h>

#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/wheels.hpp"

void bind_batch(pybind11::module_& module);
void bind_closed_loop(pybind11::module_& module);
void bind_controller(pybind11::module_& module);
void bind_dynamics(pybind11::module_& module);
void bind_energy_guard(pybind11::module_& module);
void bind_integrators(pybind11::module_& module);
void bind_laws(pybind11::module_& module);
void bind_mechanism(pybind11::module_& module);
void bind_sampled_algebra(pybind11::module_& module);

namespace vms_ph {

/// A scheme with its robot, which it refers to.
struct Scheme {
  std::shared_ptr<Model> model;
  std::unique_ptr<Stepper> stepper;
  bool gravity;
};

/// @param robot   a pinocchio.Model of Python: it may be of another version, since it is read by
///                its attributes.
/// @param mimics  name, name of the other, multiplier and offset of the joints that mimic others.
/// @throws ModelError  it is none, or the core does not cover the robot.
Model model_of(const pybind11::object& robot, const std::string& end_effector,
               const std::vector<std::tuple<std::string, std::string, double, double>>& mimics);

/// The wheels with radii, m, by the names of their joints.
std::vector<Wheel> wheels_of(const pybind11::dict& radii);

}  // namespace vms_ph
