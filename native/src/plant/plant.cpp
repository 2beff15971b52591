// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/plant.hpp"

#include <utility>

#include "vms_ph_native/evaluation.hpp"

namespace vms_ph {
namespace {

// Number of times a failed step is halved, as in integrators/retry.py.
constexpr int kHalvings = 10;

// Coulomb friction is rounded over this speed, rad/s or m/s; as in friction.py.
constexpr double kSlip = 0.01;

std::unique_ptr<Stepper> stepper_of(const PlantOptions& options, const Model& model) {
  if (!options.wheels.empty() && options.actuators) {
    throw ModelError("on wheels that do not slip the base of '" + model.name() +
                     "' is driven by their joints: remove <vms_ph_allocation> from the "
                     "robot description, or the hardware parameter wheels");
  }
  const bool is_rolling = !options.wheels.empty() || model.fluid() == nullptr;
  const char* usual = is_rolling ? "projected_rk4" : "rkmk4";
  return make_stepper(options.scheme.empty() ? usual : options.scheme, model, true, options.wheels);
}

}  // namespace

Plant::Plant(const Model& model, const PlantOptions& options)
    : model_(model),
      options_(options),
      stepper_(stepper_of(options, model_)),
      base_(model_, options.actuators, options.step),
      twist_(Eigen::VectorXd::Zero(model_.b())),
      start_twist_(twist_) {
  const int n = model_.n();
  if (!options_.current.isZero(0.0) &&
      (model_.fluid() == nullptr || model_.base() != Base::floating)) {
    throw ModelError("'" + model_.name() +
                     "' is not in water; a current does nothing to it: remove the hardware "
                     "parameter current, or give the robot a fluid and a floating base");
  }
  ports_.any = true;
  ports_.torque = Eigen::VectorXd::Zero(n);
  ports_.wrench_base = Eigen::VectorXd::Zero(model_.b());
  if (options_.friction) {
    ports_.viscous = model_.damping();
    ports_.coulomb = model_.dry_friction();
    ports_.slip = kSlip;
  }
  if (options_.stops) {
    stops_ = std::make_unique<JointStops>(model_, options_.wheels);
    if (!stops_->exist()) stops_.reset();
  }
  reset();
}

void Plant::reset() {
  Eigen::VectorXd start = Eigen::VectorXd::Zero(model_.nv());
  if (!options_.current.isZero(0.0)) {
    start.head<3>() = -model_.base_pose(options_.start).rotation().transpose() * options_.current;
  }
  at_ = stepper_->begin(options_.start, start, 0.0);
  if (options_.actuators) {
    Evaluation rest(model_);
    rest.set(options_.start, Eigen::VectorXd::Zero(model_.nv()));
    base_.reset(rest.g().head(model_.b()));
  }
  next_ = saved_ = started_ = at_;
  result_ = failed_ = {};
  steps_ = 0;
  stepper_->motion(at_, q_, v_);
  free_q_ = q_;
  free_v_ = v_;
  update_ground_motion();
}

void Plant::update_ground_motion() noexcept {
  ground_q_ = q_;
  ground_v_ = v_;
  if (options_.current.isZero(0.0)) return;
  const Eigen::Quaterniond turn(q_[6], q_[3], q_[4], q_[5]);
  ground_v_.head<3>() += turn.conjugate() * options_.current;
  ground_q_.head<3>() += static_cast<double>(steps_) * options_.step * options_.current;
}

void Plant::push(const Screw& wrench, bool acts) noexcept {
  ports_.tool = wrench;
  ports_.has_tool = acts;
}

bool Plant::advance(const Eigen::VectorXd& wrench_base, bool by_stand,
                    const Eigen::VectorXd& torque, int steps) noexcept {
  base_.save();
  if (by_stand) base_.settle(wrench_base);
  ports_.spin.any = false;  // a stand takes the moments of rotors and wheels
  ports_.wrench_base = wrench_base;
  ports_.torque = torque;
  saved_ = at_;
  const StepResult before = result_;
  for (int i = 0; i < steps; ++i) {
    const double t = static_cast<double>(steps_ + i) * options_.step;
    start_twist_ = v_.head(model_.b());
    if (!by_stand) {
      ports_.wrench_base = base_.hold(wrench_base, start_twist_);
      ports_.spin = base_.spin(t);
    }
    const double supplied_before = result_.supplied[1];
    const bool done = step_with_stops(t, torque);
    if (!done) {
      at_ = saved_;
      result_ = before;
      base_.restore();
    }
    stepper_->motion(at_, q_, v_);
    if (!done) return false;
    twist_ = v_.head(model_.b());
    if (by_stand) {
      base_.follow(start_twist_, twist_);
    } else {
      base_.commit(result_.supplied[1] - supplied_before, twist_);
    }
  }
  steps_ += steps;
  update_ground_motion();
  return true;
}

bool Plant::step_with_stops(double t, const Eigen::VectorXd& torque) noexcept {
  const double dt = options_.step;
  if (!stops_) return step_with_retry(t, dt, kHalvings);
  const StepResult before = result_;
  started_ = at_;
  if (!step_with_retry(t, dt, kHalvings)) return false;
  stepper_->motion(at_, free_q_, free_v_);
  if (stops_->is_stop_reached(free_q_, free_v_, dt)) {
    stepper_->motion(started_, q_, v_);
    const Eigen::VectorXd& pushing = stops_->torque(q_, v_, free_q_, free_v_, dt);
    at_ = started_;
    result_ = before;
    ports_.torque = torque + pushing;
    const bool done = step_with_retry(t, dt, kHalvings);
    ports_.torque = torque;
    if (!done) return false;
    stepper_->motion(at_, free_q_, free_v_);
    const double work = pushing.dot(stops_->displacement(q_, free_q_));
    result_.supplied[0] -= work;
    result_.dissipated -= work;
  }
  return true;
}

bool Plant::step_with_retry(double t, double dt, int halvings) noexcept {
  const StepResult result = stepper_->step(at_, ports_, t, dt, next_);
  if (result.failure == Failure::none) {
    std::swap(at_, next_);
    result_.add(result);
    return true;
  }
  failed_ = result;
  if (halvings == 0) return false;
  return step_with_retry(t, 0.5 * dt, halvings - 1) &&
         step_with_retry(t + 0.5 * dt, 0.5 * dt, halvings - 1);
}

}  // namespace vms_ph
