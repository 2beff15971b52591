// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The weight of an observed payload in the gravity term of any law.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph {

/// A law whose efforts carry the weight of a payload as well; it is described in
/// vms_ph_controllers/laws/payload_compensation.py.
class PayloadCompensation final : public Controller {
 public:
  /// Compensate a payload beside a law for a robot, which must outlive it.
  ///
  /// @param rate  largest change of the mass in force, kg/s; of the first moment 0.3 m times it.
  PayloadCompensation(const Model& model, std::shared_ptr<Controller> law, double rate = 2.0);

  bool reset(const RobotState& state) noexcept override { return law_->reset(state); }
  bool resume(const RobotState& state) noexcept override { return law_->resume(state); }
  void missed_updates() noexcept override { law_->missed_updates(); }
  std::vector<Gain> gains() const override { return law_->gains(); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return law_->set_gain(name, value);
  }

  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept override;
  bool carry(double mass, const Eigen::Vector3d& moment, double deviation) noexcept override;
  const Eigen::VectorXd* further_weight(const Eigen::VectorXd& q) noexcept override;

  /// How far from the end effector the centre of mass of a payload may be, m.
  static double reach_of(const Model& model);

  /// Mass in force, kg.
  double mass() const noexcept { return carried_[0]; }

 private:
  void follow(double dt) noexcept;

  const Model& model_;
  std::shared_ptr<Controller> law_;
  const double rate_;
  const Eigen::VectorXd rest_;  // (nv,) zeros
  Evaluation d_;
  Eigen::Vector4d target_ = Eigen::Vector4d::Zero(), carried_ = target_;  // mass and its moment
  Eigen::VectorXd weight_;                                                // (nv,)
  const double reach_;
  Reason reason_;
  Command command_;
};

}  // namespace vms_ph
