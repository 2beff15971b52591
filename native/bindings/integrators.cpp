// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Time-stepping schemes: steps, long loops of them in C++, and loops with a control in them.
#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/integrators/stepper.hpp"

namespace vms_ph {
namespace {

Scheme make_scheme(const Model& model, const std::string& scheme_name, bool has_gravity,
                   const py::dict& wheels) {
  return {model, make_stepper(scheme_name, model, has_gravity, wheels_of(wheels)), has_gravity,
          scheme_name == "discrete_gradient"};
}

VectorXd vector_or_empty(const MaybeNumbers& numbers, int size, const char* name) {
  // Numbers that are not finite are for the step to report: it fails.
  return numbers ? VectorXd(numbers->vector(size, name)) : VectorXd();
}

StoredPorts make_ports(const Model& model, const MaybeNumbers& torque,
                       const MaybeNumbers& wrench_base, const MaybeNumbers& wrench_end_effector,
                       const MaybeNumbers& damping, const MaybeNumbers& dry_friction,
                       double slip_speed) {
  Ports ports;
  ports.has_efforts = torque || wrench_base || wrench_end_effector || damping;
  ports.torque = vector_or_empty(torque, model.n(), "torque");
  ports.wrench_base = vector_or_empty(wrench_base, model.b(), "wrench_base");
  ports.damping = vector_or_empty(damping, model.n(), "viscous");
  ports.dry_friction = vector_or_empty(dry_friction, model.n(), "coulomb");
  if (ports.dry_friction.size() != ports.damping.size()) {
    throw ModelError("viscous and coulomb friction must be given together");
  }
  ports.slip_speed = slip_speed;
  ports.has_wrench_end_effector = wrench_end_effector.has_value();
  if (ports.has_wrench_end_effector) {
    const auto wrench = wrench_end_effector->vector(6, "wrench_end_effector");
    ports.wrench_end_effector = {wrench.head<3>(), wrench.tail<3>()};
  }
  return StoredPorts(std::move(ports));
}

/// Many runs of one robot under held efforts, divided among threads, with records `stride` steps
/// apart. A run ends before a step that fails; the records after it stay NaN.
py::dict run_batch(const Model& model, const std::string& scheme_name, bool has_gravity,
                   const Numbers& q0, const Numbers& v0, const std::vector<StoredPorts>& ports,
                   double t0, double dt, long steps, long stride, std::size_t threads) {
  const auto q = q0.rows(model.nq(), "Q");
  const Eigen::Index runs = q.rows(), nq = model.nq(), nv = model.nv();
  const auto v = v0.matrix(runs, nv, "V");
  std::vector<const Ports*> run_ports;
  for (const StoredPorts& stored : ports) run_ports.push_back(&stored.checked_for(model));
  const auto run_count = static_cast<std::size_t>(runs);
  constexpr double kMaxRecords = 1e10;
  if ((run_ports.size() != 1 && run_ports.size() != run_count) || stride < 1 || steps < 0 ||
      static_cast<double>(steps / stride) * static_cast<double>(runs) > kMaxRecords) {
    throw ModelError("the sizes of states, efforts or steps differ");
  }
  const Eigen::Index records = steps / stride + (steps % stride > 0 ? 1 : 0) + 1;
  const auto nan_array = [](std::initializer_list<py::ssize_t> shape) {
    Array out = empty(shape);
    std::fill_n(out.mutable_data(), out.size(), std::numeric_limits<double>::quiet_NaN());
    return out;
  };
  Array q_records = nan_array({runs, records, nq}), v_records = nan_array({runs, records, nv});
  Array energy = nan_array({runs, records}), supplied_energy = nan_array({3, runs, records - 1});
  Array dissipated_energy = nan_array({runs, records - 1});
  py::array_t<long> step_counts(runs);
  struct Worker {
    std::unique_ptr<Stepper> stepper;
    std::unique_ptr<Dynamics> dynamics;
  };
  std::vector<Worker> workers;
  const std::size_t thread_count = std::min(checked_threads(threads), run_count);
  for (std::size_t k = 0; k < std::max<std::size_t>(1, thread_count); ++k) {
    workers.push_back(
        {make_stepper(scheme_name, model, has_gravity), std::make_unique<Dynamics>(model)});
  }
  {
    double *q_data = q_records.mutable_data(), *v_data = v_records.mutable_data();
    double *energy_data = energy.mutable_data(), *supplied_data = supplied_energy.mutable_data();
    double* dissipated_data = dissipated_energy.mutable_data();
    long* step_count_data = step_counts.mutable_data();
    const py::gil_scoped_release gil_release;
    parallel_for(run_count, workers.size(), [&](std::size_t worker, std::size_t run) {
      auto& [stepper, dynamics] = workers[worker];
      const auto i = static_cast<Eigen::Index>(run);
      VectorXd q_i = q.row(i), v_i = v.row(i);
      SolverState x = stepper->begin(q_i, v_i, t0), scratch = x;
      const Ports& ports_i = *run_ports[run_ports.size() == 1 ? 0 : run];
      long k = 0;
      for (Eigen::Index record = 0; record < records; ++record) {
        if (record > 0) {
          const long block_steps = std::min(stride, steps - k);
          const MultiStepResult block = stepper->run(x, ports_i, t0, dt, k, block_steps, scratch);
          k += block.steps;
          if (block.steps < block_steps) break;
          const Eigen::Index interval = i * (records - 1) + record - 1;
          for (Eigen::Index port = 0; port < 3; ++port) {
            supplied_data[port * runs * (records - 1) + interval] =
                block.sum.supplied_energy[static_cast<std::size_t>(port)];
          }
          dissipated_data[interval] = block.sum.dissipated_energy;
        }
        stepper->motion(x, q_i, v_i);
        std::copy_n(q_i.data(), nq, q_data + (i * records + record) * nq);
        std::copy_n(v_i.data(), nv, v_data + (i * records + record) * nv);
        dynamics->set_configuration(q_i.data());
        dynamics->set_velocity(v_i.data());
        energy_data[i * records + record] =
            dynamics->kinetic_energy() + (has_gravity ? dynamics->potential_energy() : 0.0);
      }
      step_count_data[i] = k;
    });
  }
  return py::dict("q"_a = q_records, "v"_a = v_records, "energy"_a = energy,
                  "supplied_energy"_a = supplied_energy, "dissipated_energy"_a = dissipated_energy,
                  "steps"_a = step_counts);
}

void bind_scheme(py::module_& module) {
  py::class_<Scheme>(module, "Scheme", "A time-stepping scheme for a robot.")
      .def(py::init(&make_scheme), py::keep_alive<1, 2>(), "model"_a, "name"_a, "gravity"_a = true,
           "wheels"_a = py::dict(),
           "On wheels that do not slip: their radii, m, by the names of the joints that turn them.")
      .def_property_readonly("order", [](const Scheme& self) { return self.stepper->order(); })
      .def(
          "begin",
          [](Scheme& self, const Numbers& q, const Numbers& v, double t) {
            return StoredState(self.stepper->begin(q.vector(self.model.nq(), "q"),
                                                   v.vector(self.model.nv(), "v"), t));
          },
          "q"_a, "v"_a, "t"_a = 0.0,
          "Return the solver state of a motion (q, v) in the inertial frame.")
      .def(
          "motion",
          [](Scheme& self, const StoredState& x) {
            VectorXd q, v;
            self.stepper->motion(x.checked_for(self), q, v);
            return py::make_tuple(q, v);
          },
          "solver_state"_a, "Return (q, v) in the inertial frame.")
      .def(
          "step",
          [](Scheme& self, const StoredState& x, const StoredPorts& efforts, double t, double dt) {
            SolverState next_state = x.checked_for(self);
            const StepResult result = self.stepper->step(
                x.checked_for(self), efforts.checked_for(self.model), t, dt, next_state);
            return py::make_tuple(StoredState(std::move(next_state)), result);
          },
          "solver_state"_a, "ports"_a, "t"_a, "dt"_a,
          "Return the solver state after the step, and its result.")
      .def(
          "run",
          [](Scheme& self, const StoredState& x, const StoredPorts& efforts, double t0, double dt,
             long first_step, long steps) {
            SolverState end_state = x.checked_for(self), scratch = end_state;
            const Ports& ports = efforts.checked_for(self.model);
            MultiStepResult result;
            {
              const py::gil_scoped_release gil_release;
              result = self.stepper->run(end_state, ports, t0, dt, first_step, steps, scratch);
            }
            return py::make_tuple(StoredState(std::move(end_state)), result.sum, result.steps);
          },
          "solver_state"_a, "ports"_a, "t0"_a, "dt"_a, "first_step"_a, "steps"_a,
          "Take steps from t0 + first_step * dt on; return the solver state at the end, the result "
          "of all steps, and their number: fewer where the next one fails.");
}

}  // namespace

std::size_t checked_threads(std::size_t threads) {
  constexpr std::size_t kMaxThreads = 1024;
  if (threads <= kMaxThreads) return threads;
  throw ModelError("at most " + std::to_string(kMaxThreads) +
                   " threads; given: " + std::to_string(threads));
}

const SolverState& StoredState::checked_for(const Scheme& scheme) const {
  const int nv = scheme.model.nv(), n = scheme.model.n();
  if (state_.q.size() != scheme.model.nq() || state_.v.size() != nv ||
      state_.pi.size() != (scheme.is_implicit ? n : 0) ||
      state_.past_steps.unknowns[0].size() != (scheme.is_implicit ? nv + 1 : 0)) {
    throw ModelError("the solver state is of another robot or of another kind of scheme");
  }
  return state_;
}

const Ports& StoredPorts::checked_for(const Model& model) const {
  const auto has_size = [](const VectorXd& effort, int size) {
    return effort.size() == 0 || effort.size() == size;
  };
  if (!has_size(ports_.torque, model.n()) || !has_size(ports_.wrench_base, model.b()) ||
      !has_size(ports_.damping, model.n())) {
    throw ModelError("the efforts are of a robot of another size");
  }
  return ports_;
}

void StoredState::bind(py::module_& module) {
  // A vector of the state, which keeps its size.
  const auto vector_accessors = [](const char* name, VectorXd SolverState::* member) {
    return std::make_pair([member](const StoredState& x) { return VectorXd(x.state_.*member); },
                          [name, member](StoredState& x, const Numbers& numbers) {
                            x.state_.*member = numbers.vector((x.state_.*member).size(), name);
                          });
  };
  const auto q_accessors = vector_accessors("q", &SolverState::q),
             v_accessors = vector_accessors("v", &SolverState::v),
             pi_accessors = vector_accessors("pi", &SolverState::pi);
  py::class_<StoredState>(module, "SolverState", "State of a scheme between steps.")
      .def("__copy__", [](const StoredState& x) { return StoredState(x); })
      .def_property("q", q_accessors.first, q_accessors.second)
      .def_property("v", v_accessors.first, v_accessors.second)
      .def_property("pi", pi_accessors.first, pi_accessors.second)
      .def_property("fall",
                    py::cpp_function([](StoredState& x) -> Fall& { return x.state_.fall; },
                                     py::return_value_policy::reference_internal),
                    [](StoredState& x, const Fall& fall) { x.state_.fall = fall; })
      .def_property(
          "angular_momentum", [](const StoredState& x) { return x.state_.angular_momentum; },
          [](StoredState& x, const Eigen::Vector3d& l) { x.state_.angular_momentum = l; })
      .def_property(
          "compensated_energy",
          [](const StoredState& x) {
            return py::make_tuple(x.state_.energy.value, x.state_.energy.remainder);
          },
          [](StoredState& x, std::pair<double, double> energy) {
            x.state_.energy = {energy.first, energy.second};
          })
      .def_property(
          "t", [](const StoredState& x) { return x.state_.t; },
          [](StoredState& x, double t) { x.state_.t = t; })
      .def_property(
          "past_steps",
          [](const StoredState& x) {
            py::list points;
            const PastSteps& past_steps = x.state_.past_steps;
            for (int i = 0; i < past_steps.count; ++i) {
              const auto k = static_cast<std::size_t>(i);
              points.append(py::make_tuple(past_steps.times[k], past_steps.unknowns[k]));
            }
            return points;
          },
          [](StoredState& x, const std::vector<std::pair<double, Numbers>>& points) {
            PastSteps past_steps = x.state_.past_steps;
            past_steps.count = 0;
            for (const auto& [t, unknown] : points) {
              past_steps.append(t, unknown.vector(past_steps.unknowns[0].size(), "a past step"));
            }
            x.state_.past_steps = std::move(past_steps);
          });
}

void StoredPorts::bind(py::module_& module) {
  py::class_<StoredPorts>(module, "Ports", "Efforts held over a step.")
      .def(py::init(&make_ports), "model"_a, "torque"_a = py::none(), "wrench_base"_a = py::none(),
           "wrench_end_effector"_a = py::none(), "viscous"_a = py::none(), "coulomb"_a = py::none(),
           "slip"_a = 1.0);
}

namespace {
/// A Python function, from q (nq,), v (nv,) and dt to an object with torque and base wrench.
class PythonControl final : public Control {
 public:
  PythonControl(py::object function, const CommandEfforts& initial_efforts)
      : function_(std::move(function)) {
    command_.torque = initial_efforts.torque;
    command_.wrench_base = initial_efforts.wrench_base;
  }

