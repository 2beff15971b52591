#include "vms_ph_native/output_stage.hpp"

#include <utility>

namespace vms_ph {

const GainTable<OutputGains>& OutputGains::table() {
  using G = OutputGains;
  static const GainTable<G> gains{
      {"torque_rate", "largest rate of change of a torque, N m/s; 0: no limit", &G::torque_rate,
       0.0, 1e6, true},
      {"power", "largest power into the joints, W; 0: no limit", &G::power, 0.0, 1e6, true},
      {"delay", "largest delay from measurement to effort at which damping is stable, samples",
       &G::delay, 0.0, 3.0},
      {"limit_margin", "distance from a joint limit at which its spring begins, rad or m",
       &G::limit_margin, 0.0, 1.0},
      {"limit_frequency", "natural frequency of the springs at the joint limits, rad/s",
       &G::limit_frequency, 0.0, 100.0},
      {"tank_capacity", "capacity of the energy tank, J; 0: no tank", &G::tank_capacity, 0.0, 1e6,
       true},
      {"tank_initial", "level of the tank after a reset, J", &G::tank_initial, 0.0, 1e6, true},
  };
  return gains;
}

OutputStage::OutputStage(const Model& model, std::optional<Allocation> allocation,
                         bool base_actuated)
    : b_(model.b()),
      n_(model.n()),
      effort_(model.effort()),
      actuation_(model, std::move(allocation), base_actuated),
      limits_(model),
      tank_(model),
      active_(VectorV::Zero(model.nv())),
      force_(active_),
      reason_(1024) {
  safe_.wrench_base.setZero(b_);
  safe_.torque.setZero(n_);
  safe_.status = Status::holding;
  safe_.reason = "the state is not finite or does not fit this robot; holding against gravity";
  refused_ = safe_;
  refused_.reason =
      "the effort of the law is not finite, because its reference is too large; holding against "
      "gravity until the next reset";
}

void OutputStage::restart(Evaluation& d) noexcept {
  limits_.restart();
  tank_.restart();
  hold(d);
}

void OutputStage::missed_updates() noexcept {
  force_.head(b_) = safe_.wrench_base;
  force_.tail(n_) = safe_.torque;
  tank_.missed_updates(force_);
}

const Command& OutputStage::refuse(Evaluation& d) noexcept {
  hold(d);
  missed_updates();
  refused_.wrench_base = safe_.wrench_base;
  refused_.torque = safe_.torque;
  return refused_;
}

const VectorV& OutputStage::apply(Evaluation& d, const VectorV& wanted, const OutputGains& gains,
                                  double dt) noexcept {
  const VectorV& weight = d.g();
  const MatrixBN& A = d.A();
  active_ = wanted - weight;
  tank_.begin_sample(d, gains.tank_capacity, gains.tank_initial);
  active_ *= tank_.grant(active_, d.v(), dt);
  const VectorB wanted_wrench = weight.head(b_) + active_.head(b_);
  const VectorB& wrench = actuation_.apply(wanted_wrench, weight.head(b_));
  // The desired shape force, and the compensation of the wrench that the base applies.
  const VectorB lacking = wrench - weight.head(b_) - active_.head(b_);
  VectorV torque = weight.tail(n_) + active_.tail(n_);
  torque.noalias() += A.transpose() * lacking;
  force_.tail(n_) =
      limits_.apply(torque, weight.tail(n_), d.v().tail(n_), gains.torque_rate, gains.power, dt);
  force_.head(b_) = wrench;
  reason_.clear();
  add_reason(tank_.reason());
  add_reason(actuation_.reason());
  add_reason(limits_.reason());
  tank_.end_sample(d, force_);
  hold(d);
  return force_;
}

void OutputStage::add_reason(const Reason& part) noexcept {
  if (!part.empty()) reason_.add(reason_.empty() ? "%s" : "; %s", part.text());
}

void OutputStage::hold(Evaluation& d) noexcept {
  const VectorV& weight = d.g();
  const VectorB& wrench = actuation_.apply(weight.head(b_), weight.head(b_));
  const VectorB lacking = wrench - weight.head(b_);
  safe_.wrench_base = wrench;
  safe_.torque = weight.tail(n_);
  safe_.torque.noalias() += d.A().transpose() * lacking;
  safe_.torque = safe_.torque.cwiseMax(-effort_).cwiseMin(effort_);
}

}  // namespace vms_ph
