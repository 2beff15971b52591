// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/energy_guard/efforts_under_way.hpp"

#include <algorithm>

namespace vms_ph {

EffortsUnderWay::EffortsUnderWay(const Model& model, int delay)
    : model_(model),
      delay_(delay),
      held_(model),
      start_(VectorQ::Zero(model.nq())),
      low_(VectorV::Zero(model.nv())),
      high_(low_),
      way_(low_),
      still_(low_) {
  queue_.fill(low_);
  active_.fill(low_);
}

void EffortsUnderWay::forget(const VectorV& effort, const VectorV& active) noexcept {
  queue_.fill(effort);
  active_.fill(active);
  held_.forget();
  has_start_ = false;
  is_seen_ = true;
}

void EffortsUnderWay::send(const VectorV& effort, const VectorV& active) noexcept {
  queue_[index(0)] = effort;
  active_[index(0)] = active;
  first_ = (first_ + 1) % (delay_ + 1);
}

void EffortsUnderWay::see(Evaluation& d) noexcept {
  start_ = d.q();
  potential_ = d.potential_energy();
  has_start_ = is_seen_ = true;
  held_.hold(d, at(0), still_, -potential_);
  low_ = high_ = at(0);
}

void EffortsUnderWay::act_unseen() noexcept {
  if (!has_start_) return;
  is_seen_ = false;
  low_ = low_.cwiseMin(at(0));
  high_ = high_.cwiseMax(at(0));
}

double EffortsUnderWay::work(Evaluation& d, double dt) noexcept {
  if (!has_start_) return 0.0;
  const double potential = d.potential_energy();
  if (is_seen_) return -held_.recovered_energy(d, -potential, dt);
  model_.difference(start_, d.q(), way_);
  const double most = low_.cwiseProduct(way_).cwiseMax(high_.cwiseProduct(way_)).sum();
  return std::max(0.0, most - (potential - potential_));
}

}  // namespace vms_ph
