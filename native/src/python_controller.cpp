// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/python_controller.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "python_task.hpp"

namespace vms_ph {
namespace {

using Numbers = Eigen::Map<Eigen::VectorXd>;
using Flags = Eigen::Map<Eigen::Matrix<unsigned char, Eigen::Dynamic, 1>>;

constexpr std::size_t kReasonSize = 256;

/// The entries of a vector, or those of a matrix row by row.
template <class Matrix>
py::object list_of(const Matrix& values) {
  return py::cast(values).attr("tolist")();
}

/// The sizes of a vms_ph_dynamics.VMSModel.
struct PythonSizes {
  int b = 0, n = 0, nq = 0, nv = 0;
  std::vector<std::string> joint_names;
};
PythonSizes sizes_of(const py::object& model) {
  return {model.attr("b").cast<int>(), model.attr("n").cast<int>(), model.attr("nq").cast<int>(),
          model.attr("nv").cast<int>(), model.attr("joint_names").cast<std::vector<std::string>>()};
}

/// The numbers of an array that Python and C++ share, which must not be resized.
double* numbers_of(const py::object& array) { return py::array_t<double>(array).mutable_data(); }

/// The arguments of VMSModel.from_urdf in the order of
/// vms_ph_controllers.hosting.hosted_controller.make_model.
py::tuple model_arguments(const PythonRobot& robot) {
  const auto& g = robot.gravity;
  py::list immersed_bodies;
  for (const auto& body : robot.fluid.bodies) {
    immersed_bodies.append(py::make_tuple(body.link, list_of(body.added_mass), body.volume,
                                          list_of(body.centre_of_buoyancy),
                                          list_of(body.linear_drag), list_of(body.quadratic_drag)));
  }
  return py::make_tuple(robot.urdf, robot.base, robot.end_effector,
                        py::tuple(py::cast(robot.locked_joints)), py::make_tuple(g[0], g[1], g[2]),
                        immersed_bodies, robot.fluid.density);
}

/// Arguments of vms_ph_dynamics.actuation.allocation.Allocation.of_matrix; None without actuators.
py::object allocation_of(const PythonRobot& robot) {
  const PythonAllocation& actuators = robot.allocation;
  if (actuators.matrix.cols() == 0) return py::none();
  return py::make_tuple(list_of(actuators.matrix), list_of(actuators.lower_limits),
                        list_of(actuators.upper_limits));
}

// A part of an array that Python and C++ share.
struct Slice {
  Eigen::Index start = 0, size = 0;

  template <class Array>
  auto segment(Array& array) const {
    return array.segment(start, size);
  }
};

// vms_ph_controllers.hosting.hosted_controller defines names, sizes and offsets.
class LayoutReader {
 public:
  LayoutReader(const py::object& controller, const char* array_name)
      : layout_(controller.attr("layout")[array_name]), slices_(layout_.attr("parts")()) {}

  Eigen::Index size() const { return layout_.attr("size").cast<Eigen::Index>(); }

  // The part with a name, which must have this size.
  Slice operator()(const char* name, Eigen::Index size) const {
    Slice slice;
    if (slices_.contains(name)) {
      std::tie(slice.start, slice.size) =
          slices_[name].cast<std::pair<Eigen::Index, Eigen::Index>>();
    }
    if (!slices_.contains(name) || slice.size != size) {
      throw PythonError(
          std::string("vms_ph_controllers is of another version than this library: ") + name +
          " must have " + std::to_string(size) + " numbers, not " + std::to_string(slice.size) +
          "; rebuild the library");
    }
    return slice;
  }

