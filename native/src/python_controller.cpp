#include "vms_ph_native/python_controller.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "python_interpreter.hpp"
#include "python_task.hpp"

namespace py = pybind11;

namespace vms_ph {
namespace {

using Vector = Eigen::Map<Eigen::VectorXd>;

// Where the parts of a reference are in the inputs, behind q, v and dt.
constexpr int kPosition = 0, kVelocity = 3, kPose = 6, kTwist = 22, kJoints = 28;
constexpr int kTaskError = 16, kSingularValue = 17, kAuthority = 18, kStatus = 19;
constexpr std::size_t kReason = 256;

enum Job { kReset, kUpdate };

// A gain as the user wants it, and whether Python has it yet.
struct WantedGain {
  explicit WantedGain(Gain described) : gain(std::move(described)), value(gain.value) {}
  const Gain gain;
  std::atomic<double> value;
  std::atomic<bool> changed{false};
};

// Cut to a size without cutting a character in two.
void copy(char (&target)[kReason], const char* text, std::size_t size) {
  std::size_t end = std::min(size, kReason - 1);
  while (end < size && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  std::memcpy(target, text, end);
  target[end] = '\0';
}

class ControllerTask final : public PythonTask {
 public:
  ControllerTask(std::string kind, PythonRobot robot, PythonOptions options)
      : PythonTask(std::move(options)), kind_(std::move(kind)), robot_(std::move(robot)) {}

  // What the caller uses while the buffers are its own.
  PythonSizes sizes;
  std::vector<std::unique_ptr<WantedGain>> gains;
  double *inputs = nullptr, *outputs = nullptr;
  unsigned char* given = nullptr;
  char reason[kReason] = "";

 private:
  void load() override {
    const auto hosting = py::module_::import("vms_ph_controllers.hosting.hosted_controller");
    py::list rotors;
    for (const auto& r : robot_.rotors) {
      rotors.append(py::make_tuple(py::make_tuple(r.position[0], r.position[1], r.position[2]),
                                   py::make_tuple(r.axis[0], r.axis[1], r.axis[2]), r.drag_ratio,
                                   r.lower, r.upper));
    }
    const auto energies = py::cast<std::vector<std::string>>(hosting.attr("ENERGIES"));
    const auto& own = control_energy_fields;
    for (std::size_t k = 0; k < std::max(energies.size(), std::size(own)); ++k) {
      if (energies.size() != std::size(own) || energies[k] != own[k].name) {
        throw PythonError("vms_ph_controllers is of another version than this library: the energy "
                          "records differ; build the library anew");
      }
    }
    hosted_ = hosting.attr("make_hosted")(kind_, arguments(robot_), rotors, robot_.base_actuated);
    sizes = sizes_of(hosted_.attr("model"));
    update_ = hosted_.attr("update");
    reset_ = hosted_.attr("reset");
    inputs = numbers_of(hosted_.attr("inputs"));
    outputs = numbers_of(hosted_.attr("outputs"));
    given = py::array_t<unsigned char>(hosted_.attr("given")).mutable_data();
    for (const auto& item : hosted_.attr("gains")()) {
      using Row = std::tuple<std::string, std::string, double, double, double, double, bool>;
      const auto [name, text, value, low, high, initial, is_switch] = py::cast<Row>(item);
      gains.push_back(std::make_unique<WantedGain>(
          Gain{name, text, value, low, high, initial, is_switch}));
    }
  }

  void work(int job) override {
    for (const auto& wanted : gains) {
      if (wanted->changed.exchange(false)) {
        set(*wanted);
      }
    }
    if (job == kReset) {
      reset_();
      if (!Vector(outputs + sizes.nv, sizes.nv).allFinite()) throw PythonError("the safe output is not finite");
      return;
    }
    const py::object answer = update_();
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(answer.ptr(), &size);
    if (text == nullptr) throw py::error_already_set();
    copy(reason, text, static_cast<std::size_t>(size));
    // A singular value may be infinite: there is none where there is no task.
    const double* record = outputs + 2 * sizes.nv;
    if (!Vector(outputs, 2 * sizes.nv + kSingularValue).allFinite() || std::isnan(record[kSingularValue]) ||
        !Vector(outputs + 2 * sizes.nv + kAuthority, 2).allFinite()) {
      throw PythonError("the controller '" + kind_ + "' gave a number that is not finite");
    }
  }

  // A law may refuse what the bounds allow; then it has the gain that it had, unless the user wants
  // yet another by now.
  void set(WantedGain& wanted) {
    const std::string& name = wanted.gain.name;
    double asked = wanted.value.load();
    try {
      hosted_.attr("set_gain")(name, asked);
    } catch (const py::error_already_set&) {
      const py::object present = hosted_.attr("controller").attr("gains");
      wanted.value.compare_exchange_strong(asked, present.attr(name.c_str()).cast<double>());
      throw;
    }
  }

  void unload() override {
    update_ = reset_ = py::object();
    hosted_ = py::object();
  }

  std::string kind_;
  PythonRobot robot_;
  py::object hosted_, update_, reset_;
};

}  // namespace

class PythonController::Hosted {
 public:
  Hosted(std::unique_ptr<ControllerTask> task, const PythonOptions& options);

