// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/output_stage.hpp"

#include <utility>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/plausibility.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

const GainTable<OutputGains>& OutputGains::table() {
  using G = OutputGains;
  static const GainTable<G> gains{
      LimitGains::table(),
      {
          {"limit_margin", gain_text::limit_margin, &G::limit_margin},
          {"limit_frequency", gain_text::limit_frequency, &G::limit_frequency, 0.0, 100.0},
          {"tank_capacity", gain_text::tank_capacity, &G::tank_capacity, 0.0, 1e6, Ramp::none},
          {"tank_initial", gain_text::tank_initial, &G::tank_initial, 0.0, 1e6, Ramp::none},
      }};
  return gains;
}

OutputStage::OutputStage(const Model& model, std::unique_ptr<Actuation> actuation)
    : b_(model.b()),
      n_(model.n()),
      actuation_(std::move(actuation)),
      torque_limits_(model),
      tank_(model),
      load_(VectorV::Zero(model.nv())),
      reason_(1024) {
  loaded_effort_ = effort_ = static_effort_ = total_weight_ = brake_ = load_;
  safe_command_.wrench_base.setZero(b_);
  safe_command_.torque.setZero(n_);
  safe_command_.status = Status::holding;
  safe_command_.reason = reasons::unusable_state;
  rejected_command_ = safe_command_;
  rejected_command_.reason = reasons::reference_too_large;
}

void OutputStage::restart(Evaluation& d) noexcept {
  tank_.restart();
  resume(d);
}

void OutputStage::resume(Evaluation& d) noexcept {
  torque_limits_.restart();
  tank_.discard_sample();
  update_safe_command(d);
}

void OutputStage::note_missed_updates() noexcept { tank_.note_missed_updates(total_weight_); }

const Command& OutputStage::reject_effort(Evaluation& d) noexcept {
  update_safe_command(d);
  note_missed_updates();
  rejected_command_.wrench_base = safe_command_.wrench_base;
  rejected_command_.torque = safe_command_.torque;
  return rejected_command_;
}

const VectorV& OutputStage::apply(Evaluation& d, const VectorV& desired_effort,
                                  const OutputGains& gains, double dt) noexcept {
  const double stored_energy = gains.tank_capacity > 0.0 ? -d.potential_energy() : 0.0;
  tank_.settle_sample(d, stored_energy, gains.tank_capacity, gains.tank_initial, dt);
  update_safe_command(d);
  static_effort_.head(b_) = safe_command_.wrench_base;
  static_effort_.tail(n_) = safe_command_.torque;
  loaded_effort_ = desired_effort + load_;
  realise_wrench(d, loaded_effort_, effort_);
  effort_.tail(n_) = torque_limits_.apply(effort_.tail(n_), total_weight_.tail(n_), d.v().tail(n_),
                                          gains.max_torque_rate, gains.max_power, dt);
  // The motion of the robot is predicted without the load and what holds it.
  effort_ -= load_;
  static_effort_ -= load_;
  const bool is_covered = tank_.grant(d, effort_, static_effort_, 0.0, dt);
  reason_.clear();
  reason_.add_sentence(tank_.reason().text());
  reason_.add_sentence(actuation_->reason().text());
  reason_.add_sentence(torque_limits_.reason().text());
  if (!is_covered) {
    strongest_brake(d, dt, loaded_effort_);
    loaded_effort_ += load_;
    realise_wrench(d, loaded_effort_, brake_);
    const double share = torque_limits_.allowed_share(safe_command_.torque, brake_.tail(n_));
    brake_ = static_effort_ + share * (brake_ - load_ - static_effort_);
    tank_.brake(effort_, static_effort_, brake_);
  }
  effort_ += load_;
  static_effort_ += load_;
  if (!tank_.reason().empty()) torque_limits_.set_last_torque(effort_.tail(n_));
  // Gravity that the static effort leaves is not counted.
  if (tank_.tank()) tank_.hold_effort(d, effort_ - (static_effort_ - d.g()), -d.potential_energy());
  effort_ -= load_;
  return effort_;
}

