// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What every controller gives, the laws by their names, what wraps a law, the actuators of a base,
// and the algebra of sampled laws for laws in Python.
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "vms_ph_native/cartesian_impedance.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/energy_tank.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/sampled_impedance.hpp"
#include "vms_ph_native/supervisor.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace vms_ph {
namespace {

void bind_controller(py::module_& module) {
  py::class_<ControlEnergy> energy(module, "ControlEnergy",
                                   "See vms_ph_controllers.ControlEnergy.");
  py::list names;
  for (const auto& field : kControlEnergyFields) {
    energy.def_readonly(field.name, field.value);
    names.append(field.name);
  }
  energy.attr("fields") = py::tuple(names);
  py::class_<Command>(module, "Command", "See vms_ph_controllers.Command; status is a number.")
      .def_property_readonly("wrench_base", [](const Command& c) { return c.wrench_base; })
      .def_property_readonly("torque", [](const Command& c) { return c.torque; })
      .def_property_readonly("energy", [](const Command& c) { return c.energy; })
      .def_property_readonly("status", [](const Command& c) { return static_cast<int>(c.status); })
      .def_property_readonly("reason", [](const Command& c) { return std::string(c.reason); })
      .def_property_readonly(
          "parts",
          [](const Command& c) {
            py::tuple energies(std::size(kControlEnergyFields));
            for (std::size_t i = 0; i < energies.size(); ++i) {
              energies[i] = c.energy.*kControlEnergyFields[i].value;
            }
            return py::make_tuple(c.wrench_base, c.torque, std::move(energies),
                                  static_cast<int>(c.status), c.reason, c.task_error,
                                  c.smallest_singular_value, c.authority);
          },
          "All fields of vms_ph_controllers.Command in their order, the energies as a tuple.")
      .def_readonly("task_error", &Command::task_error)
      .def_readonly("smallest_singular_value", &Command::smallest_singular_value)
      .def_readonly("authority", &Command::authority);
  py::class_<Gain>(module, "Gain", "A number that a user can set, with its bounds.")
      .def_readonly("name", &Gain::name)
      .def_readonly("description", &Gain::description)
      .def_readonly("value", &Gain::value)
      .def_readonly("low", &Gain::low)
      .def_readonly("high", &Gain::high)
      .def_readonly("initial", &Gain::initial)
      .def_readonly("is_switch", &Gain::is_switch);
}

using Law = Controller;

/// A law that belongs to Python, for what shares it.
std::shared_ptr<Law> non_owning(Law& law) { return {std::shared_ptr<Law>(), &law}; }

/// A law that keeps its robot alive. A call policy would do so after arguments that are refused,
/// too, when there is no law: pybind11 3.1 ends the process then.
py::object law_by_name(const std::string& name, const Model& model,
                       const std::optional<Allocation>& allocation, bool base_actuated,
                       const py::dict& radii) {
  auto law = make_law(name, model, allocation, base_actuated, wheels_of(radii));
  py::object law_object = py::cast(std::move(law));
  py::detail::keep_alive_impl(law_object, py::cast(&model, py::return_value_policy::reference));
  return law_object;
}

/// A part of a reference; not a number, as little a reference, for an array of another shape.
template <class Field>
std::optional<Field> reference_field(const MaybeNumbers& numbers) {
  if (!numbers) return std::nullopt;
  Field field = Field::Constant(std::numeric_limits<double>::quiet_NaN());
  numbers->write_if_it_fits(field);
  return field;
}

/// A function of a law, at a state.
template <auto method>
bool at_state(Law& law, const Numbers& q, const Numbers& v) {
  return (law.*method)({q.any_vector(), v.any_vector()});
}

Command update(Law& law, const Numbers& q, const Numbers& v, double dt,
               const MaybeNumbers& position, const MaybeNumbers& velocity, const MaybeNumbers& pose,
               const MaybeNumbers& twist, const MaybeNumbers& joints, const MaybeNumbers& wrench,
               double age, const MaybeNumbers& measured_wrench) {
  Reference reference{reference_field<Eigen::Vector3d>(position),
                      reference_field<Eigen::Vector3d>(velocity),
                      reference_field<Pose>(pose),
                      reference_field<Twist>(twist),
                      {},
                      joints.has_value(),
                      reference_field<Twist>(wrench)};
  if (joints) reference.joints = joints->any_vector();
  RobotState state{q.any_vector(), v.any_vector(), age};
  if (measured_wrench) measured_wrench->write_if_it_fits(state.wrench);
  return law.update(state, reference, dt);
}

PlausibilityBounds bounds_of(const py::dict& fields) {
  PlausibilityBounds bounds;
#define VMS_PH_FIELD(name, initial, least, most) \
  if (fields.contains(#name)) bounds.name = py::cast<double>(fields[#name]);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return bounds;
}

void bind_actuators(py::module_& module) {
  py::class_<Allocation>(module, "Allocation",
                         "See vms_ph_dynamics.actuation.allocation.Allocation.")
      .def_static(
          "of_matrix",
          [](const Numbers& matrix, const Numbers& lower, const Numbers& upper) {
            return Allocation(matrix.any_matrix(), lower.any_vector(), upper.any_vector());
          },
          "matrix"_a, "lower"_a, "upper"_a,
          "Take B, (6,m) or (3,m), and the limits of the thrusts, (m,) each, N.");
}

void bind_supervisor(py::module_& module) {
  py::class_<Supervisor, Law>(module, "Supervisor",
                              "A law behind tests of states, references and efforts; see "
                              "vms_ph_controllers.hosting.supervisor.")
      .def(py::init([](const Model& model, Law& law, const py::dict& bounds,
                       const std::optional<Allocation>& allocation, bool base_actuated) {
             return std::make_unique<Supervisor>(model, non_owning(law), bounds_of(bounds),
                                                 allocation, base_actuated);
           }),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), "model"_a, "law"_a,
           "bounds"_a = py::dict(), "allocation"_a = py::none(), "base_actuated"_a = true);
  py::class_<StatePlausibility>(module, "StatePlausibility",
                                "See vms_ph_controllers.safety.plausibility.")
      .def(py::init([](const Model& model, const py::dict& bounds) {
             return std::make_unique<StatePlausibility>(model, bounds_of(bounds));
           }),
           py::keep_alive<1, 2>(), "model"_a, "bounds"_a)
      .def(
          "restart",
          [](StatePlausibility& self, const Numbers& q, const Numbers& v) {
            self.restart(q.vector(self.model().nq(), "q"), v.vector(self.model().nv(), "v"));
          },
          "q"_a, "v"_a)
      .def(
          "judge",
          [](StatePlausibility& self, const Numbers& q, const Numbers& v, double dt) -> py::object {
            const Judgement& judgement = self.judge(q.any_vector(), v.any_vector(), dt);
            if (!judgement.must_hold() && !judgement.must_reset) return py::none();
            return py::make_tuple(judgement.reason, judgement.q, judgement.v, judgement.must_reset,
                                  judgement.is_position_measured);
          },
          "q"_a, "v"_a, "dt"_a, "Return None where the law may act, else a Judgement.");
}

}  // namespace

std::vector<Wheel> wheels_of(const py::dict& radii) {
  std::vector<Wheel> wheels;
  for (const auto& [joint, radius] : radii) {
    wheels.push_back({py::cast<std::string>(joint), py::cast<double>(radius)});
  }
  return wheels;
}

void bind_laws(py::module_& module) {
  bind_controller(module);
  bind_actuators(module);
  module.attr("laws") = law_names();
  py::class_<Law>(module, "Law", "A control law; make_law() makes one by its name.")
      .def("reset", &at_state<&Law::reset>, "q"_a, "v"_a,
           "Hold a state; False for what is none of the robot.")
      .def("resume", &at_state<&Law::resume>, "q"_a, "v"_a,
           "Hold another state, with the energy that the law has.")
      .def("update", &update, "q"_a, "v"_a, "dt"_a, "position"_a = py::none(),
           "velocity"_a = py::none(), "pose"_a = py::none(), "twist"_a = py::none(),
           "joints"_a = py::none(), "wrench"_a = py::none(), "age"_a = 0.0,
           "measured_wrench"_a = py::none())
      .def("note_missed_updates", &Law::note_missed_updates,
           "Note that the safe output has acted since the last update.")
      .def("set_gain", &Law::set_gain, "name"_a, "value"_a)
      .def("carry", &Law::carry, "mass"_a, "moment"_a, "deviation"_a)
      .def(
          "carry_load",
          [](Law& law, const Numbers& load) { return law.carry_load(load.any_vector()); }, "load"_a,
          "Hold a weight (nv,) before the output stage; False where it does not fit.")
      .def_property_readonly("gains", &Law::gains);
  module.def("make_law", &law_by_name, "name"_a, "model"_a, "allocation"_a = py::none(),
             "base_actuated"_a = true, "wheels"_a = py::dict(),
             "Return a law by its name in `laws`. On wheels: the radii, m, by the names of the "
             "joints that turn them.");
  py::class_<TaskSpaceIDAPBC, Law>(module, "TaskSpaceIDAPBC",
                                   "See vms_ph_controllers.TaskSpaceIDAPBC.")
      .def_property_readonly("q_star", &TaskSpaceIDAPBC::q_star)
      .def_property_readonly(
          "tank",
          [](const TaskSpaceIDAPBC& law) -> py::object {
            if (!law.tank()) return py::none();
            return py::make_tuple(law.tank()->capacity, law.tank()->level,
                                  law.tank()->unaccounted_energy);
          },
          "Capacity, level and unaccounted energy of the tank, J; or None.");
  py::class_<CartesianImpedance, Law>(module, "CartesianImpedance",
                                      "See vms_ph_controllers.CartesianImpedance.")
      .def_property_readonly("null_level", &CartesianImpedance::null_level);
  py::class_<PushingImpedance, Law>(module, "PushingImpedance",
                                    "See vms_ph_controllers.PushingImpedance.")
      .def_property_readonly("push_level", &PushingImpedance::push_level)
      .def_property_readonly("observed_force", &PushingImpedance::observed_force);
  bind_supervisor(module);
}

namespace {

py::ssize_t checked_size(const Numbers& velocity) {
  const auto size = velocity.any_vector().size();
  if (size > kMaxVelocities) {
    throw ModelError("at most " + std::to_string(kMaxVelocities) + " velocities");
  }
  return size;
}

/// The workspace of laws in Python, one thread at a time.
struct SampledAlgebra {
  explicit SampledAlgebra(const Model& model) : impedance(model), predictor(model), d(model) {}