  bool reset(const RobotState& state) noexcept;
  const Command& update(const RobotState& state, const Reference& reference, double dt) noexcept;
  void lose() noexcept { lost_ = true; }

  ControllerTask& task;
  Worker worker;
  double wait, reset_timeout;
  std::atomic<std::uint64_t> late{0}, failed{0};

 private:
  bool fits(const RobotState& state) const noexcept;
  void want(const Reference& reference) noexcept;
  void hand_over(const RobotState& state, double dt) noexcept;
  void keep_safe() noexcept;
  const Command& safe(const char* reason) noexcept;

  Command command_;
  char reason_[kReason] = "";
  Eigen::VectorXd safe_;        // (nv,) base wrench, joint torques
  Eigen::VectorXd wanted_;      // of the reference, what Python has not been told yet
  unsigned char has_[5] = {};   // which parts that are
  bool lost_ = false;           // the safe output has acted since the last state that Python has
  double passed_ = 0.0;         // since the last state that Python has, s
  bool unread_ = false;         // Python has finished, or will, what nobody has looked at
};

PythonController::Hosted::Hosted(std::unique_ptr<ControllerTask> made, const PythonOptions& options)
    : task(*made),
      worker(std::move(made), options.load_timeout, options.priority),
      wait(0.5 * options.period),
      reset_timeout(options.reset_timeout),
      safe_(Eigen::VectorXd::Zero(task.sizes.nv)),
      wanted_(Eigen::VectorXd::Zero(kJoints + task.sizes.n)) {
  command_.wrench_base = Eigen::VectorXd::Zero(task.sizes.b);
  command_.torque = Eigen::VectorXd::Zero(task.sizes.n);
}

bool PythonController::Hosted::fits(const RobotState& state) const noexcept {
  return state.q.size() == task.sizes.nq && state.v.size() == task.sizes.nv;
}

// Remember what is wanted until Python is told: it may be busy with an old state now.
void PythonController::Hosted::want(const Reference& reference) noexcept {
  if (reference.position) {
    wanted_.segment<3>(kPosition) = *reference.position;
    has_[0] = 1;
  }
  if (reference.velocity) {
    wanted_.segment<3>(kVelocity) = *reference.velocity;
    has_[1] = 1;
  }
  if (reference.pose) {
    for (int row = 0; row < 4; ++row) {
      wanted_.segment<4>(kPose + 4 * row) = reference.pose->row(row).transpose();
    }
    has_[2] = 1;
  }
  if (reference.twist) {
    wanted_.segment<6>(kTwist) = *reference.twist;
    has_[3] = 1;
  }
  if (reference.has_joints && reference.joints.size() == task.sizes.n) {
    wanted_.tail(task.sizes.n) = reference.joints;
    has_[4] = 1;
  }
}

void PythonController::Hosted::hand_over(const RobotState& state, double dt) noexcept {
  Vector(task.inputs, task.sizes.nq) = state.q;
  Vector(task.inputs + task.sizes.nq, task.sizes.nv) = state.v;
  task.inputs[task.sizes.nq + task.sizes.nv] = dt;
  Vector(task.inputs + task.sizes.nq + task.sizes.nv + 1, wanted_.size()) = wanted_;
  std::memcpy(task.given, has_, sizeof has_);
  task.given[sizeof has_] = lost_ ? 1 : 0;
  lost_ = false;
}

void PythonController::Hosted::keep_safe() noexcept { safe_ = Vector(task.outputs + task.sizes.nv, task.sizes.nv); }

const Command& PythonController::Hosted::safe(const char* reason) noexcept {
  lost_ = true;
  command_.wrench_base = safe_.head(task.sizes.b);
  command_.torque = safe_.tail(task.sizes.n);
  command_.energy = ControlEnergy();
  command_.status = Status::holding;
  command_.reason = reason;
  command_.task_error = command_.smallest_singular_value = 0.0;
  command_.authority = 1.0;
  return command_;
}

bool PythonController::Hosted::reset(const RobotState& state) noexcept {
  const Deadline deadline = Deadline::in(reset_timeout);
  if (!fits(state) || worker.settle(deadline) == Worker::Outcome::late) return false;
  unread_ = false;
  hand_over(state, 0.0);
  std::memset(has_, 0, sizeof has_);
  passed_ = 0.0;
  if (worker.run(kReset, deadline) != Worker::Outcome::done) return false;
  keep_safe();
  return true;
}

const Command& PythonController::Hosted::update(const RobotState& state, const Reference& reference,
                                                double dt) noexcept {
  const Deadline deadline = Deadline::in(wait);
  passed_ += dt;
  want(reference);
  if (!fits(state) || !state.q.allFinite() || !state.v.allFinite()) {
    return safe("the state is not finite, or not one of this robot; holding against gravity");
  }
  const auto before = worker.settle(deadline);
  if (before == Worker::Outcome::late) {
    late.fetch_add(1, std::memory_order_relaxed);
    return safe("Python is still busy with an old state; holding against gravity");
  }
  if (unread_ && before == Worker::Outcome::done) keep_safe();
  unread_ = false;
  hand_over(state, passed_);
  std::memset(has_, 0, sizeof has_);
  passed_ = 0.0;
  switch (worker.run(kUpdate, deadline)) {
    case Worker::Outcome::late:
      unread_ = true;
      late.fetch_add(1, std::memory_order_relaxed);
      return safe("Python did not answer within half a period; holding against gravity");
    case Worker::Outcome::failed:
      failed.fetch_add(1, std::memory_order_relaxed);
      return safe("Python raised or gave a number that is not finite, see the log; holding against "
                  "gravity");
    case Worker::Outcome::done:
      break;
  }
  keep_safe();
  command_.wrench_base = Vector(task.outputs, task.sizes.b);
  command_.torque = Vector(task.outputs + task.sizes.b, task.sizes.n);
  const double* record = task.outputs + 2 * task.sizes.nv;
  const double* energy = record;
  for (const auto& field : control_energy_fields) command_.energy.*field.value = *energy++;
  command_.task_error = record[kTaskError];
  command_.smallest_singular_value = record[kSingularValue];
  command_.authority = record[kAuthority];
  command_.status = static_cast<Status>(static_cast<int>(record[kStatus]));
  std::memcpy(reason_, task.reason, sizeof reason_);
  command_.reason = reason_;
  return command_;
}

PythonController::PythonController(const std::string& kind, const PythonRobot& robot,
                                   const PythonOptions& options) {
  if (!(options.period > 0.0 && options.period < 1e6)) {
    throw PythonError("the period of the calling loop must be a time above zero, in s; given: " +
                      std::to_string(options.period));
  }
  const WithoutLock without;
  start_python();
  try {
    hosted_ = std::make_unique<Hosted>(std::make_unique<ControllerTask>(kind, robot, options), options);
  } catch (const std::exception& error) {
    throw PythonError("the Python controller '" + kind + "' cannot be had: " + error.what());
  }
}

PythonController::~PythonController() {
  const WithoutLock without;
  hosted_.reset();
}

int PythonController::b() const { return hosted_->task.sizes.b; }
int PythonController::n() const { return hosted_->task.sizes.n; }
int PythonController::nq() const { return hosted_->task.sizes.nq; }
int PythonController::nv() const { return hosted_->task.sizes.nv; }
const std::vector<std::string>& PythonController::joint_names() const {
  return hosted_->task.sizes.joint_names;
}

bool PythonController::reset(const RobotState& state) noexcept { return hosted_->reset(state); }

const Command& PythonController::update(const RobotState& state, const Reference& reference,
                                        double dt) noexcept {
  return hosted_->update(state, reference, dt);
}

std::vector<Gain> PythonController::gains() const {
  std::vector<Gain> all;
  for (const auto& wanted : hosted_->task.gains) {
    all.push_back(wanted->gain);
    all.back().value = wanted->value.load();
  }
  return all;
}

bool PythonController::set_gain(const std::string& name, double value) noexcept {
  for (const auto& wanted : hosted_->task.gains) {
    const Gain& gain = wanted->gain;
    if (gain.name != name) continue;
    if (!(value >= gain.low && value <= gain.high)) return false;
    wanted->value.store(gain.is_switch ? static_cast<double>(value != 0.0) : value);
    wanted->changed.store(true);
    return true;
  }
  return false;
}

void PythonController::set_period(double period) noexcept {
  if (period > 0.0) hosted_->wait = 0.5 * period;
}

std::string PythonController::log() const { return hosted_->worker.log(); }
void PythonController::missed_updates() noexcept { hosted_->lose(); }

std::uint64_t PythonController::late() const noexcept { return hosted_->late; }
std::uint64_t PythonController::failed() const noexcept { return hosted_->failed; }

}  // namespace vms_ph