void OutputStage::realise_wrench(Evaluation& d, const VectorV& effort, VectorV& result) noexcept {
  const VectorB& wrench = actuation_->apply(effort.head(b_), total_weight_.head(b_));
  // The desired shape force, and the compensation of the wrench that the base applies.
  const VectorB wrench_error = wrench - effort.head(b_);
  result.tail(n_) = effort.tail(n_);
  add_product(transposed(d.A()), wrench_error, result.tail(n_));
  result.head(b_) = wrench;
}

void OutputStage::update_safe_command(Evaluation& d) noexcept {
  total_weight_ = d.g() + load_;
  realise_wrench(d, total_weight_, static_effort_);
  safe_command_.wrench_base = static_effort_.head(b_);
  safe_command_.torque = static_effort_.tail(n_);
  clip_to_max_effort(d.model(), safe_command_.torque);
}

namespace {

// Largest h^2 G at which a weight is held, see vms_ph_controllers/laws/sampled_impedance.py.
constexpr double kLargestWeightRatio = 3.0;

// Step of a difference of the weight, rad or m.
constexpr double kDifferenceStep = 1e-4;

}  // namespace

SafeOutput::SafeOutput(const Model& model, std::optional<Allocation> allocation, bool base_actuated)
    : model_(model),
      actuation_(model, std::move(allocation), base_actuated),
      d_(model),
      displaced_q_(Eigen::VectorXd::Zero(model.nq())) {
  static_wrench_ = wrench_ = VectorB::Zero(model.b());
  braking_effort_ = weight_ = VectorV::Zero(model.nv());
  holding_torque_ = braking_torque_ = torque_ = VectorV::Zero(model.n());
}

void SafeOutput::compute(const ConstVector& q, const ConstVector& v, double dt, double age,
                         const Eigen::VectorXd* payload_weight) noexcept {
  const int b = model_.b(), n = model_.n();
  const Eigen::VectorXd& max_effort = model_.max_effort();
  d_.set(q, v);
  weight_ = d_.g();
  if (payload_weight) weight_ += *payload_weight;
  braking_effort_.setZero();
  add_product(d_.M(), v, braking_effort_, -braking_rate(dt, age));
  static_wrench_ = actuation_.apply(weight_.head(b), weight_.head(b));
  holding_torque_ = weight_.tail(n);
  braking_torque_ = braking_effort_.tail(n);
  if (b > 0) {
    VectorB wrench_error = static_wrench_ - weight_.head(b);
    add_product(transposed(d_.A()), wrench_error, holding_torque_);
    const VectorB desired_effort = static_wrench_ + braking_effort_.head(b);
    wrench_ = actuation_.apply(desired_effort, static_wrench_);
    // What the base does not apply must not act on the shape either.
    wrench_error = wrench_ - desired_effort;
    add_product(transposed(d_.A()), wrench_error, braking_torque_);
  }
  clip_to_max_effort(model_, holding_torque_);
  const VectorV min_effort = -max_effort;
  torque_ = share_within_limits(holding_torque_, braking_torque_, min_effort, max_effort) *
            braking_torque_;
  torque_ += holding_torque_;
  clip_to_max_effort(model_, torque_);
}

bool SafeOutput::holds_weight(const ConstVector& q, double h) noexcept {
  VectorV displacement = VectorV::Zero(model_.nv());
  d_.set(q, displacement);
  const VectorV weight = d_.g();
  MatrixV stability_matrix = kLargestWeightRatio / (h * h) * d_.M();
  for (Eigen::Index i = 0; i < displacement.size(); ++i) {
    displacement.setZero();
    displacement[i] = kDifferenceStep;
    model_.integrate(q, displacement, displaced_q_);
    displacement.setZero();
    d_.set(displaced_q_, displacement);
    const VectorV half_slope = 0.5 / kDifferenceStep * (d_.g() - weight);
    stability_matrix.row(i) += half_slope;
    stability_matrix.col(i) += half_slope;
  }
  return Cholesky(stability_matrix).is_positive();
}

}  // namespace vms_ph
