// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms and rates behind vms_ph_dynamics: one state at a time, and many at once on several
// threads in contiguous arrays.
#include "vms_ph_native/dynamics.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"

namespace vms_ph {
namespace {

void write_screw(const Screw& s, double* out) {
  vector3(out) = s.linear;
  vector3(out + 3) = s.angular;
}

/// A term of the equations of motion.
struct Term {
  const char* name;       ///< see vms_ph_dynamics.evaluation_batch
  const char* method;     ///< at one state; null for none
  bool depends_on_speed;  ///< or on the configuration only
  const char* shape;  ///< a letter for each axis: of size b, n, v for nv, 6, 3, r of a regressor
  void (*write)(Dynamics& d, int frame, double* out);
};

template <auto method>
void write(Dynamics& d, int, double* out) {
  (d.*method)(out);
}

const Term kTerms[] = {
    {"M", "mass", false, "vv", write<&Dynamics::mass>},
    {"M_b_inverse", "locked_inverse", false, "bb", write<&Dynamics::locked_inverse>},
    {"A", "connection", false, "bn", write<&Dynamics::connection>},
    {"M_hat_m", "shape_inertia", false, "nn", write<&Dynamics::shape_inertia>},
    {"C", "coriolis", true, "vv", write<&Dynamics::coriolis>},
    {"g", "gravity", false, "v", write<&Dynamics::gravity>},
    {"momentum", "momentum", true, "v", write<&Dynamics::momentum>},
    {"v_hat", "locked_velocity", true, "b", write<&Dynamics::locked_velocity>},
    {"pi_hat", "shape_momentum", true, "n", write<&Dynamics::shape_momentum>},
    {"kinetic_regressor", nullptr, true, "r", write<&Dynamics::kinetic_regressor>},
    {"potential_regressor", nullptr, false, "r", write<&Dynamics::potential_regressor>},
    {"kinetic_energy", nullptr, true, "",
     [](Dynamics& d, int, double* x) { *x = d.kinetic_energy(); }},
    {"potential_energy", nullptr, false, "",
     [](Dynamics& d, int, double* x) { *x = d.potential_energy(); }},
    {"J_end_effector", nullptr, false, "6v",
     [](Dynamics& d, int frame, double* x) { d.jacobian(frame, false, x); }},
    {"centre_of_mass", nullptr, true, "3",
     [](Dynamics& d, int, double* x) { vector3(x) = d.momenta().centre_of_mass; }},
    {"centroidal_momentum", nullptr, true, "6",
     [](Dynamics& d, int, double* x) { write_screw(d.momenta().centroidal, x); }},
    {"spatial_momentum", nullptr, true, "6",
     [](Dynamics& d, int, double* x) { write_screw(d.momenta().spatial, x); }},
};

std::vector<py::ssize_t> shape_of(const Term& term, const Dynamics& d) {
  std::vector<py::ssize_t> shape;
  for (const char* axis = term.shape; *axis != '\0'; ++axis) {
    shape.push_back(*axis == 'b'   ? d.b()
                    : *axis == 'n' ? d.n()
                    : *axis == 'v' ? d.nv()
                    : *axis == 'r' ? 10 * d.body_count()
                                   : *axis - '0');
  }
  return shape;
}

int checked_frame(const Dynamics& d, int frame) {
  if (frame < 0 || frame >= d.frame_count()) throw py::index_error("no such frame");
  return frame;
}

Dynamics& at_state(Dynamics& d, const Numbers& q) {
  d.set_configuration(q.data(d.nq(), "q"));
  return d;
}

Dynamics& at_state(Dynamics& d, const Numbers& q, const Numbers& v) {
  const double* velocity = v.data(d.nv(), "v");
  at_state(d, q).set_velocity(velocity);
  return d;
}

Array term_array(const Term& term, Dynamics& d) {
  Array out(shape_of(term, d));
  term.write(d, 0, out.mutable_data());
  return read_only(std::move(out));
}

Array new_jacobian(const Dynamics& d) { return empty({6, d.nv()}); }
Array new_velocity(const Dynamics& d) { return empty({d.nv()}); }

/// Numbers of a size that are finite; `is_valid` becomes false for others.
const double* finite_data(const MaybeNumbers& numbers, py::ssize_t size, bool& is_valid) {
  if (!numbers) return nullptr;
  const double* data = numbers->finite_data_of_size(size);
  is_valid = is_valid && data != nullptr;
  return data;
}

/// The standard form (false), the decoupled one (true), or frames, first rows and numbers of rows
/// of the Jacobians of a task, the basis (k,nv) and the singular value of TaskForm.
using FormArgument =
    std::variant<bool, std::tuple<std::vector<std::tuple<int, int, int>>, Numbers, double>>;

/// A form of a robot.
struct Form {
  bool is_decoupled = false;
  std::optional<TaskForm> task;

