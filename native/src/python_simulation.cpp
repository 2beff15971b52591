// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/python_simulation.hpp"

#include <cmath>
#include <utility>

#include "python_interpreter.hpp"
#include "python_task.hpp"

namespace py = pybind11;

namespace vms_ph {
namespace {

using Vector = Eigen::Map<Eigen::VectorXd>;

class SimulationTask final : public PythonTask {
 public:
  enum Job { kReset, kStep };

  SimulationTask(PythonRobot robot, PythonSimulationOptions simulation, PythonOptions options)
      : PythonTask(std::move(options)),
        robot_(std::move(robot)),
        simulation_(std::move(simulation)) {}

  // Used by the caller while it owns the buffers.
  PythonSizes sizes;
  double *inputs = nullptr, *outputs = nullptr;

 private:
  void load() override {
    const auto make_model =
        py::module_::import("vms_ph_controllers.hosting.hosted_controller").attr("make_model");
    const auto module = py::module_::import("vms_ph_dynamics.simulation.hosted");
    py::list start;
    for (const double value : simulation_.start) start.append(value);
    hosted_ =
        module.attr("HostedSimulation")(make_model(*arguments(robot_)), start, simulation_.step,
                                        simulation_.scheme, simulation_.friction);
    sizes = sizes_of(hosted_.attr("model"));
    inputs = numbers_of(hosted_.attr("inputs"));
    outputs = numbers_of(hosted_.attr("outputs"));
  }

  void work(int job) override { hosted_.attr(job == kReset ? "reset" : "step")(); }

  void unload() override { hosted_ = py::object(); }

  PythonRobot robot_;
  PythonSimulationOptions simulation_;
  py::object hosted_;
};

}  // namespace

class PythonSimulation::Hosted {
 public:
  Hosted(std::unique_ptr<SimulationTask> made, const PythonSimulationOptions& simulation,
         const PythonOptions& options)
      : task(*made),
        worker(std::move(made), options.load_timeout, options.priority),
        step_(simulation.step),
        timeout_(simulation.timeout) {
    motion.q = Eigen::VectorXd::Zero(task.sizes.nq);
    motion.v = Eigen::VectorXd::Zero(task.sizes.nv);
    read();
  }

  bool reset() noexcept {
    const Deadline deadline = Deadline::in(timeout_);
    due_ = 0.0;
    return settled(deadline) && done(SimulationTask::kReset, deadline);
  }

  bool step(const Eigen::VectorXd& wrench_base, const Eigen::VectorXd& torque, double dt) noexcept {
    const int b = task.sizes.b, nv = task.sizes.nv;
    if (wrench_base.size() != b || torque.size() != nv - b || !wrench_base.allFinite() ||
        !torque.allFinite() || !(dt >= 0.0 && dt < 1e6)) {
      reason = "the efforts or the time step are not finite or do not fit this robot";
      return false;
    }
    const Deadline deadline = Deadline::in(timeout_);
    due_ += dt;
    if (!settled(deadline)) return false;
    // Periods that add up to a whole number of steps must not lose a step by rounding.
    const double steps = std::floor(due_ / step_ + 1e-6);
    if (steps < 1.0) return true;
    due_ -= steps * step_;
    Vector(task.inputs, b) = wrench_base;
    Vector(task.inputs + b, nv - b) = torque;
    task.inputs[nv] = steps;
    return done(SimulationTask::kStep, deadline);
  }

  SimulationTask& task;
  Worker worker;
  SimulatedMotion motion;
  const char* reason = "";

 private:
  bool settled(const Deadline& deadline) noexcept {
    reason = "";
    if (worker.settle(deadline) != Worker::Outcome::late) return true;
    reason = "the simulator is still busy with an earlier step";
    return false;
  }

  bool done(SimulationTask::Job job, const Deadline& deadline) noexcept {
    switch (worker.run(job, deadline)) {
      case Worker::Outcome::late:
        reason = "the simulator did not answer in time";
        return false;
      case Worker::Outcome::failed:
        reason = "the simulation cannot be continued, see the log";
        return false;
      case Worker::Outcome::done:
        break;
    }
    read();
    return true;
  }

  void read() noexcept {
    const double* next = task.outputs;
    for (double& value : motion.q) value = *next++;
    for (double& value : motion.v) value = *next++;
    for (double* value :
         {&motion.time, &motion.kinetic, &motion.potential, &motion.torque_energy,
          &motion.wrench_base_energy, &motion.wrench_end_effector_energy, &motion.dissipated}) {
      *value = *next++;
    }
  }

  double step_, timeout_;
  double due_ = 0.0;  // requested time that has not been simulated yet, s
};

PythonSimulation::PythonSimulation(const PythonRobot& robot,
                                   const PythonSimulationOptions& simulation,
                                   const PythonOptions& options) {
  const WithoutLock without;
  start_python();
  try {
    hosted_ = std::make_unique<Hosted>(std::make_unique<SimulationTask>(robot, simulation, options),
                                       simulation, options);
  } catch (const std::exception& error) {
    throw PythonError(std::string("the simulator is not available: ") + error.what());
  }
}

PythonSimulation::~PythonSimulation() {
  const WithoutLock without;
  hosted_.reset();
}

int PythonSimulation::b() const { return hosted_->task.sizes.b; }
int PythonSimulation::n() const { return hosted_->task.sizes.n; }
int PythonSimulation::nq() const { return hosted_->task.sizes.nq; }
int PythonSimulation::nv() const { return hosted_->task.sizes.nv; }
const std::vector<std::string>& PythonSimulation::joint_names() const {
  return hosted_->task.sizes.joint_names;
}

bool PythonSimulation::reset() noexcept { return hosted_->reset(); }
bool PythonSimulation::step(const Eigen::VectorXd& wrench_base, const Eigen::VectorXd& torque,
                            double dt) noexcept {
  return hosted_->step(wrench_base, torque, dt);
}

const SimulatedMotion& PythonSimulation::motion() const noexcept { return hosted_->motion; }
const char* PythonSimulation::reason() const noexcept { return hosted_->reason; }
std::string PythonSimulation::log() const { return hosted_->worker.log(); }

}  // namespace vms_ph
