// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Mechanisms of exergetic port-Hamiltonian systems.
#include "vms_ph_native/mechanism.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bindings.hpp"

namespace vms_ph {
namespace {

template <typename T>
T get(const py::dict& fields, const char* name) {
  py::detail::make_caster<T> value;
  if (!fields.contains(name) || !value.load(fields[name], true)) {
    throw ModelError(std::string("a part of a mechanism has no '") + name +
                     "' of the kind that it must be");
  }
  return py::detail::cast_op<T>(std::move(value));
}

/// Read fields of a part, each after its name.
template <class Field, class... Others>
void read(const py::dict& fields, const char* name, Field& field, Others&&... others) {
  field = get<Field>(fields, name);
  if constexpr (sizeof...(others) > 0) read(fields, others...);
}

MechanismBody body_of(const py::dict& fields) {
  MechanismBody body;
  read(fields, "momentum", body.momentum_index, "pose", body.pose_index, "pose_rate",
       body.pose_rate_index, "mass", body.mass, "inertia", body.inertia, "inverse_inertia",
       body.inverse_inertia, "weight", body.weight);
  return body;
}

MechanismJoint joint_of(const py::dict& fields) {
  MechanismJoint joint;
  read(fields, "body_1", joint.body_1, "body_2", joint.body_2, "offset_1", joint.offset_1,
       "offset_2", joint.offset_2, "angle_per_unit", joint.angle_per_unit, "shift_per_unit",
       joint.shift_per_unit);
  joint.kind = static_cast<JointKind>(get<int>(fields, "kind"));
  const auto subspace = get<Numbers>(fields, "subspace"),
             dual_basis = get<Numbers>(fields, "dual_basis"),
             constraints = get<Numbers>(fields, "constraints");
  const Eigen::Index dofs = subspace.any_matrix().cols();
  if (dofs < 1 || dofs > 3) throw ModelError("a joint has one to three freedoms");
  joint.dofs = static_cast<int>(dofs);
  joint.subspace = subspace.matrix(6, dofs, "subspace");
  joint.dual_basis = dual_basis.matrix(dofs, 6, "dual_basis");
  joint.constraints = constraints.matrix(6 - dofs, 6, "constraints");
  joint.friction = static_cast<FrictionKind>(get<int>(fields, "friction"));
  read(fields, "position", joint.position_index, "position_rate", joint.rate_index, "has_spring",
       joint.has_spring, "stiffness", joint.stiffness, "rest", joint.rest_position, "rotor",
       joint.rotor_index, "armature", joint.armature, "friction_tensor", joint.friction_tensor,
       "viscous", joint.damping, "dry", joint.dry_friction, "slip", joint.slip_speed, "softening",
       joint.thermal_softening, "reference", joint.reference_theta, "heat", joint.heat, "effort",
       joint.effort_index, "effort_1", joint.effort_index_1, "effort_2", joint.effort_index_2);
  return joint;
}

std::unique_ptr<Mechanism> make_mechanism(
    int nx, int rate_size, int effort_size, double theta_0, const std::vector<py::dict>& bodies,
    const std::vector<py::dict>& joints, const std::vector<std::tuple<int, double, double>>& heats,
    const std::vector<std::tuple<int, int, double>>& conductions) {
  MechanismParts parts;
  parts.nx = nx;
  parts.rate_size = rate_size;
  parts.effort_size = effort_size;
  parts.theta_0 = theta_0;
  for (const auto& body : bodies) parts.bodies.push_back(body_of(body));
  for (const auto& joint : joints) parts.joints.push_back(joint_of(joint));
  for (const auto& [state, capacity, theta] : heats)
    parts.heats.push_back({state, capacity, theta});
  for (const auto& [source, sink, conductance] : conductions)
    parts.conductions.push_back({source, sink, conductance});
  return std::make_unique<Mechanism>(std::move(parts));
}

const double* x_of(const Mechanism& m, const Numbers& x) { return x.data(m.parts().nx, "x"); }

const double* flow_of(const Mechanism& m, const MaybeNumbers& flow) {
  return flow ? flow->data(m.parts().effort_size, "flow") : nullptr;
}

py::object rates(Mechanism& m, const Numbers& x, const MaybeNumbers& flow) {
  Array rate = empty({m.parts().rate_size}), efforts = empty({m.parts().effort_size});
  const auto status =
      m.rates(x_of(m, x), flow_of(m, flow), rate.mutable_data(), efforts.mutable_data());
  if (status != MechanismStatus::ok) return py::none();
  return py::make_tuple(rate, efforts);
}

/// A step, or None where its status is not good: x, tangent, flows and exergy by effort, opening.
py::object step(Mechanism& m, double t, const Numbers& x, double dt, const py::object& flows,
                double tolerance) {
  Array x_after = empty({m.parts().nx}), tangent = empty({m.parts().rate_size});
  Array flow_integral = empty({m.parts().effort_size}), exergy = empty({m.parts().effort_size});
  const auto copy_flow = [&m](const py::handle& flow_object, double* flow) {
    const auto numbers = py::cast<Numbers>(flow_object);
    std::copy_n(numbers.data(m.parts().effort_size, "flow"), m.parts().effort_size, flow);
  };
  Mechanism::Flows flow_at;
  if (py::isinstance<py::array>(flows)) {
    flow_at = [&](double, const double*, double* flow) { copy_flow(flows, flow); };
  } else if (!flows.is_none()) {
    flow_at = [&](double time, const double* x_now, double* flow) {
      copy_flow(flows(time, Array(m.parts().nx, x_now)), flow);
    };
  }
  const auto outcome =
      m.step(t, x_of(m, x), dt, flow_at ? &flow_at : nullptr, tolerance, x_after.mutable_data(),
             tangent.mutable_data(), flow_at ? flow_integral.mutable_data() : nullptr,
             exergy.mutable_data());
  if (outcome.status != MechanismStatus::ok) return py::none();
  if (!flow_at) return py::make_tuple(x_after, tangent, py::none(), py::none(), outcome.opening);
  return py::make_tuple(x_after, tangent, flow_integral, exergy, outcome.opening);
}

}  // namespace

void bind_mechanism(py::module_& module) {
  py::class_<Mechanism>(module, "Mechanism", "Twin of vms_ph_ephs.Equations.")
      .def(py::init(&make_mechanism), py::arg("state_size"), py::arg("rate_size"),
           py::arg("effort_size"), py::arg("theta_0"), py::arg("bodies"), py::arg("joints"),
           py::arg("heats"), py::arg("conductions"))
      .def_property_readonly("tree_rows", &Mechanism::tree_rows)
      .def_property_readonly("loop_rows", &Mechanism::loop_rows)
      .def("set_loop_rank", &Mechanism::set_loop_rank)
      .def_property_readonly("loop_spectrum", [](const Mechanism& m) { return m.loop_spectrum(); })
      .def("rates", &rates, py::arg("x"), py::arg("flow") = py::none())
      .def("step", &step, py::arg("t"), py::arg("x"), py::arg("dt"), py::arg("flows"),
           py::arg("tolerance"))
      .def("project",
           [](Mechanism& m, const Numbers& x, double tolerance) {
             Array x_after(m.parts().nx, x_of(m, x));
             const double opening = m.project(x_after.mutable_data(), tolerance);
             return py::make_tuple(x_after, opening);
           })
      .def("violation", [](Mechanism& m, const Numbers& x) { return m.violation(x_of(m, x)); })
      .def("energy", [](const Mechanism& m, const Numbers& x) { return m.energy(x_of(m, x)); })
      .def("friction_decay_rate",
           [](Mechanism& m, const Numbers& x) { return m.friction_decay_rate(x_of(m, x)); });
}

}  // namespace vms_ph