  /// @throws ModelError  the task is of another robot.
  Form(const FormArgument& argument, const Dynamics& d) {
    if (const bool* decoupled_flag = std::get_if<bool>(&argument)) {
      is_decoupled = *decoupled_flag;
      return;
    }
    const auto& [frame_rows, reference, min_sigma] = std::get<1>(argument);
    task = TaskForm{{}, reference.rows(d.nv(), "the basis"), min_sigma};
    Eigen::Index rows = task->reference.rows();
    bool is_valid = rows > 0 && rows < d.nv();
    for (const auto& [frame, first_row, row_count] : frame_rows) {
      task->frame_rows.push_back({checked_frame(d, frame), first_row, row_count});
      is_valid = is_valid && first_row >= 0 && first_row < 6 && row_count > 0 &&
                 row_count <= 6 - first_row;
      rows += is_valid ? row_count : 0;
    }
    if (!is_valid || rows != d.nv()) {
      throw ModelError("rows of the task and its null space must be as many as velocities");
    }
  }
  const TaskForm* task_space() const { return task ? &*task : nullptr; }
};

bool is_configuration(const Dynamics& d, const Numbers& q) {
  const double* data = q.finite_data_of_size(d.nq());
  return data != nullptr && d.is_configuration(data);
}

using Wrenches = std::vector<std::pair<int, Numbers>>;

/// The efforts at one state as Python passes them.
struct EffortArguments {
  const MaybeNumbers &torque, &wrench_base;
  const Wrenches& wrenches;
  const MaybeNumbers &damping, &dry_friction;
  double slip_speed;
  bool has_gravity, has_drag;
};

/// The momenta and efforts of a call at one state.
struct StateArguments {
  bool is_valid;
  const double* momenta;
  std::vector<FrameWrench> wrenches;
  Efforts efforts;

  StateArguments(const Dynamics& d, const Numbers& q, const Numbers& z,
                 const EffortArguments& ports)
      : is_valid(is_configuration(d, q) &&
                 ports.damping.has_value() == ports.dry_friction.has_value()),
        momenta(finite_data(z, d.nv(), is_valid)) {
    for (const auto& [frame, wrench] : ports.wrenches) {
      is_valid = is_valid && frame >= 0 && frame < d.frame_count();
      wrenches.push_back({frame, finite_data(wrench, 6, is_valid)});
    }
    efforts.torque = finite_data(ports.torque, d.n(), is_valid);
    efforts.wrench_base = finite_data(ports.wrench_base, d.b(), is_valid);
    efforts.wrenches = wrenches.data();
    efforts.wrench_count = wrenches.size();
    efforts.damping = finite_data(ports.damping, d.n(), is_valid);
    efforts.dry_friction = finite_data(ports.dry_friction, d.n(), is_valid);
    efforts.slip_speed = ports.slip_speed;
    efforts.has_gravity = ports.has_gravity;
    efforts.has_drag = ports.has_drag;
  }
};

/// An effort for every state, or one for all of them.
struct BatchEffort {
  const double* data = nullptr;
  py::ssize_t stride = 0;

  BatchEffort(const MaybeNumbers& numbers, int size, py::ssize_t count, const char* name) {
    if (numbers) *this = BatchEffort(*numbers, size, count, name);
  }
  BatchEffort(const Numbers& numbers, int size, py::ssize_t count, const char* name)
      : data(numbers.dimensions() == 1 ? numbers.data(size, name)
                                       : numbers.matrix(count, size, name).data()),
        stride(numbers.dimensions() == 1 ? 0 : size) {}
  const double* at(py::ssize_t i) const { return data == nullptr ? nullptr : data + i * stride; }
};

/// Momenta and efforts of many states.
struct BatchArguments {
  static constexpr std::size_t kMaxFrames = 32;
  py::ssize_t count, nv;
  const double *q, *z;
  BatchEffort torque, wrench_base;
  Efforts shared_efforts;
  std::vector<std::pair<int, BatchEffort>> wrenches;

