// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/plant/plant.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vms_ph_native/linear_algebra.hpp"

namespace vms_ph {
namespace {

// Sweeps over the joints, and the change of speed at which they end, rad/s or m/s.
constexpr int kSweeps = 400;
constexpr double kSpeedTolerance = 1e-12;

// Number of times a failed step is halved, as in integrators/retry.py.
constexpr int kMaxHalvings = 10;

std::unique_ptr<Stepper> stepper_of(const PlantOptions& options, const Model& model) {
  if (!options.wheels.empty() && options.actuators) {
    throw ModelError("on wheels that do not slip the base of '" + model.name() +
                     "' is driven by their joints: remove <vms_ph_allocation> from the "
                     "robot description, or the hardware parameter wheels");
  }
  const bool uses_projected_scheme = !options.wheels.empty() || model.fluid() == nullptr;
  const char* default_scheme = uses_projected_scheme ? "projected_rk4" : "rkmk4";
  return make_stepper(options.scheme.empty() ? default_scheme : options.scheme, model, true,
                      options.wheels);
}

}  // namespace

JointStops::JointStops(const Model& model, const std::vector<Wheel>& wheels)
    : model_(model),
      d_(model_),
      lower_(model.min_position()),
      upper_(model.max_position()),
      mobility_(model.nv(), model.nv()) {
  if (!wheels.empty()) wheel_terms_.emplace(model_, wheels);
  wheeled_state_.q = VectorXd::Zero(model.nq());
  wheeled_state_.v = VectorXd::Zero(model.nv());
  positions_ = displacement_ = impulse_ = rates_ = lower_rates_ = upper_rates_ = torque_ =
      VectorXd::Zero(model.n());
  for (Eigen::Index i = 0; i < positions_.size(); ++i) {
    has_limits_ = has_limits_ || std::isfinite(lower_[i]) || std::isfinite(upper_[i]);
  }
}

bool JointStops::lacks_braking_distance(const VectorXd& q, const VectorXd& v, double dt) noexcept {
  model_.joint_positions(q, positions_);
  for (Eigen::Index i = 0; i < positions_.size(); ++i) {
    const double half_step = 0.5 * dt * v[model_.b() + i];
    if (positions_[i] - lower_[i] + std::min(half_step, 0.0) < 0.0) return true;
    if (upper_[i] - positions_[i] - std::max(half_step, 0.0) < 0.0) return true;
  }
  return false;
}

/// Compute the mobility: the inverse of the mass matrix.
void JointStops::compute_mobility(const VectorXd& q, const VectorXd& v) noexcept {
  d_.set(q, v);
  mobility_.setIdentity();
  Cholesky(d_.M()).solve_columns(mobility_);
}

/// The same in the wheels' velocities, S (S^T M S)^-1 S^T; false where it is not determined.
bool JointStops::compute_wheeled_mobility(const VectorXd& q, const VectorXd& v) noexcept {
  wheeled_state_.q = q;
  wheeled_state_.v = v;
  if (!wheel_terms_->compute(wheeled_state_, WheeledTerms::Partition::best)) return false;
  const Cholesky inertia(wheel_terms_->mass);
  MatrixV columns = wheel_terms_->basis.transpose();
  inertia.solve_columns(columns);
  multiply(wheel_terms_->basis, columns, mobility_);
  return true;
}

const VectorXd& JointStops::torque(const VectorXd& q, const VectorXd& v, const VectorXd& free_q,
                                   const VectorXd& free_v, double dt) noexcept {
  const Eigen::Index b = model_.b(), n = model_.n();
  if (!(wheel_terms_ && compute_wheeled_mobility(free_q, free_v))) compute_mobility(free_q, free_v);
  model_.joint_positions(q, positions_);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double half_rate = 0.5 * v[b + i];
    lower_rates_[i] = std::min(0.0, -(positions_[i] - lower_[i]) / dt - half_rate);
    upper_rates_[i] = std::max(0.0, (upper_[i] - positions_[i]) / dt - half_rate);
  }
  // Projected Gauss-Seidel: each impulse is zero unless its rate is at a bound.
  impulse_.setZero();
  rates_ = free_v.tail(n);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double largest_change = 0.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double inverse_mass = mobility_(b + i, b + i);
      const double free_rate = rates_[i] - inverse_mass * impulse_[i];
      const double required_impulse =
          (std::min(std::max(free_rate, lower_rates_[i]), upper_rates_[i]) - free_rate) /
          inverse_mass;
      const double impulse_change = required_impulse - impulse_[i];
      if (impulse_change == 0.0) continue;
      impulse_[i] = required_impulse;
      for (Eigen::Index k = 0; k < n; ++k) rates_[k] += mobility_(b + k, b + i) * impulse_change;
      largest_change = std::max(largest_change, std::abs(inverse_mass * impulse_change));
    }
    if (largest_change < kSpeedTolerance) break;
  }
  torque_ = impulse_ / dt;
  return torque_;
}

const VectorXd& JointStops::displacement(const VectorXd& start_q, const VectorXd& end_q) noexcept {
  model_.joint_positions(start_q, positions_);
  model_.joint_positions(end_q, displacement_);
  for (int i = 0; i < model_.n(); ++i) {
    // The angle of a continuous joint may jump, but nothing acts on it.
    displacement_[i] = model_.is_continuous(i) ? 0.0 : displacement_[i] - positions_[i];
  }
  return displacement_;
}

