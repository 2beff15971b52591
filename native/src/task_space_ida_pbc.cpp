// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/task_space_ida_pbc.hpp"

#include <memory>

#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {
namespace {

const Model& check_model(const Model& model) {
  if (model.base() != Base::fixed) {
    throw ModelError("TaskSpaceIDAPBC is for arms on a fixed base; '" + model.name() +
                     "' has a moving base");
  }
  if (model.n() < PositionTask::kDimension) {
    throw ModelError("TaskSpaceIDAPBC controls a position, which takes at least 3 joints; '" +
                     model.name() + "' has " + std::to_string(model.n()));
  }
  return model;
}

}  // namespace

TaskSpaceIDAPBC::TaskSpaceIDAPBC(const Model& model)
    : model_(check_model(model)),
      task_(model.end_effector()),
      routing_(model, task_, kMinSigma),
      joint_limits_(model),
      torque_limits_(model),
      governor_(model, task_, kMinSigma),
      tank_potential_(model),
      d_(model),
      minimum_state_(model),
      zero_velocity_(Eigen::VectorXd::Zero(model.nv())),
      desired_potential_(model),
      effort_(model),
      safe_torque_(VectorV::Zero(model.n())),
      positions_(model.n()),
      routing_torque_(VectorV::Zero(model.n())) {
  weight_matrix_.version = 1;
  command_.wrench_base.resize(0);
  command_.torque = Eigen::VectorXd::Zero(model.n());
  // Constructed here, so that the first update does not allocate.
  TaskSpaceGains::table();
  d_.set(model.neutral_configuration(), zero_velocity_);
  routing_.set_reference_basis(d_);
}

bool TaskSpaceIDAPBC::set_minimum(const ConstVector& q_star) noexcept {
  if (!start_at(q_star)) return false;
  tank_potential_.reset(potential(governor_.current_minimum()));
  return true;
}

bool TaskSpaceIDAPBC::resume(const RobotState& state) noexcept {
  if (!start_at(state.q)) return false;
  tank_potential_.resume(potential(governor_.current_minimum()));
  return true;
}

bool TaskSpaceIDAPBC::start_at(const ConstVector& q_star) noexcept {
  if (!model_.is_configuration(q_star)) return false;
  Evaluation& d = governor_.restart(q_star);
  safe_torque_ = d.g();
  routing_.set_reference_basis(d);
  torque_limits_.restart();
  ramp_.restart(gains_);
  cancel_ramp_.restart();
  task_stiffness_ramp_.restart();
  task_stiffness_ramp_.follow(has_task_stiffness(), 0.0);
  return true;
}