  BatchArguments(const Dynamics& robot, const Numbers& configurations, const Numbers& momenta,
                 const EffortArguments& ports)
      : count(configurations.rows(robot.nq(), "Q").rows()),
        nv(robot.nv()),
        q(configurations.rows(robot.nq(), "Q").data()),
        z(momenta.matrix(count, nv, "Z").data()),
        torque(ports.torque, robot.n(), count, "torque"),
        wrench_base(ports.wrench_base, robot.b(), count, "wrench_base") {
    if (ports.damping.has_value() != ports.dry_friction.has_value()) {
      throw ModelError("viscous and coulomb friction must be given together");
    }
    shared_efforts.damping = ports.damping ? ports.damping->data(robot.n(), "viscous") : nullptr;
    shared_efforts.dry_friction =
        ports.dry_friction ? ports.dry_friction->data(robot.n(), "coulomb") : nullptr;
    shared_efforts.slip_speed = ports.slip_speed;
    shared_efforts.has_gravity = ports.has_gravity;
    shared_efforts.has_drag = ports.has_drag;
    if (ports.wrenches.size() > kMaxFrames) throw ModelError("at most 32 frames may have wrenches");
    for (const auto& [frame, wrench] : ports.wrenches) {
      wrenches.emplace_back(checked_frame(robot, frame), BatchEffort(wrench, 6, count, "a wrench"));
    }
  }

  /// Call `task(d, i, momenta, efforts)` with a robot at the i-th state, on all threads.
  template <class Task>
  void for_each(Batch& batch, Task&& task) const {
    const py::gil_scoped_release without_gil;
    batch.for_each(static_cast<std::size_t>(count), [&](Dynamics& d, std::size_t state) {
      const auto i = static_cast<py::ssize_t>(state);
      FrameWrench frame_wrenches[kMaxFrames];
      Efforts efforts = shared_efforts;
      efforts.torque = torque.at(i);
      efforts.wrench_base = wrench_base.at(i);
      efforts.wrenches = frame_wrenches;
      efforts.wrench_count = wrenches.size();
      for (std::size_t k = 0; k < wrenches.size(); ++k) {
        frame_wrenches[k] = {wrenches[k].first, wrenches[k].second.at(i)};
      }
      d.set_configuration(q + i * d.nq());
      task(d, i, z + i * nv, efforts);
    });
  }
};

/// New arrays of the derivatives of rates, in the order of Python's, each of `count` states or of
/// one for a negative number.
struct DerivativeArrays {
  std::vector<Array> arrays;
  std::vector<double*> data;
  std::vector<py::ssize_t> sizes;

  DerivativeArrays(const Dynamics& d, bool has_parameters, py::ssize_t count) {
    const py::ssize_t nv = d.nv(), parameter_count = has_parameters ? 10 * d.body_count() : 0;
    for (const py::ssize_t width : {nv, nv, parameter_count, nv, nv, nv, parameter_count}) {
      arrays.push_back(count >= 0 ? empty({count, nv, width}) : empty({nv, width}));
      data.push_back(arrays.back().mutable_data());
      sizes.push_back(nv * width);
    }
  }
  RateDerivatives at(py::ssize_t i) const {
    const auto data_of = [&](std::size_t k) {
      return sizes[k] == 0 ? nullptr : data[k] + i * sizes[k];
    };
    return {data_of(0), data_of(1), data_of(3), data_of(4), data_of(5), data_of(2), data_of(6)};
  }
  py::tuple tuple() {
    py::tuple result(arrays.size());
    for (std::size_t k = 0; k < arrays.size(); ++k) result[k] = read_only(std::move(arrays[k]));
    return result;
  }
};

/// Functions of the efforts, of which Python passes the fields of EffortArguments.
template <class... Fields>
struct RateFunctions {
  /// The rates of a form; None where an argument is not valid, for Python to say why.
  static py::object rate(Dynamics& d, bool is_decoupled, const Numbers& q, const Numbers& z,
                         Fields... fields) {
    const StateArguments arguments(d, q, z, {fields...});
    if (!arguments.is_valid) return py::none();
    at_state(d, q);
    Array qdot = new_velocity(d), zdot = new_velocity(d);
    d.rates(is_decoupled, arguments.momenta, arguments.efforts, qdot.mutable_data(),
            zdot.mutable_data());
    // Where masses differ so much that the recursion loses all digits, Python solves with M itself.
    const auto is_finite = [&](const Array& values) {
      return Eigen::Map<const Eigen::VectorXd>(values.data(), d.nv()).allFinite();
    };
    if (!is_finite(qdot) || !is_finite(zdot)) return py::none();
    return py::make_tuple(std::move(qdot), std::move(zdot));
  }