  SampledImpedance impedance;
  SamplePredictor predictor;
  Prediction prediction;
  Evaluation d;
  MatrixV mass, damping, stiffness;
};

py::tuple compute_impedance(SampledAlgebra& self, const Numbers& mass, const Numbers& damping,
                            const Numbers& stiffness, const Numbers& gradient,
                            const Numbers& velocity, double h, const MaybeNumbers& feedforward) {
  const py::ssize_t nv = checked_size(velocity);
  // Symmetric: the order of the entries does not matter.
  self.mass = mass.matrix(nv, nv, "mass");
  self.damping = damping.matrix(nv, nv, "damping");
  self.stiffness = stiffness.matrix(nv, nv, "stiffness");
  VectorV reference_force;
  if (feedforward) reference_force = feedforward->vector(nv, "feedforward");
  self.impedance.compute(
      self.mass, self.damping, self.stiffness, VectorV(gradient.vector(nv, "gradient")),
      VectorV(velocity.vector(nv, "velocity")), h, feedforward ? &reference_force : nullptr);
  return py::make_tuple(self.impedance.spring_force, self.impedance.damping_velocity,
                        self.impedance.predicted_spring_force, self.impedance.reason());
}

py::tuple predict(SampledAlgebra& self, const Numbers& q, const Numbers& v,
                  const Numbers& unactuated_gravity, double budget, double dt,
                  const Numbers& force) {
  const py::ssize_t nv = self.d.model().nv();
  self.d.set(q.vector(self.d.model().nq(), "q"), v.vector(nv, "v"));
  SamplePredictor& predictor = self.predictor;
  predictor.begin(self.d, unactuated_gravity.vector(nv, "unactuated_gravity"), budget, dt);
  predictor.predict(force.vector(nv, "force"), self.prediction);
  const bool is_finite = std::isfinite(self.prediction.deficit);
  return py::make_tuple(self.prediction.deficit, self.prediction.acceleration,
                        self.prediction.displacement, predictor.max_energy(),
                        is_finite ? predictor.end_q() : self.d.q(),
                        is_finite ? predictor.end_v() : VectorV(self.d.v()));
}

}  // namespace

void bind_sampled_algebra(py::module_& module) {
  py::class_<SampledAlgebra> algebra(module, "SampledAlgebra",
                                     "The algebra of sampled laws; a workspace of one thread.");
  algebra.def(py::init<const Model&>(), py::keep_alive<1, 2>(), "model"_a)
      .def_property_readonly_static("max_nv", [](const py::object&) { return kMaxVelocities; })
      .def("hold", &compute_impedance, "mass"_a, "damping"_a, "stiffness"_a, "gradient"_a,
           "velocity"_a, "h"_a, "feedforward"_a = py::none(),
           "Return spring, velocity, predicted spring and reason of a SampledImpedance.")
      .def("predict", &predict, "q"_a, "v"_a, "unactuated_gravity"_a, "budget"_a, "dt"_a, "force"_a,
           "Return the parts of a Prediction of efforts that are held over a sample.");
}

}  // namespace vms_ph
