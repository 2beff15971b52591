#include "vms_ph_native/tank_layer.hpp"

namespace vms_ph {

TankLayer::TankLayer(const Model& model) : held_(model) {}

void TankLayer::restart() noexcept {
  tank_.reset();
  held_.forget();
}

void TankLayer::begin_sample(Evaluation& d, double capacity, double initial) noexcept {
  if (capacity <= 0.0) {
    restart();
    return;
  }
  if (!tank_) tank_.emplace(capacity, initial);
  tank_->set_capacity(capacity);
  tank_->receive(held_.recovered_energy(d, -d.potential_energy()));
}

double TankLayer::grant(const VectorV& active, const Eigen::VectorXd& v, double dt) noexcept {
  reason_.clear();
  if (!tank_) return 1.0;
  const double wanted = dt * active.dot(v);
  if (wanted <= 0.0 || wanted <= tank_->available()) return 1.0;
  const double share = tank_->available() / wanted;
  reason_.set("the energy tank covers %.0f%% of the effort", 100.0 * share);
  return share;
}

void TankLayer::end_sample(Evaluation& d, const VectorV& force) noexcept {
  if (tank_) held_.hold(d, force, -d.potential_energy());
}

}  // namespace vms_ph