  /// Their derivatives; None likewise.
  static py::object rate_derivatives(Dynamics& d, const FormArgument& argument, bool has_parameters,
                                     const Numbers& q, const Numbers& z, Fields... fields) {
    const StateArguments arguments(d, q, z, {fields...});
    const Form form(argument, d);
    if (!arguments.is_valid) return py::none();
    DerivativeArrays arrays(d, has_parameters, -1);
    const bool is_regular = at_state(d, q).rate_derivatives(
        form.is_decoupled, arguments.momenta, arguments.efforts, arrays.at(0), form.task_space());
    return is_regular ? py::object(arrays.tuple()) : py::none();
  }

  /// The same of many states.
  static py::tuple batch_rates(Batch& batch, bool is_decoupled, const Numbers& q, const Numbers& z,
                               Fields... fields) {
    const BatchArguments states(batch.first_workspace(), q, z, {fields...});
    Array qdot = empty({states.count, states.nv}), zdot = empty({states.count, states.nv});
    double *qdot_rows = qdot.mutable_data(), *zdot_rows = zdot.mutable_data();
    states.for_each(
        batch, [=](Dynamics& d, py::ssize_t i, const double* z_i, const Efforts& efforts) {
          d.rates(is_decoupled, z_i, efforts, qdot_rows + i * d.nv(), zdot_rows + i * d.nv());
        });
    return py::make_tuple(read_only(std::move(qdot)), read_only(std::move(zdot)));
  }

