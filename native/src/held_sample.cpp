#include "vms_ph_native/held_sample.hpp"

#include <algorithm>

namespace vms_ph {

HeldSample::HeldSample(const Model& model)
    : model_(model),
      q_(VectorQ::Zero(model.nq())),
      force_(VectorV::Zero(model.nv())),
      safe_(force_),
      way_(force_) {}

void HeldSample::hold(const Evaluation& d, const VectorV& force, double store) noexcept {
  q_ = d.q();
  force_ = force;
  store_ = store;
  holds_ = true;
  missed_ = false;
}

void HeldSample::missed_updates(const VectorV& safe) noexcept {
  safe_ = safe;
  missed_ = true;
}

double HeldSample::recovered_energy(const Evaluation& d, double store) noexcept {
  if (!holds_) return 0.0;
  model_.difference(q_, d.q(), way_);
  const double work = force_.dot(way_);
  if (!missed_) return store_ - store - work;
  return std::min(store_ - store - std::max(work, safe_.dot(way_)), 0.0);
}

}  // namespace vms_ph
