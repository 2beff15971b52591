// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The laws by their names, what wraps a law, and the actuators of a base.
#include "vms_ph_native/laws.hpp"

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "vms_ph_native/payload_compensation.hpp"
#include "vms_ph_native/pushing_impedance.hpp"
#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/supervisor.hpp"
#include "vms_ph_native/task_space_ida_pbc.hpp"

namespace py = pybind11;
using namespace py::literals;
using vms_ph::Allocation;
using vms_ph::Array;
using vms_ph::PayloadCompensation;
using vms_ph::PushingImpedance;
using vms_ph::Rotor;
using vms_ph::StatePlausibility;
using vms_ph::Supervisor;
using vms_ph::TaskSpaceIDAPBC;
using Law = vms_ph::Controller;
using Vector = Eigen::VectorXd;

namespace {

/// A law that belongs to Python, for what owns a law.
class SharedLaw final : public Law {
 public:
  explicit SharedLaw(Law& law) : law_(law) {}
  bool reset(const vms_ph::RobotState& state) noexcept override { return law_.reset(state); }
  bool resume(const vms_ph::RobotState& state) noexcept override { return law_.resume(state); }
  const vms_ph::Command& update(const vms_ph::RobotState& state, const vms_ph::Reference& reference,
                                double dt) noexcept override {
    return law_.update(state, reference, dt);
  }
  void missed_updates() noexcept override { law_.missed_updates(); }
  bool carry(double mass, const Eigen::Vector3d& moment, double deviation) noexcept override {
    return law_.carry(mass, moment, deviation);
  }
  bool carry_load(const Vector& load) noexcept override { return law_.carry_load(load); }
  const Vector* further_weight(const Vector& q) noexcept override { return law_.further_weight(q); }
  std::vector<vms_ph::Gain> gains() const override { return law_.gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_.set_gain(name, value);
  }

