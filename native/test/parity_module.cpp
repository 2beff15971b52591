// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What the tests compare with Python and no program uses from there: terms of single states,
// energies, observers, the energy guard, states that are judged, rotors, parts of laws, reasons.
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/energy_guard/port_guard.hpp"
#include "vms_ph_native/energy_split.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/observers/robot_observers.hpp"
#include "vms_ph_native/plausibility.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/shaped_potential.hpp"
#include "vms_ph_native/supervisor.hpp"
#include "vms_ph_native/task_space.hpp"

namespace py = pybind11;
using vms_ph::Evaluation;
using vms_ph::Model;
using vms_ph::RobotObservers;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

namespace {

// Python may give vectors of any size; the core may not be given them.
void check(const Eigen::VectorXd& vector, int size, const char* name) {
  if (vector.size() != size) {
    throw vms_ph::ModelError(std::string(name) + " must have " + std::to_string(size) +
                             " entries; given: " + std::to_string(vector.size()));
  }
}

void bind_evaluation(py::module_& module) {
  module.def("integrate",
             [](const Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& dv) {
               check(q, model.nq(), "q");
               check(dv, model.nv(), "dv");
               Eigen::VectorXd result(model.nq());
               model.integrate(q, dv, result);
               return result;
             });
  module.def("difference",
             [](const Model& model, const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
               check(a, model.nq(), "q0");
               check(b, model.nq(), "q1");
               Eigen::VectorXd result(model.nv());
               model.difference(a, b, result);
               return result;
             });
  module.def("joint_positions", [](const Model& model, const Eigen::VectorXd& q) {
    check(q, model.nq(), "q");
    Eigen::VectorXd result(model.n());
    model.joint_positions(q, result);
    return result;
  });
  module.def("base_pose", [](const Model& model, const Eigen::VectorXd& q) {
    check(q, model.nq(), "q");
    return model.base_pose(q).toHomogeneousMatrix();
  });
  py::class_<Evaluation>(module, "Evaluation", "See vms_ph_dynamics.Evaluation.")
      .def(py::init<const Model&>(), py::keep_alive<1, 2>())
      .def("set",
           [](Evaluation& d, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
             check(q, d.model().nq(), "q");
             check(v, d.model().nv(), "v");
             d.set(q, v);
           })
      .def_property_readonly("M", [](Evaluation& d) { return Eigen::MatrixXd(d.M()); })
      .def_property_readonly("M_b_inverse",
                             [](Evaluation& d) { return Eigen::MatrixXd(d.M_b_inverse()); })
      .def_property_readonly("A", [](Evaluation& d) { return Eigen::MatrixXd(d.A()); })
      .def_property_readonly("M_hat_m", [](Evaluation& d) { return Eigen::MatrixXd(d.M_hat_m()); })
      .def_property_readonly("C", [](Evaluation& d) { return Eigen::MatrixXd(d.C()); })
      .def_property_readonly("g", [](Evaluation& d) { return Eigen::VectorXd(d.g()); })
      .def_property_readonly("momentum",
                             [](Evaluation& d) { return Eigen::VectorXd(d.momentum()); })
      .def_property_readonly("kinetic_energy", &Evaluation::kinetic_energy)
      .def_property_readonly("potential_energy", &Evaluation::potential_energy)
      .def("placement",
           [](Evaluation& d, const std::string& frame) {
             return d.placement(d.model().frame_id(frame)).toHomogeneousMatrix();
           })
      .def("jacobian",
           [](Evaluation& d, const std::string& frame) {
             return Eigen::MatrixXd(d.frame_jacobian(d.model().frame_id(frame), pinocchio::LOCAL));
           })
      .def("jacobian_rate", [](Evaluation& d, const std::string& frame) {
        return Eigen::MatrixXd(d.frame_jacobian_rate(d.model().frame_id(frame), pinocchio::LOCAL));
      });
}

void bind_energy_split(py::module_& module) {
  module.def("energies",
             [](const vms_ph::Model& model, const Eigen::VectorXd& q, const Eigen::VectorXd& v) {
               const vms_ph::RobotState state{q, v};
               if (!state.is_usable(model))
                 throw vms_ph::ModelError("(q, v) is no state of this robot");
               vms_ph::EnergySplit split(model);
               const auto& e = split.compute(state);
               py::dict energies;
               energies["kinetic"] = e.kinetic;
               energies["potential"] = e.potential;
               energies["kinetic_base"] = e.kinetic_base;
               energies["kinetic_shape"] = e.kinetic_shape;
               energies["kinetic_task"] = e.kinetic_task;
               energies["kinetic_null"] = e.kinetic_null;
               return energies;
             });
}

std::unique_ptr<RobotObservers> make_observers(const vms_ph::Model& model, const py::dict& noise,
                                               bool decoupled, bool friction, double bandwidth,
                                               double false_alarms, int windows, double wind_force,
                                               double wind_moment) {
  vms_ph::ObserverOptions options;
#define VMS_PH_FIELD(name, initial) \
  if (noise.contains(#name)) options.noise.name = py::cast<double>(noise[#name]);
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  options.is_decoupled = decoupled;
  options.has_friction = friction;
  options.bandwidth = bandwidth;
  options.false_alarms = false_alarms;
  options.window_count = windows;
  options.wind_force_deviation = wind_force;
  options.wind_moment_deviation = wind_moment;
  return std::make_unique<RobotObservers>(model, options);
}

py::dict noise() {
  py::dict result;
#define VMS_PH_FIELD(name, initial) result[#name] = initial;
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return result;
}

py::dict contact(const RobotObservers& observers) {
  const vms_ph::ContactReport& report = observers.contact();
  py::dict result;
  result["contact"] = report.contact;
  result["has_begun"] = report.has_begun;
#define VMS_PH_FIELD(name) result[#name] = report.name;
  VMS_PH_CONTACT_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  result["joint"] = report.joint;
  return result;
}

py::dict payload(const RobotObservers& observers) {
  const vms_ph::Payload& report = observers.payload();
  py::dict result;
  result["mass"] = report.mass;
  result["moment"] = Vector(report.moment);
  result["covariance"] = Matrix(report.covariance);
  result["changed"] = report.changed;
  result["mass_deviation"] = report.mass_deviation();
  result["centre"] = Vector(report.centre());
  result["centre_deviation"] = Vector(report.centre_deviation());
  return result;
}

void bind_observers(py::module_& module) {
  module.attr("observer_noise") = noise();
  py::class_<RobotObservers>(module, "RobotObservers",
                             "All observers of vms_ph_controllers.observers, of the same samples.")
      .def(py::init(&make_observers), py::keep_alive<1, 2>(), py::arg("model"),
           py::arg("noise") = py::dict(), py::arg("decoupled") = false, py::arg("friction") = false,
           py::arg("bandwidth") = 30.0, py::arg("false_alarms") = 1.0, py::arg("windows") = 6,
           py::arg("wind_force") = 10.0, py::arg("wind_moment") = 1.0)
      .def("restart", &RobotObservers::restart)
      .def("add", [](RobotObservers& observers, const Vector& q, const Vector& v,
                     const Vector& effort, double dt) { return observers.add(q, v, effort, dt); })
      .def_property_readonly("force",
                             [](const RobotObservers& o) { return Vector(o.force().force()); })
      .def_property_readonly("force_covariance",
                             [](const RobotObservers& o) { return Matrix(o.force().covariance()); })
      .def_property_readonly("wrench",
                             [](const RobotObservers& o) { return Vector(o.wrench().wrench()); })
      .def_property_readonly(
          "covariance", [](const RobotObservers& o) { return Matrix(o.wrench().covariance()); })
      .def_property_readonly("contact", &contact)
      .def_property_readonly("payload", &payload);
}

using vms_ph::EnergyGuardSettings;
using vms_ph::PortGuard;

std::unique_ptr<PortGuard> make_guard(const Model& model, const py::dict& settings, int delay,
                                      bool effort_carries_weight, bool base_actuated, double period,
                                      const std::optional<vms_ph::Allocation>& allocation,
                                      const std::optional<Vector>& weights) {
  vms_ph::EnergyGuardOptions options;
  options.delay = delay;
  options.effort_carries_weight = effort_carries_weight;
  options.base_actuated = base_actuated;
  options.period = period;
  options.allocation = allocation;
  if (weights) options.weights = *weights;
  auto guard = std::make_unique<PortGuard>(model, EnergyGuardSettings(), options);
  for (const auto& [name, value] : settings) {
    if (!EnergyGuardSettings::table().set(guard->settings, py::cast<std::string>(name),
                                          py::cast<double>(value))) {
      throw vms_ph::ModelError("there is no setting '" + py::cast<std::string>(name) +
                               "' of an energy guard with this value");
    }
  }
  return guard;
}

py::dict guard_settings() {
  py::dict result;
  for (const auto& row : EnergyGuardSettings::table().list(EnergyGuardSettings())) {
    result[row.name.c_str()] =
        py::make_tuple(row.initial, row.low, row.high, row.is_switch, row.description);
  }
  return result;
}

py::dict certificate(const PortGuard& guard) {
  const vms_ph::Certificate guard_certificate = guard.certificate();
  py::dict result;
#define VMS_PH_FIELD(name) result[#name] = guard_certificate.name;
  VMS_PH_CERTIFICATE_COUNTS(VMS_PH_FIELD)
  VMS_PH_CERTIFICATE_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  result["verdict"] = guard_certificate.verdict();
  result["first_loss"] = guard_certificate.first_loss;
  return result;
}

void bind_energy_guard(py::module_& module) {
  using vms_ph::GuardedEffort;
  module.attr("energy_guard_settings") = guard_settings();
  py::class_<GuardedEffort>(module, "GuardedEffort")
      .def_property_readonly("effort", [](const GuardedEffort& g) { return Vector(g.effort); })
      .def_property_readonly("status",
                             [](const GuardedEffort& g) { return static_cast<int>(g.status); })
      .def_property_readonly("reason", [](const GuardedEffort& g) { return std::string(g.reason); })
      .def_readonly("level", &GuardedEffort::level);
  const auto internal_reference = py::return_value_policy::reference_internal;
  py::class_<PortGuard>(module, "PortGuard", "See vms_ph_controllers.guard.PortGuard.")
      .def(py::init(&make_guard), py::keep_alive<1, 2>(), py::arg("model"),
           py::arg("settings") = py::dict(), py::arg("delay") = 0,
           py::arg("effort_carries_weight") = true, py::arg("base_actuated") = true,
           py::arg("period") = 1e-3, py::arg("allocation") = py::none(),
           py::arg("weights") = py::none())
      .def(
          "engage",
          [](PortGuard& guard, const Vector& q, const Vector& v,
             const std::optional<Vector>& acting_effort) {
            return guard.engage(q, v, acting_effort.value_or(Vector()));
          },
          py::arg("q"), py::arg("v"), py::arg("acting") = py::none())
      .def(
          "update",
          [](PortGuard& guard, const Vector& q, const Vector& v, const Vector& effort,
             double dt) -> const GuardedEffort& { return guard.update(q, v, effort, dt); },
          internal_reference)
      .def(
          "hold",
          [](PortGuard& guard, const std::string& reason, double dt) -> const GuardedEffort& {
            return guard.hold(reason.c_str(), dt);
          },
          internal_reference)
      .def("refill", &PortGuard::refill)
      .def("drain", &PortGuard::drain)
      .def_property_readonly("certificate", &certificate);
}

void bind_plausibility(py::module_& module) {
  py::dict defaults;
#define VMS_PH_FIELD(name, initial, least, most) \
  defaults[#name] = py::make_tuple(initial, least, most);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  module.attr("plausibility_bounds") = defaults;
  module.def("limits", [](const Model& model) {
    return py::make_tuple(model.min_position(), model.max_position(), model.max_effort(),
                          model.max_velocity(), model.base_gravity());
  });
}

void bind_laws(py::module_& module) {
  module.def("set_command_period", &Model::set_command_period);
  using vms_ph::Controller;
  using vms_ph::PayloadCompensation;
  py::class_<PayloadCompensation, Controller>(module, "PayloadCompensation",
                                              "See vms_ph_controllers.laws.payload_compensation.")
      .def(py::init([](const Model& model, Controller& law, double rate) {
             // A law that belongs to Python.
             return std::make_unique<PayloadCompensation>(
                 model, std::shared_ptr<Controller>(std::shared_ptr<Controller>(), &law), rate);
           }),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>());
  module.def(
      "allocation_of_rotors",
      [](const std::vector<std::tuple<Eigen::Vector3d, Eigen::Vector3d, double, double, double>>&
             rows,
         const std::string& base) {
        std::vector<vms_ph::Rotor> rotors;
        for (const auto& [position, axis, drag_ratio, lower, upper] : rows) {
          rotors.push_back({position, axis, drag_ratio, lower, upper});
        }
        const vms_ph::Allocation allocation(rotors, base == "floating" ? vms_ph::Base::floating
                                                    : base == "planar" ? vms_ph::Base::planar
                                                                       : vms_ph::Base::fixed);
        return py::make_tuple(Matrix(allocation.matrix()), Vector(allocation.lower()),
                              Vector(allocation.upper()));
      },
      "Return B and the limits of rotors: position, axis, drag ratio, smallest and largest "
      "thrust.");
  module.attr("unlimited") = vms_ph::Rotor{}.upper;
}

void bind_task_space(py::module_& module) {
  module.def("split", [](const Matrix& mass, const Vector& velocity, const Vector& momentum,
                         const Matrix& jacobian, double singular_below) {
    vms_ph::TaskSvd svd;
    vms_ph::SplitMotion motion;
    const vms_ph::Matrix3V rows = jacobian;
    svd.compute(rows);
    motion.compute(mass, velocity, momentum, rows, svd, singular_below);
    return py::make_tuple(Vector(motion.eta), Matrix(motion.null_map), Vector(motion.nu),
                          Vector(motion.null_velocity), motion.kinetic_null,
                          motion.smallest_singular_value, motion.is_regular,
                          Matrix(svd.pseudo_inverse(singular_below)));
  });
  module.def("minimum_step", [](const Model& model, const Vector& q, const Eigen::Vector3d& x,
                                const Eigen::Vector3d& step, const Vector& posture, double damping,
                                double dt, double reach, double margin) {
    vms_ph::MinimumStep solver(model);
    vms_ph::Minimum current_minimum;
    current_minimum.q = q;
    current_minimum.x = x;
    solver.compute(vms_ph::PositionTask(model.end_effector()), current_minimum, step, posture,
                   {damping, dt, reach, margin});
    return py::make_tuple(solver.next_minimum.q, solver.next_minimum.x, solver.was_at_target,
                          solver.is_out_of_reach);
  });
}

}  // namespace

PYBIND11_MODULE(vms_ph_native_parity, module) {
  py::module_::import("vms_ph_native");  // of which the robots are
  bind_evaluation(module);
  bind_energy_split(module);
  bind_observers(module);
  bind_energy_guard(module);
  bind_plausibility(module);
  bind_laws(module);
  bind_task_space(module);
  py::dict reasons;
#define VMS_PH_REASON(name, text) reasons[#name] = text;
  VMS_PH_REASONS(VMS_PH_REASON)
#undef VMS_PH_REASON
  module.attr("reasons") = reasons;
}