Plant::Plant(const Model& model, const PlantOptions& options)
    : model_(model),
      options_(options),
      stepper_(stepper_of(options, model_)),
      base_(model_, options.actuators, options.time_step),
      twist_(Eigen::VectorXd::Zero(model_.b())),
      start_twist_(twist_) {
  const int n = model_.n();
  if (!options_.current.isZero(0.0) &&
      (model_.fluid() == nullptr || model_.base() != Base::floating)) {
    throw ModelError("'" + model_.name() +
                     "' is not in water; a current does nothing to it: remove the hardware "
                     "parameter current, or give the robot a fluid and a floating base");
  }
  ports_.has_efforts = true;
  ports_.torque = Eigen::VectorXd::Zero(n);
  ports_.wrench_base = Eigen::VectorXd::Zero(model_.b());
  if (options_.has_friction) {
    ports_.damping = model_.damping();
    ports_.dry_friction = model_.dry_friction();
    ports_.slip_speed = kSlip;
  }
  if (options_.has_stops) {
    stops_ = std::make_unique<JointStops>(model_, options_.wheels);
    if (!stops_->has_limits()) stops_.reset();
  }
  reset();
}

void Plant::reset() {
  Eigen::VectorXd v = Eigen::VectorXd::Zero(model_.nv());
  if (!options_.current.isZero(0.0)) {
    v.head<3>() = -model_.base_pose(options_.start_q).rotation().transpose() * options_.current;
  }
  state_ = stepper_->begin(options_.start_q, v, 0.0);
  if (options_.actuators) {
    Evaluation rest_state(model_);
    rest_state.set(options_.start_q, Eigen::VectorXd::Zero(model_.nv()));
    base_.reset(rest_state.g().head(model_.b()));
  }
  next_state_ = saved_state_ = start_state_ = state_;
  total_result_ = last_failure_ = {};
  steps_ = 0;
  stepper_->motion(state_, q_, v_);
  free_q_ = q_;
  free_v_ = v_;
  update_ground_motion();
}

void Plant::update_ground_motion() noexcept {
  ground_q_ = q_;
  ground_v_ = v_;
  if (options_.current.isZero(0.0)) return;
  const Eigen::Quaterniond attitude(q_[6], q_[3], q_[4], q_[5]);
  ground_v_.head<3>() += attitude.conjugate() * options_.current;
  ground_q_.head<3>() += static_cast<double>(steps_) * options_.time_step * options_.current;
}

void Plant::push(const Screw& wrench, bool is_active) noexcept {
  ports_.wrench_end_effector = wrench;
  ports_.has_wrench_end_effector = is_active;
}

bool Plant::advance(const Eigen::VectorXd& wrench_base, bool is_on_stand,
                    const Eigen::VectorXd& torque, int steps) noexcept {
  base_.save();
  if (is_on_stand) base_.set_steady_state(wrench_base);
  ports_.spin.is_spinning = false;  // a stand takes the moments of rotors and wheels
  ports_.wrench_base = wrench_base;
  ports_.torque = torque;
  saved_state_ = state_;
  const StepResult saved_result = total_result_;
  for (int i = 0; i < steps; ++i) {
    const double t = static_cast<double>(steps_ + i) * options_.time_step;
    start_twist_ = v_.head(model_.b());
    if (!is_on_stand) {
      ports_.wrench_base = base_.begin_step(wrench_base, start_twist_);
      ports_.spin = base_.spin(t);
    }
    const double last_supplied_energy = total_result_.supplied_energy[1];
    const bool is_successful = step_with_stops(t, torque);
    if (!is_successful) {
      state_ = saved_state_;
      total_result_ = saved_result;
      base_.restore();
    }
    stepper_->motion(state_, q_, v_);
    if (!is_successful) return false;
    twist_ = v_.head(model_.b());
    if (is_on_stand) {
      base_.steer_on_stand(start_twist_, twist_);
    } else {
      base_.end_step(total_result_.supplied_energy[1] - last_supplied_energy, twist_);
    }
  }
  steps_ += steps;
  update_ground_motion();
  return true;
}

bool Plant::step_with_stops(double t, const Eigen::VectorXd& torque) noexcept {
  const double dt = options_.time_step;
  if (!stops_) return step_with_retry(t, dt, kMaxHalvings);
  const StepResult saved_result = total_result_;
  start_state_ = state_;
  if (!step_with_retry(t, dt, kMaxHalvings)) return false;
  stepper_->motion(state_, free_q_, free_v_);
  if (stops_->lacks_braking_distance(free_q_, free_v_, dt)) {
    stepper_->motion(start_state_, q_, v_);
    const Eigen::VectorXd& stop_torque = stops_->torque(q_, v_, free_q_, free_v_, dt);
    state_ = start_state_;
    total_result_ = saved_result;
    ports_.torque = torque + stop_torque;
    const bool is_successful = step_with_retry(t, dt, kMaxHalvings);
    ports_.torque = torque;
    if (!is_successful) return false;
    stepper_->motion(state_, free_q_, free_v_);
    const double stop_work = stop_torque.dot(stops_->displacement(q_, free_q_));
    total_result_.supplied_energy[0] -= stop_work;
    total_result_.dissipated_energy -= stop_work;
  }
  return true;
}

bool Plant::step_with_retry(double t, double dt, int halvings_left) noexcept {
  const StepResult result = stepper_->step(state_, ports_, t, dt, next_state_);
  if (result.failure == Failure::none) {
    std::swap(state_, next_state_);
    total_result_.add(result);
    return true;
  }
  last_failure_ = result;
  if (halvings_left == 0) return false;
  return step_with_retry(t, 0.5 * dt, halvings_left - 1) &&
         step_with_retry(t + 0.5 * dt, 0.5 * dt, halvings_left - 1);
}

}  // namespace vms_ph
