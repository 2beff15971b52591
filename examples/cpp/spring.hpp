// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The law of examples/06_law.py in C++: springs and dampers at the joints, without allocation.
#pragma once

#include <string>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/gain_table.hpp"

/// Holds the joints of an arm on a fixed base where they were at the reset.
class Spring final : public vms_ph::Controller {
 public:
  struct Gains {
    double stiffness = 60.0, damping = 8.0;
  };

  explicit Spring(const vms_ph::Model& model) : model_(model), d_(model) {
    command_.torque = Eigen::VectorXd::Zero(model.n());  // everything is allocated here
    rest_ = away_ = Eigen::VectorXd::Zero(model.nv());
  }

  bool reset(const vms_ph::RobotState& state) noexcept override {
    if (!state.is_usable(model_)) return false;
    rest_ = state.q;
    return true;
  }

  const vms_ph::Command& update(const vms_ph::RobotState& state, const vms_ph::Reference&,
                                double) noexcept override {
    command_.status = vms_ph::Status::holding;
    command_.reason = "the state is not finite";
    if (!state.is_usable(model_)) return command_;  // the torques of the last state
    d_.set(state.q, state.v);
    away_ = state.q - rest_;
    command_.torque = d_.g();
    command_.torque -= gains_.stiffness * away_ + gains_.damping * state.v;
    command_.energy.shaped_potential = 0.5 * gains_.stiffness * away_.squaredNorm();
    command_.energy.closed_loop_energy = d_.kinetic_energy() + command_.energy.shaped_potential;
    command_.status = vms_ph::Status::ok;
    command_.reason = "";
    return command_;
  }

  std::vector<vms_ph::Gain> gains() const override { return table().list(gains_); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return table().set(gains_, name, value);
  }

 private:
  static const vms_ph::GainTable<Gains>& table() {
    static const vms_ph::GainTable<Gains> fields{
        {"stiffness", "of every joint, N m/rad", &Gains::stiffness, 0.0, 500.0},
        {"damping", "of every joint, N m s/rad", &Gains::damping, 0.0, 100.0}};
    return fields;
  }

  const vms_ph::Model& model_;
  vms_ph::Evaluation d_;
  Gains gains_;
  vms_ph::Command command_;
  Eigen::VectorXd rest_, away_;
};
