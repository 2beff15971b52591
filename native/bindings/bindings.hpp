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

namespace vms_ph {

void bind_closed_loop(pybind11::module_& module);
void bind_controller(pybind11::module_& module);
void bind_dynamics(pybind11::module_& module);
void bind_energy_guard(pybind11::module_& module);
void bind_integrators(pybind11::module_& module);
void bind_laws(pybind11::module_& module);
void bind_mechanism(pybind11::module_& module);
void bind_sampled_algebra(pybind11::module_& module);

/// A scheme with its robot, which must outlive it.
struct Scheme {
  const Model& model;
  std::unique_ptr<Stepper> stepper;
  bool gravity;
  bool is_implicit;  ///< whether its solver states have joint momenta and past steps
};

/// A solver state that Python keeps. It is read by naming the scheme, whose robot it must fit; its
/// vectors keep their sizes.
class KeptState {
 public:
  explicit KeptState(SolverState state) : state_(std::move(state)) {}

  /// @throws ModelError  it is of another robot, or of another kind of scheme.
  const SolverState& of(const Scheme& scheme) const;

  static void bind(pybind11::module_& module);

 private:
  SolverState state_;
};

/// Efforts that Python keeps, read in the same way.
class KeptPorts {
 public:
  explicit KeptPorts(Ports ports) : ports_(std::move(ports)) {}

  /// @throws ModelError  they are of a robot of another size.
  const Ports& of(const Model& model) const;

  static void bind(pybind11::module_& module);

 private:
  Ports ports_;
};

/// @param robot   a pinocchio.Model of Python: it may be of another version, since it is read by
///                its attributes.
/// @param mimics  name, name of the other, multiplier and offset of the joints that mimic others.
/// @throws ModelError  it is none, or the core does not cover the robot.
Model model_of(const pybind11::object& robot, const std::string& end_effector,
               const std::vector<std::tuple<std::string, std::string, double, double>>& mimics);

/// The wheels with radii, m, by the names of their joints.
std::vector<Wheel> wheels_of(const pybind11::dict& radii);

/// @throws ModelError  more threads than any machine has, each with a workspace of its own.
std::size_t checked_threads(std::size_t threads);

}  // namespace vms_ph