 private:
  Law& law_;
};

void set_gains(Law& law, const py::dict& gains) {
  for (const auto& [name, value] : gains) {
    if (!law.set_gain(py::cast<std::string>(name), py::cast<double>(value))) {
      throw vms_ph::ModelError(
          "no such gain, or out of its bounds: " + py::cast<std::string>(name) + " = " +
          py::cast<std::string>(py::str(value)));
    }
  }
}

std::unique_ptr<Law> make_law(const std::string& name, const vms_ph::Model& model,
                              const py::dict& gains, const std::optional<Allocation>& allocation,
                              bool base_actuated, const py::dict& radii) {
  auto law = vms_ph::make_law(name, model, allocation, base_actuated, vms_ph::wheels_of(radii));
  set_gains(*law, gains);
  return law;
}

std::unique_ptr<TaskSpaceIDAPBC> make_task_space(const vms_ph::Model& model,
                                                 const std::string& frame, const py::dict& gains,
                                                 std::optional<Eigen::MatrixXd> task_stiffness,
                                                 std::optional<Eigen::MatrixXd> weight,
                                                 const std::string& routing) {
  vms_ph::TaskSpaceOptions options;
  options.frame = frame;
  if (task_stiffness) {
    if (task_stiffness->rows() != 3 || task_stiffness->cols() != 3) {
      throw vms_ph::ModelError("task_stiffness must be a symmetric (3,3) matrix");
    }
    options.task_stiffness = *task_stiffness;
  }
  options.weight = std::move(weight);
  if (routing != "keep" && routing != "cancel") {
    throw vms_ph::ModelError("routing must be 'keep' or 'cancel'; given: '" + routing +
                             "'. A function of the state is for the Python controller");
  }
  options.cancel_coupling = routing == "cancel";
  auto law = std::make_unique<TaskSpaceIDAPBC>(model, vms_ph::TaskSpaceGains{}, options);
  set_gains(*law, gains);
  return law;
}

/// A vector, or one without entries, which no robot has, for another array.
Eigen::Map<const Vector> vector_of(const Array& array) {
  return {array.data(), array.ndim() == 1 ? array.size() : 0};
}

/// A part of a reference; not a number, as little a reference, for an array of another shape.
template <int rows, int columns = 1>
std::optional<Eigen::Matrix<double, rows, columns>> part(const std::optional<Array>& array) {
  using Part = Eigen::Matrix<double, rows, columns>;
  if (!array) return std::nullopt;
  const bool fits =
      columns == 1 ? array->ndim() == 1 && array->size() == rows
                   : array->ndim() == 2 && array->shape(0) == rows && array->shape(1) == columns;
  if (!fits) return Part::Constant(std::numeric_limits<double>::quiet_NaN());
  constexpr int kOrder = columns == 1 ? Eigen::ColMajor : Eigen::RowMajor;
  return Eigen::Map<const Eigen::Matrix<double, rows, columns, kOrder>>(array->data());
}

vms_ph::Command update(Law& law, const Array& q, const Array& v, double dt,
                       const std::optional<Array>& position, const std::optional<Array>& velocity,
                       const std::optional<Array>& pose, const std::optional<Array>& twist,
                       const std::optional<Array>& joints, const std::optional<Array>& wrench) {
  vms_ph::Reference reference{
      part<3>(position),  part<3>(velocity), part<4, 4>(pose), part<6>(twist), {},
      joints.has_value(), part<6>(wrench)};
  if (joints) reference.joints = vector_of(*joints);
  return law.update({vector_of(q), vector_of(v)}, reference, dt);
}

vms_ph::PlausibilityBounds bounds_of(const py::dict& fields) {
  vms_ph::PlausibilityBounds bounds;
#define VMS_PH_FIELD(name, initial, least, most) \
  if (fields.contains(#name)) bounds.name = py::cast<double>(fields[#name]);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  return bounds;
}

void bind_actuators(py::module_& module) {
  py::class_<Rotor>(module, "Rotor", "See vms_ph_dynamics.actuation.allocation.Rotor.")
      .def(py::init([](const Eigen::Vector3d& position, const Eigen::Vector3d& axis,
                       double drag_ratio, double lower,
                       double upper) { return Rotor{position, axis, drag_ratio, lower, upper}; }),
           "position"_a, "axis"_a, "drag_ratio"_a = 0.0, "lower"_a = Rotor{}.lower,
           "upper"_a = Rotor{}.upper);
  py::class_<Allocation>(module, "Allocation",
                         "See vms_ph_dynamics.actuation.allocation.Allocation.")
      .def(py::init([](const std::vector<Rotor>& rotors, const std::string& base) {
             using vms_ph::Base;
             return Allocation(rotors, base == "floating" ? Base::floating
                                       : base == "planar" ? Base::planar
                                                          : Base::fixed);
           }),
           "rotors"_a, "base"_a = "floating")
      .def_static(
          "of_matrix",
          [](const Eigen::MatrixXd& matrix, const Vector& lower, const Vector& upper) {
            return Allocation(matrix, lower, upper);
          },
          "matrix"_a, "lower"_a, "upper"_a,
          "Take B itself, (6,m) or (3,m), and the limits of the thrusts, (m,) each, N.")
      .def_property_readonly("matrix", &Allocation::matrix)
      .def_property_readonly("lower", &Allocation::lower)
      .def_property_readonly("upper", &Allocation::upper);
}

void bind_supervisor(py::module_& module) {
  py::dict defaults;
#define VMS_PH_FIELD(name, initial, least, most) \
  defaults[#name] = py::make_tuple(initial, least, most);
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  module.attr("plausibility_bounds") = defaults;
  py::class_<StatePlausibility>(module, "StatePlausibility",
                                "See vms_ph_controllers.safety.plausibility.")
      .def(py::init([](const vms_ph::Model& model, const py::dict& bounds) {
             return std::make_unique<StatePlausibility>(model, bounds_of(bounds));
           }),
           py::keep_alive<1, 2>(), "model"_a, "bounds"_a)
      .def(
          "restart",
          [](StatePlausibility& self, const Vector& q, const Vector& v) { self.restart(q, v); },
          "q"_a, "v"_a)
      .def(
          "judge",
          [](StatePlausibility& self, const Array& q, const Array& v, double dt) -> py::object {
            const vms_ph::Judgement& judgement = self.judge(vector_of(q), vector_of(v), dt);
            if (!judgement.holds() && !judgement.restarts) return py::none();
            return py::make_tuple(judgement.reason, Vector(judgement.q), Vector(judgement.v),
                                  judgement.restarts);
          },
          "q"_a, "v"_a, "dt"_a,
          "Return None where the law may act, else reason, q, v and whether it restarts.");
  py::class_<Supervisor, Law>(module, "Supervisor",
                              "A law behind tests of states, references and efforts; see "
                              "vms_ph_controllers.hosting.supervisor.")
      .def(py::init([](const vms_ph::Model& model, Law& law, const py::dict& bounds,
                       const std::optional<Allocation>& allocation, bool base_actuated) {
             return std::make_unique<Supervisor>(model, std::make_unique<SharedLaw>(law),
                                                 bounds_of(bounds), allocation, base_actuated);
           }),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), "model"_a, "law"_a,
           "bounds"_a = py::dict(), "allocation"_a = py::none(), "base_actuated"_a = true);
}

}  // namespace

std::vector<vms_ph::Wheel> vms_ph::wheels_of(const py::dict& radii) {
  std::vector<Wheel> wheels;
  for (const auto& [joint, radius] : radii) {
    wheels.push_back({py::cast<std::string>(joint), py::cast<double>(radius)});
  }
  return wheels;
}

void bind_laws(py::module_& module) {
  bind_actuators(module);
  module.attr("laws") = vms_ph::law_names();
  py::class_<Law>(module, "Law", "A control law; make_law() makes one by its name.")
      .def(
          "reset",
          [](Law& law, const Array& q, const Array& v) {
            return law.reset({vector_of(q), vector_of(v)});
          },
          "q"_a, "v"_a, "Hold a state; False for what is none of the robot.")
      .def(
          "resume",
          [](Law& law, const Array& q, const Array& v) {
            return law.resume({vector_of(q), vector_of(v)});
          },
          "q"_a, "v"_a, "Hold another state, with the energy that the law has.")
      .def("update", &update, "q"_a, "v"_a, "dt"_a, "position"_a = py::none(),
           "velocity"_a = py::none(), "pose"_a = py::none(), "twist"_a = py::none(),
           "joints"_a = py::none(), "wrench"_a = py::none())
      .def("missed_updates", &Law::missed_updates,
           "Note that the safe output has acted since the last update.")
      .def("set_gain", &Law::set_gain, "name"_a, "value"_a)
      .def("set_gains", &set_gains, "gains"_a)
      .def("carry", &Law::carry, "mass"_a, "moment"_a, "deviation"_a)
      .def("carry_load", &Law::carry_load, "load"_a)
      .def_property_readonly("gains", &Law::gains);
  module.def("make_law", &make_law, py::keep_alive<0, 2>(), "name"_a, "model"_a,
             "gains"_a = py::dict(), "allocation"_a = py::none(), "base_actuated"_a = true,
             "wheels"_a = py::dict(),
             "Return a law by its name in `laws`. On wheels: the radii, m, by the names of the "
             "joints that turn them.");
  py::class_<TaskSpaceIDAPBC, Law>(module, "TaskSpaceIDAPBC",
                                   "See vms_ph_controllers.TaskSpaceIDAPBC.")
      .def(py::init(&make_task_space), py::keep_alive<1, 2>(), "model"_a, "frame"_a = "",
           "gains"_a = py::dict(), py::kw_only(), "task_stiffness"_a = py::none(),
           "weight"_a = py::none(), "routing"_a = "keep")
      .def_property_readonly("q_star",
                             [](const TaskSpaceIDAPBC& law) { return Vector(law.q_star()); })
      .def_property_readonly(
          "tank",
          [](const TaskSpaceIDAPBC& law) -> py::object {
            if (!law.tank()) return py::none();
            return py::make_tuple(law.tank()->capacity, law.tank()->level,
                                  law.tank()->unaccounted_energy);
          },
          "Capacity, level and unaccounted energy of the tank, J; or None.");
  py::class_<PushingImpedance, Law>(module, "PushingImpedance",
                                    "See vms_ph_controllers.PushingImpedance.")
      .def_property_readonly("push_level", &PushingImpedance::push_level)
      .def_property_readonly("observed_force", &PushingImpedance::observed_force);
  py::class_<PayloadCompensation, Law>(module, "PayloadCompensation",
                                       "See vms_ph_controllers.laws.payload_compensation.")
      .def(py::init([](const vms_ph::Model& model, Law& law, double rate) {
             return std::make_unique<PayloadCompensation>(model, std::make_unique<SharedLaw>(law),
                                                          rate);
           }),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), "model"_a, "law"_a, "rate"_a)
      .def_property_readonly("mass", &PayloadCompensation::mass);
  bind_supervisor(module);
}