const Command& TaskSpaceIDAPBC::update(const RobotState& state, const Reference& reference,
                                       double dt) noexcept {
  if (!(state.is_usable(model_) && is_usable_step(dt))) {
    note_missed_updates();
    return hold_gravity();
  }
  d_.set(state);
  static_cast<LimitGains&>(ramp_.limit_demand) = torque_limits_.limit_demand;
  const TaskSpaceGains& gains = ramp_.follow(gains_, dt);
  const double h = horizon(dt, gains.delay, state.age);
  model_.joint_positions(d_.q(), positions_);
  depth_ = joint_limits_.depth(positions_, gains.limit_margin);
  const double limit_spring_energy = 0.5 * gains.limit_stiffness * depth_.squaredNorm();
  tank_potential_.settle_sample(d_, limit_spring_energy, gains.tank_capacity, gains.tank_initial,
                                dt);
  const double added_energy = follow_reference(reference, dt);
  jacobian_ = task_.jacobian(d_);
  effort_.split(d_, jacobian_, kMinSigma);
  gradient_ = tank_potential_.authority() * tank_potential_.potential().gradient(d_.q());
  gradient_ += gains.limit_stiffness * depth_;
  compute_springs_and_damping(h);
  const Matrix3V jacobian_rate = task_.jacobian_rate(d_);

  const double cancellation = cancel_ramp_.follow(gains_.cancel_coupling, dt);
  const bool is_cancelled = cancellation > 0.0 && routing_.torque(d_, jacobian_, effort_.svd,
                                                                  jacobian_rate, routing_torque_);
  if (is_cancelled) routing_torque_ *= cancellation;
  desired_torque_ = d_.g() - gradient_ - effort_.damping_force;
  torque_ = d_.g() + effort_.impedance.brake(d_, h, is_cancelled ? &routing_torque_ : nullptr);
  torque_ -= effort_.impedance.spring_force + effort_.damping_force;
  if (is_cancelled) {
    desired_torque_ += routing_torque_;
    torque_ += routing_torque_;
  }
  torque_ =
      torque_limits_.apply(torque_, d_.g(), d_.v(), gains.max_torque_rate, gains.max_power, dt);
  safe_torque_ = d_.g();
  clip_to_max_effort(model_, safe_torque_);
  tank_potential_.grant(d_, torque_, safe_torque_, limit_spring_energy, torque_limits_, dt);
  if (!tank_potential_.reason().empty()) torque_limits_.set_last_torque(torque_);
  tank_potential_.hold_effort(d_, torque_, limit_spring_energy);

  const double potential_energy = tank_potential_.energy(d_.q()) + limit_spring_energy;
  const double kinetic_energy = d_.kinetic_energy();
  const auto& tank = tank_potential_.tank();
  ControlEnergy& energy = command_.energy;
  energy.closed_loop_energy = kinetic_energy + potential_energy;
  energy.shaped_potential = potential_energy;
  energy.kinetic_task = kinetic_energy - effort_.motion.kinetic_null;
  energy.kinetic_null = effort_.motion.kinetic_null;
  energy.damping_task = effort_.motion.eta.dot(effort_.task_damping_force);
  energy.damping_null = effort_.motion.nu.dot(effort_.null_damping_force) +
                        d_.v().dot(effort_.impedance.predicted_spring_force);
  energy.reference_power = dt > 0.0 ? added_energy / dt : 0.0;
  energy.clipped_power = (torque_ - desired_torque_).dot(d_.v());
  energy.routing_power = is_cancelled ? routing_torque_.dot(d_.v()) : 0.0;
  energy.null_to_task = effort_.motion.null_to_task_power(d_, effort_.svd, jacobian_rate);
  energy.tank_level = tank ? tank->level : 0.0;
  energy.unaccounted_energy = tank ? tank->unaccounted_energy : 0.0;
  const Eigen::Vector3d target = governor_.target().value_or(governor_.current_minimum().x);
  command_.torque = torque_;
  command_.task_error = (task_.origin(d_) - target).norm();
  command_.smallest_singular_value = effort_.motion.smallest_singular_value;
  command_.authority = tank_potential_.authority();
  update_status();
  return command_;
}

const Command& TaskSpaceIDAPBC::hold_gravity() noexcept {
  command_.torque = safe_torque_;
  command_.energy = ControlEnergy{};
  command_.status = Status::holding;
  command_.reason = reasons::unusable_state_of_arm;
  command_.task_error = 0.0;
  command_.smallest_singular_value = kInfinity;
  command_.authority = 1.0;
  return command_;
}

// Move minimum and stiffness towards reference and gains; return the energy added, J.
double TaskSpaceIDAPBC::follow_reference(const Reference& reference, double dt) noexcept {
  const TaskSpaceGains& gains = ramp_.active_gains();
  task_stiffness_ramp_.follow(has_task_stiffness(), dt);
  const Minimum& candidate =
      governor_.propose(reference, dt, gains.max_reference_speed, gains.limit_margin);
  const Minimum* accepted_minimum = &candidate;
  const double added_energy =
      tank_potential_.change(d_.q(), [&](double share) noexcept -> const ShapedPotential& {
        accepted_minimum = share == 1.0 ? &candidate : &governor_.interpolate(candidate, share);
        return potential(*accepted_minimum);
      });
  governor_.accept(*accepted_minimum);
  return added_energy;
}

// The potential that the gains define at a minimum.
const ShapedPotential& TaskSpaceIDAPBC::potential(const Minimum& minimum) noexcept {
  const TaskSpaceGains& gains = ramp_.active_gains();
  const double share = task_stiffness_ramp_.share(), k_iso = (1.0 - share) * gains.stiffness;
  if (share == 0.0) {
    desired_potential_.set(minimum, gains.stiffness);
    return desired_potential_;
  }
  if (weight_minimum_id_ != minimum.identifier || weight_stiffness_ != gains.task_stiffness ||
      weight_null_ != gains.null_stiffness || weight_share_ != share || weight_iso_ != k_iso) {
    const Eigen::Matrix3d stiffness = gains.task_stiffness * Eigen::Matrix3d::Identity();
    minimum_state_.set(minimum.q, zero_velocity_);
    weight_matrix_.matrix =
        weight_of_task_stiffness(task_, minimum_state_, stiffness, gains.null_stiffness);
    weight_matrix_.matrix *= share;
    for (int k = 0; k < model_.n(); ++k) weight_matrix_.matrix(k, k) += k_iso;
    ++weight_matrix_.version;
    weight_minimum_id_ = minimum.identifier;
    weight_stiffness_ = gains.task_stiffness;
    weight_null_ = gains.null_stiffness;
    weight_share_ = share;
    weight_iso_ = k_iso;
  }
  desired_potential_.set(minimum, weight_matrix_);
  return desired_potential_;
}