 private:
  py::object layout_;
  py::dict slices_;
};

struct InputLayout {
  Eigen::Index size = 0;
  Slice q, v, dt, age, measured_wrench, position, velocity, pose, twist, joints, wrench;
};

struct FlagLayout {
  Eigen::Index size = 0;
  Slice position, velocity, pose, twist, joints, wrench, missed_updates;
};

struct OutputLayout {
  Eigen::Index size = 0;
  Slice wrench_base, torque, safe_wrench_base, safe_torque, energy;
  Slice task_error, smallest_singular_value, authority, status;
};

InputLayout read_inputs(const py::object& hosted, const PythonSizes& robot) {
  const LayoutReader slot(hosted, "inputs");
  return {slot.size(),         slot("q", robot.nq),     slot("v", robot.nv),
          slot("dt", 1),       slot("age", 1),          slot("measured_wrench", 6),
          slot("position", 3), slot("velocity", 3),     slot("pose", 16),
          slot("twist", 6),    slot("joints", robot.n), slot("wrench", 6)};
}

FlagLayout read_flags(const py::object& hosted) {
  const LayoutReader slot(hosted, "flags");
  return {slot.size(),      slot("position", 1), slot("velocity", 1), slot("pose", 1),
          slot("twist", 1), slot("joints", 1),   slot("wrench", 1),   slot("missed_updates", 1)};
}

OutputLayout read_outputs(const py::object& hosted, const PythonSizes& robot) {
  const LayoutReader slot(hosted, "outputs");
  return {slot.size(),
          slot("wrench_base", robot.b),
          slot("torque", robot.n),
          slot("safe_wrench_base", robot.b),
          slot("safe_torque", robot.n),
          slot("energy", static_cast<Eigen::Index>(std::size(kControlEnergyFields))),
          slot("task_error", 1),
          slot("smallest_singular_value", 1),
          slot("authority", 1),
          slot("status", 1)};
}

// The requested value of a gain, and whether Python has it yet.
struct GainSlot {
  explicit GainSlot(Gain description) : gain(std::move(description)), value(gain.value) {}
  const Gain gain;
  std::atomic<double> value;
  std::atomic<bool> is_changed{false};
};

// Truncate to a size without splitting a UTF-8 character.
void copy_reason(char (&target)[kReasonSize], const char* text, std::size_t size) {
  std::size_t end = std::min(size, kReasonSize - 1);
  while (end < size && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  std::memcpy(target, text, end);
  target[end] = '\0';
}

class ControllerTask final : public PythonTask {
 public:
  enum Job { kReset, kUpdate };

  ControllerTask(std::string class_path, PythonRobot robot, PythonOptions options)
      : PythonTask(std::move(options)),
        class_path_(std::move(class_path)),
        robot_(std::move(robot)) {}

  // Used by the caller while it owns the buffers.
  PythonSizes sizes;
  InputLayout input_slots;
  FlagLayout flag_slots;
  OutputLayout output_slots;
  std::vector<std::unique_ptr<GainSlot>> gain_slots;
  Numbers inputs{nullptr, 0}, outputs{nullptr, 0};
  Flags flag_array{nullptr, 0};
  char reason[kReasonSize] = "";

 private:
  void load() override {
    const auto hosting = py::module_::import("vms_ph_controllers.hosting.hosted_controller");
    const auto energies = py::cast<std::vector<std::string>>(hosting.attr("ENERGIES"));
    const auto& core_fields = kControlEnergyFields;
    for (std::size_t k = 0; k < std::max(energies.size(), std::size(core_fields)); ++k) {
      if (energies.size() != std::size(core_fields) || energies[k] != core_fields[k].name) {
        throw PythonError(
            "vms_ph_controllers is of another version than this library: the energy "
            "records differ; rebuild the library");
      }
    }
    hosted_controller_ = hosting.attr("make_hosted")(class_path_, model_arguments(robot_),
                                                     robot_.base_actuated, allocation_of(robot_));
    sizes = sizes_of(hosted_controller_.attr("model"));
    update_ = hosted_controller_.attr("update");
    reset_ = hosted_controller_.attr("reset");
    input_slots = read_inputs(hosted_controller_, sizes);
    flag_slots = read_flags(hosted_controller_);
    output_slots = read_outputs(hosted_controller_, sizes);
    // Placement new is Eigen's way to change the address of a map.
    new (&inputs) Numbers(numbers_of(hosted_controller_.attr("inputs")), input_slots.size);
    new (&outputs) Numbers(numbers_of(hosted_controller_.attr("outputs")), output_slots.size);
    auto flags = py::array_t<unsigned char>(hosted_controller_.attr("flags"));
    new (&flag_array) Flags(flags.mutable_data(), flag_slots.size);
    for (const auto& description : hosted_controller_.attr("gains")()) {
      using Row = std::tuple<std::string, std::string, double, double, double, double, bool>;
      const auto [name, text, value, low, high, initial, is_switch] = py::cast<Row>(description);
      gain_slots.push_back(
          std::make_unique<GainSlot>(Gain{name, text, value, low, high, initial, is_switch}));
    }
  }

  void work(int job) override {
    for (const auto& gain_slot : gain_slots) {
      if (gain_slot->is_changed.exchange(false)) apply_gain(*gain_slot);
    }
    if (job == kReset) {
      reset_();
      if (!safe_output_is_finite()) throw PythonError("the safe output is not finite");
      return;
    }
    const py::object reason_text = update_();
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(reason_text.ptr(), &size);
    if (text == nullptr) throw py::error_already_set();
    copy_reason(reason, text, static_cast<std::size_t>(size));
    if (!command_is_finite()) {
      throw PythonError("the controller '" + class_path_ +
                        "' returned a number that is not finite");
    }
  }

  bool safe_output_is_finite() const {
    return output_slots.safe_wrench_base.segment(outputs).allFinite() &&
           output_slots.safe_torque.segment(outputs).allFinite();
  }

  bool command_is_finite() const {
    for (const Slice* slice :
         {&output_slots.wrench_base, &output_slots.torque, &output_slots.energy,
          &output_slots.task_error, &output_slots.authority, &output_slots.status}) {
      if (!slice->segment(outputs).allFinite()) return false;
    }
    // The singular value is infinite for a law without a task.
    return safe_output_is_finite() &&
           !std::isnan(outputs[output_slots.smallest_singular_value.start]);
  }

  // A law may reject a value; it then keeps its gain, unless the user has set another since.
  void apply_gain(GainSlot& gain_slot) {
    const std::string& name = gain_slot.gain.name;
    double gain_value = gain_slot.value.load();
    try {
      hosted_controller_.attr("set_gain")(name, gain_value);
    } catch (const py::error_already_set&) {
      const py::object gains = hosted_controller_.attr("controller").attr("gains");
      gain_slot.value.compare_exchange_strong(gain_value, gains.attr(name.c_str()).cast<double>());
      throw;
    }
  }

  void unload() override {
    update_ = reset_ = py::object();
    hosted_controller_ = py::object();
  }

  std::string class_path_;
  PythonRobot robot_;
  py::object hosted_controller_, update_, reset_;
};

}  // namespace

class PythonController::Host {
 public:
  Host(std::unique_ptr<ControllerTask> task, const PythonOptions& options);