  static py::object batch_derivatives(Batch& batch, const FormArgument& argument,
                                      bool has_parameters, const Numbers& q, const Numbers& z,
                                      Fields... fields) {
    const BatchArguments states(batch.first_workspace(), q, z, {fields...});
    const Form form(argument, batch.first_workspace());
    DerivativeArrays arrays(batch.first_workspace(), has_parameters, states.count);
    std::atomic<bool> is_regular{true};
    states.for_each(batch, [&](Dynamics& d, py::ssize_t i, const double* z_i,
                               const Efforts& efforts) {
      if (!d.rate_derivatives(form.is_decoupled, z_i, efforts, arrays.at(i), form.task_space())) {
        is_regular = false;
      }
    });
    return is_regular ? py::object(arrays.tuple()) : py::none();
  }
};
using RateBindings = RateFunctions<const MaybeNumbers&, const MaybeNumbers&, const Wrenches&,
                                   const MaybeNumbers&, const MaybeNumbers&, double, bool, bool>;

py::object energy_derivatives(Dynamics& d, const FormArgument& argument, const Numbers& q,
                              const Numbers& z, bool has_gravity) {
  const Form form(argument, d);
  const double* momenta = z.finite_data_of_size(d.nv());
  if (momenta == nullptr || !is_configuration(d, q)) return py::none();
  Array by_q = new_velocity(d), by_z = new_velocity(d),
        by_parameters = empty({10 * d.body_count()});
  if (!at_state(d, q).energy_derivatives(form.is_decoupled, momenta, has_gravity,
                                         by_q.mutable_data(), by_z.mutable_data(),
                                         by_parameters.mutable_data(), form.task_space())) {
    return py::none();
  }
  return py::make_tuple(read_only(by_q), read_only(by_z), read_only(by_parameters));
}

Array copy_of(const double* x, py::ssize_t size) { return read_only(Array(size, x)); }

Array as_array(const Screw& s) {
  Array out = empty({6});
  write_screw(s, out.mutable_data());
  return read_only(std::move(out));
}

Array placement(Dynamics& d, const Numbers& q, int frame) {
  Eigen::Matrix3d rotation;
  Eigen::Vector3d origin;
  at_state(d, q).placement(checked_frame(d, frame), rotation, origin);
  Array out = empty({4, 4});
  Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> pose(out.mutable_data());
  pose.setIdentity();
  pose.topLeftCorner<3, 3>() = rotation;
  pose.topRightCorner<3, 1>() = origin;
  return read_only(std::move(out));
}

Array mass_rates(Dynamics& d, const Numbers& q, const Numbers& directions) {
  const auto velocities = directions.rows(d.nv(), "velocities");
  at_state(d, q);
  Array out = empty({velocities.rows(), d.nv(), d.nv()});
  for (Eigen::Index k = 0; k < velocities.rows(); ++k) {
    d.mass_rate(velocities.data() + k * d.nv(), out.mutable_data(k));
  }
  return read_only(std::move(out));
}

void bind_dynamics_class(py::module_& module) {
  py::class_<Dynamics> dynamics(module, "Dynamics",
                                "The terms behind vms_ph_dynamics.Evaluation and the rates of the "
                                "forms; a workspace of one thread.");
  dynamics.def(py::init<const Model&>(), "model"_a);
  for (const Term& term : kTerms) {
    if (term.method == nullptr) continue;
    if (term.depends_on_speed) {
      const auto at_motion = [&term](Dynamics& d, const Numbers& q, const Numbers& v) {
        return term_array(term, at_state(d, q, v));
      };
      dynamics.def(term.method, at_motion, "q"_a, "v"_a);
    } else {
      dynamics.def(
          term.method,
          [&term](Dynamics& d, const Numbers& q) { return term_array(term, at_state(d, q)); },
          "q"_a);
    }
  }
  dynamics
      .def(
          "potential_energy",
          [](Dynamics& d, const Numbers& q) { return at_state(d, q).potential_energy(); }, "q"_a)
      .def(
          "kinetic_energy",
          [](Dynamics& d, const Numbers& q, const Numbers& v) {
            return at_state(d, q, v).kinetic_energy();
          },
          "q"_a, "v"_a)
      .def(
          "jacobian",
          [](Dynamics& d, const Numbers& q, int frame, bool is_inertial) {
            Array out = new_jacobian(d);
            at_state(d, q).jacobian(checked_frame(d, frame), is_inertial, out.mutable_data());
            return out;
          },
          "q"_a, "frame"_a, "inertial"_a)
      .def(
          "jacobian_rate",
          [](Dynamics& d, const Numbers& q, const Numbers& v, int frame, bool is_inertial) {
            Array out = new_jacobian(d);
            at_state(d, q, v).jacobian_rate(checked_frame(d, frame), is_inertial,
                                            out.mutable_data());
            return out;
          },
          "q"_a, "v"_a, "frame"_a, "inertial"_a)
      .def(
          "momenta",
          [](Dynamics& d, const Numbers& q, const Numbers& v) {
            const Momenta momenta = at_state(d, q, v).momenta();
            return py::make_tuple(copy_of(momenta.centre_of_mass.data(), 3),
                                  as_array(momenta.centroidal), as_array(momenta.spatial));
          },
          "q"_a, "v"_a, "Return centre of mass, centroidal and spatial momentum.")
      .def("placement", &placement, "q"_a, "frame"_a,
           "Return the pose of a frame in the inertial one, (4,4).")
      .def("mass_rates", &mass_rates, "q"_a, "velocities"_a,
           "Return the rates of the mass matrix along velocities.")
      .def(
          "velocity",
          [](Dynamics& d, bool is_decoupled, const Numbers& q, const Numbers& z) {
            Array out = new_velocity(d);
            at_state(d, q).velocity(is_decoupled, z.data(d.nv(), "z"), out.mutable_data());
            return out;
          },
          "decoupled"_a, "q"_a, "z"_a, "Return the velocity of the momenta of a form.")
      .def(
          "state",
          [](Dynamics& d, const Numbers& q, const Numbers& v) -> py::object {
            const double* velocity = v.finite_data_of_size(d.nv());
            if (velocity == nullptr || !is_configuration(d, q)) return py::none();
            return py::make_tuple(copy_of(q.data(d.nq(), "q"), d.nq()), copy_of(velocity, d.nv()));
          },
          "q"_a, "v"_a, "Return read-only copies of a state, or None if it is not one.")
      .def("rate", &RateBindings::rate, "decoupled"_a, "q"_a, "z"_a, "torque"_a, "wrench_base"_a,
           "wrenches"_a, "viscous"_a, "coulomb"_a, "slip"_a, "gravity"_a, "drag"_a,
           "Return the rates (nv,) of configuration and momenta, or None for arguments that are "
           "not valid.")
      .def("rate_derivatives", &RateBindings::rate_derivatives, "form"_a, "parameters"_a, "q"_a,
           "z"_a, "torque"_a, "wrench_base"_a, "wrenches"_a, "viscous"_a, "coulomb"_a, "slip"_a,
           "gravity"_a, "drag"_a, "Return the seven derivatives of these rates, or None.")
      .def("energy_derivatives", &energy_derivatives, "form"_a, "q"_a, "z"_a, "gravity"_a,
           "Return the derivatives of the Hamiltonian by q, z and parameters, or None.");
}

py::dict evaluate(Batch& batch, const Numbers& q, const Numbers& v,
                  const std::vector<std::string>& names, int frame) {
  const Dynamics& robot = batch.first_workspace();
  const auto configurations = q.rows(robot.nq(), "Q");
  const Eigen::Index count = configurations.rows();
  const auto velocities = v.matrix(count, robot.nv(), "V");
  checked_frame(robot, frame);
  struct TermArray {
    const Term* term;
    Array array;
    double* data;
    py::ssize_t size;
  };
  std::vector<TermArray> outputs;
  for (const std::string& name : names) {
    const Term* term = std::find_if(std::begin(kTerms), std::end(kTerms),
                                    [&](const Term& entry) { return name == entry.name; });
    if (term == std::end(kTerms)) throw ModelError("there is no term '" + name + "'");
    std::vector<py::ssize_t> shape = shape_of(*term, robot);
    shape.insert(shape.begin(), count);
    Array array(shape);
    const py::ssize_t size = array.size() / std::max<py::ssize_t>(1, count);
    outputs.push_back({term, array, array.mutable_data(), size});
  }
  {
    const py::gil_scoped_release without_gil;
    batch.for_each(static_cast<std::size_t>(count), [&](Dynamics& d, std::size_t i) {
      const auto state = static_cast<Eigen::Index>(i);
      d.set_configuration(configurations.data() + state * d.nq());
      d.set_velocity(velocities.data() + state * d.nv());
      for (const TermArray& out : outputs) out.term->write(d, frame, out.data + state * out.size);
    });
  }
  py::dict result;
  for (TermArray& out : outputs) result[out.term->name] = read_only(std::move(out.array));
  return result;
}

void bind_batch(py::module_& module) {
  py::class_<Batch>(module, "Batch", "The robot in as many workspaces as threads.")
      .def(py::init([](const Model& model, std::size_t threads) {
             return std::make_unique<Batch>(model, checked_threads(threads));
           }),
           "model"_a, "threads"_a)
      .def("evaluate", &evaluate, "Q"_a, "V"_a, "terms"_a, "frame"_a,
           "Return arrays of the terms, by name, with an axis of states before their own.")
      .def("rates", &RateBindings::batch_rates, "decoupled"_a, "Q"_a, "Z"_a, "torque"_a,
           "wrench_base"_a, "wrenches"_a, "viscous"_a, "coulomb"_a, "slip"_a, "gravity"_a, "drag"_a,
           "Return the rates of configurations and momenta of a form, (count,nv) each.")
      .def("rate_derivatives", &RateBindings::batch_derivatives, "form"_a, "parameters"_a, "Q"_a,
           "Z"_a, "torque"_a, "wrench_base"_a, "wrenches"_a, "viscous"_a, "coulomb"_a, "slip"_a,
           "gravity"_a, "drag"_a,
           "Return the seven derivatives of these rates, with an axis of states.");
}

}  // namespace

void bind_dynamics(py::module_& module) {
  bind_dynamics_class(module);
  bind_batch(module);
}

}  // namespace vms_ph
