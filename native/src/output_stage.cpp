// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/output_stage.hpp"

#include <utility>

#include "vms_ph_native/products.hpp"

namespace vms_ph {

const GainTable<OutputGains>& OutputGains::table() {
  using G = OutputGains;
  static const GainTable<G> gains{
      LimitGains::table(),
      {
          {"limit_margin", "distance from a joint limit at which its spring begins, rad or m",
           &G::limit_margin, 0.0, 1.0},
          {"limit_frequency", "natural frequency of the springs at the joint limits, rad/s",
           &G::limit_frequency, 0.0, 100.0},
          {"tank_capacity", "capacity of the energy tank, J; 0: no tank", &G::tank_capacity, 0.0,
           1e6, true},
          {"tank_initial", "level of the tank after a reset, J", &G::tank_initial, 0.0, 1e6, true},
      }};
  return gains;
}

OutputStage::OutputStage(const Model& model, std::optional<Allocation> allocation,
                         bool base_actuated)
    : OutputStage(model,
                  std::make_unique<BaseActuation>(model, std::move(allocation), base_actuated)) {}

OutputStage::OutputStage(const Model& model, std::unique_ptr<Actuation> actuation)
    : b_(model.b()),
      n_(model.n()),
      actuation_(std::move(actuation)),
      limits_(model),
      tank_(model),
      active_(VectorV::Zero(model.nv())),
      force_(active_),
      resting_(active_),
      weight_(active_),
      brake_(active_),
      reason_(1024) {
  safe_.wrench_base.setZero(b_);
  safe_.torque.setZero(n_);
  safe_.status = Status::holding;
  safe_.reason =
      "the state is not finite or does not fit this robot, or the time step is not in [0, 1] s; "
      "holding against gravity";
  refused_ = safe_;
  refused_.reason =
      "the effort of the law is not finite, because its reference is too large; holding against "
      "gravity until the next reset";
}

void OutputStage::restart(Evaluation& d) noexcept {
  tank_.restart();
  resume(d);
}

void OutputStage::resume(Evaluation& d) noexcept {
  limits_.restart();
  tank_.forget_sample();
  hold(d);
}

void OutputStage::missed_updates() noexcept { tank_.missed_updates(weight_); }

const Command& OutputStage::refuse(Evaluation& d) noexcept {
  hold(d);
  missed_updates();
  refused_.wrench_base = safe_.wrench_base;
  refused_.torque = safe_.torque;
  return refused_;
}

const VectorV& OutputStage::apply(Evaluation& d, const VectorV& wanted, const OutputGains& gains,
                                  double dt) noexcept {
  const double stored = gains.tank_capacity > 0.0 ? -d.potential_energy() : 0.0;
  tank_.begin_sample(d, stored, gains.tank_capacity, gains.tank_initial, dt);
  hold(d);
  resting_.head(b_) = safe_.wrench_base;
  resting_.tail(n_) = safe_.torque;
  achieve(d, wanted, force_);
  force_.tail(n_) = limits_.apply(force_.tail(n_), weight_.tail(n_), d.v().tail(n_),
                                  gains.torque_rate, gains.power, dt);
  const bool covered = tank_.grant(d, force_, resting_, 0.0, dt);
  reason_.clear();
  add_reason(tank_.reason());
  add_reason(actuation_->reason());
  add_reason(limits_.reason());
  if (!covered) {
    strongest_brake(d, dt, active_);
    achieve(d, active_, brake_);
    const double share = limits_.share_within(resting_.tail(n_), brake_.tail(n_));
    brake_ = resting_ + share * (brake_ - resting_);
    tank_.brake(force_, resting_, brake_);
  }
  if (!tank_.reason().empty()) limits_.replace(force_.tail(n_));
  // Gravity that the resting effort leaves is not counted.
  if (tank_.tank()) tank_.end_sample(d, force_ - (resting_ - d.g()), -d.potential_energy());
  return force_;
}

void OutputStage::achieve(Evaluation& d, const VectorV& wanted, VectorV& result) noexcept {
  const VectorV& weight = d.g();
  const VectorB& wrench = actuation_->apply(wanted.head(b_), weight.head(b_));
  // The desired shape force, and the compensation of the wrench that the base applies.
  const VectorB lacking = wrench - wanted.head(b_);
  result.tail(n_) = wanted.tail(n_);
  add_product(transposed(d.A()), lacking, result.tail(n_));
  result.head(b_) = wrench;
}

void OutputStage::add_reason(const Reason& part) noexcept {
  if (!part.empty()) reason_.add(reason_.empty() ? "%s" : "; %s", part.text());
}

void OutputStage::hold(Evaluation& d) noexcept {
  weight_ = d.g();
  const VectorV& weight = weight_;
  const VectorB& wrench = actuation_->apply(weight.head(b_), weight.head(b_));
  const VectorB lacking = wrench - weight.head(b_);
  safe_.wrench_base = wrench;
  safe_.torque = weight.tail(n_);
  add_product(transposed(d.A()), lacking, safe_.torque);
  clip_to_effort(d.model(), safe_.torque);
}

}  // namespace vms_ph