  const Command* update(const RobotState& state, double dt) noexcept override {
    try {
      const py::object command = function_(state.q, state.v, dt);
      read_vector(command.attr("torque"), command_.torque, "torque");
      read_vector(command.attr("wrench_base"), command_.wrench_base, "wrench_base");
      return &command_;
    } catch (...) {
      error = std::current_exception();
      return nullptr;
    }
  }

  std::exception_ptr error;  ///< raised by the last call

 private:
  static void read_vector(const py::object& source, VectorXd& vector, const char* name) {
    if (source.is_none()) return void(vector.setZero());
    py::detail::make_caster<Numbers> numbers;
    if (!numbers.load(source, true)) throw ModelError(std::string(name) + " must be numbers");
    vector = py::detail::cast_op<const Numbers&>(numbers).vector(vector.size(), name);
  }

  py::object function_;
  Command command_;
};

/// A loop with its scheme, which must outlive it.
struct SchemeLoop {
  Scheme& scheme;
  ClosedLoop loop;

  SchemeLoop(Scheme& loop_scheme, double rounding_energy)
      : scheme(loop_scheme),
        loop(loop_scheme.model, *loop_scheme.stepper, loop_scheme.has_gravity, rounding_energy) {}

  CommandEfforts initial_command(const Numbers& torque, const Numbers& wrench_base) const {
    return {torque.vector(scheme.model.n(), "torque"),
            wrench_base.vector(scheme.model.b(), "wrench_base")};
  }
};

py::tuple loop_tuple(SolverState&& end_state, LoopResult&& result, py::object error) {
  return py::make_tuple(StoredState(std::move(end_state)), result.total.sum, result.total.steps,
                        std::move(result.last_command.torque),
                        std::move(result.last_command.wrench_base),
                        std::move(result.next_command.torque),
                        std::move(result.next_command.wrench_base), std::move(error));
}

/// An exception as an object, to be raised once the steps before it are recorded; or None.
py::object exception_object(const std::exception_ptr& error) {
  if (!error) return py::none();
  try {
    std::rethrow_exception(error);
  } catch (const py::error_already_set& exception) {
    return exception.value();
  } catch (const std::exception& exception) {
    return py::reinterpret_borrow<py::object>(PyExc_ValueError)(exception.what());
  }
}

using MaybeVector3 = std::optional<Eigen::Vector3d>;
using MaybeVector6 = std::optional<Eigen::Matrix<double, 6, 1>>;

/// Steps under a law; position to wrench are the parts of its constant reference.
py::tuple run_law(SchemeLoop& self, Controller& law, const MaybeVector3& position,
                  const MaybeVector3& velocity, const std::optional<Eigen::Matrix4d>& pose,
                  const MaybeVector6& twist, const MaybeNumbers& joints, const MaybeVector6& wrench,
                  const StoredState& x, const StoredPorts& external_ports,
                  const Numbers& first_torque, const Numbers& first_wrench_base, double t0,
                  double dt, long first_step, long steps) {
  Reference reference{position, velocity, pose, twist, {}, joints.has_value(), wrench};
  if (joints) reference.joints = joints->any_vector();
  SolverState end_state = x.checked_for(self.scheme), scratch = end_state;
  const Ports& ports = external_ports.checked_for(self.scheme.model);
  LoopResult result;
  result.next_command = result.last_command = self.initial_command(first_torque, first_wrench_base);
  ConstantReference control(law, reference);
  {
    const py::gil_scoped_release gil_release;
    self.loop.run(control, end_state, scratch, ports, t0, dt, first_step, steps, result);
  }
  if (!result.sizes_match) throw ModelError("the law is for a robot of another size");
  return loop_tuple(std::move(end_state), std::move(result), py::none());
}

py::tuple run_function(SchemeLoop& self, const py::object& function, const StoredState& x,
                       const StoredPorts& external_ports, const Numbers& first_torque,
                       const Numbers& first_wrench_base, double t0, double dt, long first_step,
                       long steps) {
  SolverState end_state = x.checked_for(self.scheme), scratch = end_state;
  LoopResult result;
  result.next_command = result.last_command = self.initial_command(first_torque, first_wrench_base);
  PythonControl control(function, result.next_command);
  self.loop.run(control, end_state, scratch, external_ports.checked_for(self.scheme.model), t0, dt,
                first_step, steps, result);
  return loop_tuple(std::move(end_state), std::move(result), exception_object(control.error));
}

void bind_closed_loop(py::module_& module) {
  py::class_<SchemeLoop>(module, "ClosedLoop", "A scheme with a control in its loop.")
      .def(py::init<Scheme&, double>(), py::keep_alive<1, 2>(), "scheme"_a, "rounding_energy"_a)
      .def("run", &run_law, "law"_a, "position"_a, "velocity"_a, "pose"_a, "twist"_a, "joints"_a,
           "wrench"_a, "solver_state"_a, "external_ports"_a, "torque"_a, "wrench_base"_a, "t0"_a,
           "dt"_a, "first_step"_a, "steps"_a,
           "Take steps under a law. Return solver state, result, number of steps, torque "
           "and base wrench of the law over the last step and after it, and None.")
      .def("run_function", &run_function, "function"_a, "solver_state"_a, "external_ports"_a,
           "torque"_a, "wrench_base"_a, "t0"_a, "dt"_a, "first_step"_a, "steps"_a,
           "The same under a function of q, v and dt; the last element is its exception, or None.");
}

}  // namespace

void bind_integrators(py::module_& module) {
  py::class_<Fall>(module, "Fall", "Free motion of the centre of mass.")
      .def_readwrite("start_time", &Fall::start_time)
      .def_readwrite("centre_of_mass", &Fall::centre_of_mass)
      .def_readwrite("linear_momentum", &Fall::linear_momentum)
      .def_readonly("mass", &Fall::mass)
      .def_readonly("gravity", &Fall::gravity);
  StoredState::bind(module);
  StoredPorts::bind(module);
  py::class_<StepResult>(module, "StepResult", "Energies and outcome of a step, or of many.")
      .def_readonly("supplied_energy", &StepResult::supplied_energy)
      .def_readonly("dissipated_energy", &StepResult::dissipated_energy)
      .def_readonly("iterations", &StepResult::iterations)
      .def_property_readonly("failed",
                             [](const StepResult& self) { return self.failure != Failure::none; })
      .def_property_readonly("reason", &StepResult::reason);
  bind_scheme(module);
  module.def("run_batch", &run_batch, "model"_a, "scheme"_a, "gravity"_a, "Q"_a, "V"_a, "ports"_a,
             "t0"_a, "dt"_a, "steps"_a, "stride"_a, "threads"_a,
             "Return q (N,K,nq), v (N,K,nv), energy (N,K), supplied_energy (3,N,K-1), "
             "dissipated_energy (N,K-1) "
             "of N runs recorded at K instants, and the steps that each has taken.");
  module.def(
      "pinocchio_rk4",
      [](const Model& model, const Numbers& q0, const Numbers& v0, double dt, int steps) {
        VectorXd q = q0.vector(model.nq(), "q"), v = v0.vector(model.nv(), "v");
        pinocchio_rk4(model, q, v, dt, steps);
        return py::make_tuple(q, v);
      },
      "model"_a, "q"_a, "v"_a, "dt"_a, "steps"_a);
  bind_closed_loop(module);
}

}  // namespace vms_ph