  bool reset(const RobotState& state) noexcept;
  const Command& update(const RobotState& state, const Reference& reference, double dt) noexcept;
  void note_missed_updates() noexcept { has_missed_updates_ = true; }

  ControllerTask& task;
  Worker worker;
  double answer_timeout, reset_timeout;
  std::atomic<std::uint64_t> late_updates{0}, failed_updates{0};

 private:
  bool fits(const RobotState& state) const noexcept;
  void merge_reference(const Reference& reference) noexcept;
  void write_inputs(const RobotState& state, double dt) noexcept;
  void store_safe_output() noexcept;
  const Command& hold(const char* reason) noexcept;

  Command command_;
  char reason_[kReasonSize] = "";
  Eigen::VectorXd safe_wrench_base_, safe_torque_;
  Eigen::VectorXd next_inputs_;  // of the next update, with references that Python lacks
  Eigen::Matrix<unsigned char, Eigen::Dynamic, 1> flags_;  // which of those references are given
  bool has_missed_updates_ = false;  // the safe output has acted since Python got a state
  double elapsed_time_ = 0.0;        // time since the last state passed to Python, s
  bool has_pending_answer_ = false;  // Python computes an answer, or has it, that is not read
};

PythonController::Host::Host(std::unique_ptr<ControllerTask> controller_task,
                             const PythonOptions& options)
    : task(*controller_task),
      worker(std::move(controller_task), options.load_timeout, options.priority),
      answer_timeout(0.5 * options.period),
      reset_timeout(options.reset_timeout),
      safe_wrench_base_(Eigen::VectorXd::Zero(task.sizes.b)),
      safe_torque_(Eigen::VectorXd::Zero(task.sizes.n)),
      next_inputs_(Eigen::VectorXd::Zero(task.input_slots.size)) {
  flags_.setZero(task.flag_slots.size);
  command_.wrench_base = Eigen::VectorXd::Zero(task.sizes.b);
  command_.torque = Eigen::VectorXd::Zero(task.sizes.n);
}

bool PythonController::Host::fits(const RobotState& state) const noexcept {
  return state.q.size() == task.sizes.nq && state.v.size() == task.sizes.nv;
}

// Keep a reference until Python receives it: it may still compute with an earlier state.
void PythonController::Host::merge_reference(const Reference& reference) noexcept {
  const auto store = [this](const auto& quantity, const Slice& input_slot, const Slice& flag_slot) {
    if (!quantity) return;
    input_slot.segment(next_inputs_) = quantity->template reshaped<Eigen::RowMajor>();
    flag_slot.segment(flags_).setOnes();
  };
  const InputLayout& input_slots = task.input_slots;
  const FlagLayout& flag_slots = task.flag_slots;
  const bool has_joints = reference.has_joints && reference.joints.size() == task.sizes.n;
  store(reference.position, input_slots.position, flag_slots.position);
  store(reference.velocity, input_slots.velocity, flag_slots.velocity);
  store(reference.pose, input_slots.pose, flag_slots.pose);
  store(reference.twist, input_slots.twist, flag_slots.twist);
  store(has_joints ? &reference.joints : nullptr, input_slots.joints, flag_slots.joints);
  store(reference.wrench, input_slots.wrench, flag_slots.wrench);
}

void PythonController::Host::write_inputs(const RobotState& state, double dt) noexcept {
  task.input_slots.q.segment(next_inputs_) = state.q;
  task.input_slots.v.segment(next_inputs_) = state.v;
  task.input_slots.dt.segment(next_inputs_).setConstant(dt);
  task.input_slots.age.segment(next_inputs_).setConstant(state.age);
  task.input_slots.measured_wrench.segment(next_inputs_) = state.wrench;
  task.inputs = next_inputs_;
  task.flag_slots.missed_updates.segment(flags_).setConstant(has_missed_updates_ ? 1 : 0);
  task.flag_array = flags_;
  flags_.setZero();
  has_missed_updates_ = false;
}

void PythonController::Host::store_safe_output() noexcept {
  safe_wrench_base_ = task.output_slots.safe_wrench_base.segment(task.outputs);
  safe_torque_ = task.output_slots.safe_torque.segment(task.outputs);
}

const Command& PythonController::Host::hold(const char* reason) noexcept {
  has_missed_updates_ = true;
  command_.wrench_base = safe_wrench_base_;
  command_.torque = safe_torque_;
  command_.energy = ControlEnergy();
  command_.status = Status::holding;
  command_.reason = reason;
  command_.task_error = command_.smallest_singular_value = 0.0;
  command_.authority = 1.0;
  return command_;
}

bool PythonController::Host::reset(const RobotState& state) noexcept {
  const Deadline deadline = Deadline::from_now(reset_timeout);
  if (!fits(state) || worker.wait_for_buffers(deadline) == Worker::Outcome::late) return false;
  has_pending_answer_ = false;
  write_inputs(state, 0.0);
  elapsed_time_ = 0.0;
  if (worker.run(ControllerTask::kReset, deadline) != Worker::Outcome::done) return false;
  store_safe_output();
  return true;
}

const Command& PythonController::Host::update(const RobotState& state, const Reference& reference,
                                              double dt) noexcept {
  const Deadline deadline = Deadline::from_now(answer_timeout);
  elapsed_time_ += dt;
  merge_reference(reference);
  if (!fits(state) || !state.q.allFinite() || !state.v.allFinite()) {
    return hold("the state is not finite or does not fit this robot; holding against gravity");
  }
  const auto last_outcome = worker.wait_for_buffers(deadline);
  if (last_outcome == Worker::Outcome::late) {
    late_updates.fetch_add(1, std::memory_order_relaxed);
    return hold("Python is still busy with an old state; holding against gravity");
  }
  if (has_pending_answer_ && last_outcome == Worker::Outcome::done) store_safe_output();
  has_pending_answer_ = false;
  write_inputs(state, elapsed_time_);
  elapsed_time_ = 0.0;
  switch (worker.run(ControllerTask::kUpdate, deadline)) {
    case Worker::Outcome::late:
      has_pending_answer_ = true;
      late_updates.fetch_add(1, std::memory_order_relaxed);
      return hold("Python did not answer within half a period; holding against gravity");
    case Worker::Outcome::failed:
      failed_updates.fetch_add(1, std::memory_order_relaxed);
      return hold(
          "Python raised or returned a number that is not finite, see the log; holding against "
          "gravity");
    case Worker::Outcome::done:
      break;
  }
  store_safe_output();
  const OutputLayout& slots = task.output_slots;
  const Numbers& outputs = task.outputs;
  command_.wrench_base = slots.wrench_base.segment(outputs);
  command_.torque = slots.torque.segment(outputs);
  Eigen::Index k = slots.energy.start;
  for (const auto& field : kControlEnergyFields) command_.energy.*field.value = outputs[k++];
  command_.task_error = outputs[slots.task_error.start];
  command_.smallest_singular_value = outputs[slots.smallest_singular_value.start];
  command_.authority = outputs[slots.authority.start];
  command_.status = static_cast<Status>(static_cast<int>(outputs[slots.status.start]));
  std::memcpy(reason_, task.reason, sizeof reason_);
  command_.reason = reason_;
  return command_;
}

PythonController::PythonController(const std::string& class_path, const PythonRobot& robot,
                                   const PythonOptions& options) {
  if (!(options.period > 0.0 && options.period < 1e6)) {
    throw PythonError("the period of the calling loop must be a time above zero, in s; given: " +
                      std::to_string(options.period));
  }
  const GilRelease gil_release;
  start_python();
  try {
    host_ = std::make_unique<Host>(std::make_unique<ControllerTask>(class_path, robot, options),
                                   options);
  } catch (const std::exception& error) {
    throw PythonError("the Python controller '" + class_path +
                      "' is not available: " + error.what());
  }
}

PythonController::~PythonController() {
  const GilRelease gil_release;
  host_.reset();
}

int PythonController::b() const { return host_->task.sizes.b; }
int PythonController::n() const { return host_->task.sizes.n; }
int PythonController::nq() const { return host_->task.sizes.nq; }
int PythonController::nv() const { return host_->task.sizes.nv; }
const std::vector<std::string>& PythonController::joint_names() const {
  return host_->task.sizes.joint_names;
}

bool PythonController::reset(const RobotState& state) noexcept { return host_->reset(state); }

const Command& PythonController::update(const RobotState& state, const Reference& reference,
                                        double dt) noexcept {
  return host_->update(state, reference, dt);
}

std::vector<Gain> PythonController::gains() const {
  std::vector<Gain> current_gains;
  for (const auto& gain_slot : host_->task.gain_slots) {
    current_gains.push_back(gain_slot->gain);
    current_gains.back().value = gain_slot->value.load();
  }
  return current_gains;
}

bool PythonController::set_gain(const std::string& name, double value) noexcept {
  for (const auto& gain_slot : host_->task.gain_slots) {
    const Gain& gain = gain_slot->gain;
    if (gain.name != name) continue;
    if (!(value >= gain.low && value <= gain.high)) return false;
    gain_slot->value.store(gain.is_switch ? static_cast<double>(value != 0.0) : value);
    gain_slot->is_changed.store(true);
    return true;
  }
  return false;
}

void PythonController::set_period(double period) noexcept {
  if (period > 0.0) host_->answer_timeout = 0.5 * period;
}

std::string PythonController::log() const { return host_->worker.log(); }
void PythonController::note_missed_updates() noexcept { host_->note_missed_updates(); }

std::uint64_t PythonController::late_updates() const noexcept { return host_->late_updates; }
std::uint64_t PythonController::failed_updates() const noexcept { return host_->failed_updates; }

}  // namespace vms_ph