// The spring and damping forces that are held; `gradient_` is the gradient of the potential.
void TaskSpaceIDAPBC::compute_springs_and_damping(double h) noexcept {
  const TaskSpaceGains& gains = ramp_.active_gains();
  const VectorV next_positions = positions_ + h * d_.v();
  const VectorV predicted_depth = joint_limits_.depth(next_positions, gains.limit_margin);
  stiffness_.setZero(model_.n(), model_.n());
  tank_potential_.potential().add_weight(tank_potential_.authority(), stiffness_);
  for (Eigen::Index i = 0; i < depth_.size(); ++i) {
    // Springs at limits that are about to act count as well.
    if (depth_[i] != 0.0 || predicted_depth[i] != 0.0) stiffness_(i, i) += gains.limit_stiffness;
  }
  effort_.compute(d_, jacobian_, gradient_, stiffness_, gains.damping_task, gains.damping_null, h);
}

void TaskSpaceIDAPBC::update_status() noexcept {
  const auto set_status = [this](Status status, const char* reason) {
    command_.status = status;
    command_.reason = reason;
  };
  const Reason &tank_reason = tank_potential_.reason(), &limit_reason = torque_limits_.reason();
  if (!tank_reason.empty() || !limit_reason.empty()) {
    reason_.set("%s%s%s", tank_reason.text(),
                tank_reason.empty() || limit_reason.empty() ? "" : "; ", limit_reason.text());
    return set_status(Status::saturated, reason_.text());
  }
  if (!effort_.motion.is_regular) {
    reason_.set("near a singularity: smallest singular value %.3g",
                effort_.motion.smallest_singular_value);
    return set_status(Status::degraded, reason_.text());
  }
  if (governor_.is_rejected()) return set_status(Status::holding, reasons::reference_not_finite);
  if (tank_potential_.is_uncovered()) return set_status(Status::degraded, reasons::tank_empty);
  if (governor_.is_out_of_reach())
    return set_status(Status::degraded, reasons::reference_out_of_reach);
  set_status(Status::ok, effort_.impedance.reason());
}

std::unique_ptr<Controller> make_task_space_ida_pbc(const LawSetup& setup) {
  return std::make_unique<TaskSpaceIDAPBC>(setup.model);
}

const GainTable<TaskSpaceGains>& TaskSpaceGains::table() {
  using Gains = TaskSpaceGains;
  static const GainTable<Gains> gains{
      LimitGains::table(),
      {
          {"stiffness", "W = stiffness * I, N m/rad", &Gains::stiffness, 0.0, 1000.0},
          {"damping_task", "D_t = damping_task * I, N s/m", &Gains::damping_task, 0.0, 500.0},
          {"damping_null", "D_nu = damping_null * I, N m s/rad", &Gains::damping_null, 0.0, 500.0},
          {"reference_speed", "largest speed towards the reference, m/s",
           &Gains::max_reference_speed, 0.001, 2.0},
          {"task_stiffness", "K_t, N/m, replaces stiffness; 0: not used", &Gains::task_stiffness,
           0.0, 5000.0},
          {"null_stiffness", "K_nu, N m/rad; goes with task_stiffness", &Gains::null_stiffness, 0.0,
           1000.0},
          {"limit_stiffness", "joint-limit stiffness, N m/rad; 0: none", &Gains::limit_stiffness,
           0.0, 5000.0},
          {"limit_margin", gain_text::limit_margin, &Gains::limit_margin, 0.0, 0.5},
          {"cancel_coupling", gain_text::cancel_coupling, &Gains::cancel_coupling},
          {"tank_capacity", gain_text::tank_capacity, &Gains::tank_capacity, 0.0, 100.0,
           Ramp::none},
          {"tank_initial", gain_text::tank_initial, &Gains::tank_initial, 0.0, 100.0, Ramp::none},
      }};
  return gains;
}

}  // namespace vms_ph
