// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/sample_grant.hpp"

#include <algorithm>
#include <cmath>

namespace vms_ph {
namespace {

// Number of shares that are tried; each trial corrects the work per share by its prediction.
constexpr int kTrials = 5;

// Largest ratio of a share to the one tried before it.
constexpr double kShrinking = 0.9;

// Part of the momentum that the strongest brake takes out per sample: a third is stable with one
// sample of delay too.
constexpr double kBrake = 1.0 / 3.0;

// The largest share s with s a + s^2 b / 2 within the room, J. Where a is negative, that is
// room - a^2 / 2 b, and the least work without room.
double largest(double a, double b, double room) {
  if (!(b > 0.0 && std::isfinite(a + b))) return 0.0;
  room = std::max(room, 0.0);
  if (a < 0.0) return (-a + std::sqrt(2.0 * b * room)) / b;
  return room > 0.0 ? 2.0 * room / (a + std::sqrt(a * a + 2.0 * b * room)) : 0.0;
}

}  // namespace

SampleGrant::SampleGrant(const Model& model)
    : prediction_(model), beyond_(VectorV::Zero(model.nv())), force_(beyond_) {
  for (Prediction* each : {&rest_, &tried_, &chosen_}) each->acceleration = each->way = beyond_;
}

bool SampleGrant::grant(Evaluation& d, VectorV& force, const VectorV& resting, double budget,
                        double dt) noexcept {
  reason_.clear();
  share_ = 1.0;
  if (dt == 0.0) {
    chosen_.way.setZero();
    return true;
  }
  prediction_.begin(d, resting - d.g(), budget, dt);
  prediction_.predict(force, chosen_);
  if (chosen_.lack <= 0.0) return true;
  beyond_ = force - resting;
  prediction_.predict(resting, rest_);
  const double b = dt * dt * beyond_.dot(chosen_.acceleration - rest_.acceleration);
  double a = dt * beyond_.dot(d.v() + 0.5 * dt * rest_.acceleration), most = kShrinking;
  chosen_ = rest_;
  share_ = 0.0;
  for (int k = 0; k < kTrials; ++k) {
    const double s = std::min(largest(a, b, -rest_.lack), most);
    if (!(s > 0.0)) break;
    force_ = resting + s * beyond_;
    prediction_.predict(force_, tried_);
    if (tried_.lack <= 0.0 || tried_.lack < chosen_.lack) {
      share_ = s;
      chosen_ = tried_;
    }
    if (tried_.lack <= 0.0) break;
    a = (tried_.lack - rest_.lack) / s - 0.5 * s * b;
    most = kShrinking * s;
  }
  force = resting;
  if (share_ > 0.0) force += share_ * beyond_;
  reason_.set("the energy tank covers %.0f%% of the effort", 100.0 * share_);
  return chosen_.lack <= 0.0;
}

void SampleGrant::brake(VectorV& force, const VectorV& resting, const VectorV& strongest) noexcept {
  beyond_ = strongest - resting;
  prediction_.predict(strongest, tried_);
  if (tried_.lack < chosen_.lack) {
    force = strongest;
    chosen_ = tried_;
  }
  if (!(tried_.lack <= 0.0)) return;
  double share = std::isfinite(rest_.lack) ? rest_.lack / (rest_.lack - tried_.lack) : 1.0;
  for (int k = 0; k < kTrials; ++k) {
    force_ = resting + share * beyond_;
    prediction_.predict(force_, tried_);
    if (tried_.lack <= 0.0) {
      force = force_;
      chosen_ = tried_;
      return;
    }
    share = 0.5 * (1.0 + share);
  }
}

void strongest_brake(Evaluation& d, double dt, VectorV& result) noexcept {
  result = d.g() - (kBrake / dt) * d.momentum();
}

}  // namespace vms_ph
