// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What laws have in common whose robots are on wheels that do not slip.
#pragma once

#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// A law in the velocities that wheels allow; the joints compensate gravity where it cannot act.
template <class Gains>
class WheeledController : public Controller {
 public:
  std::vector<Gain> gains() const override { return Gains::table().list(gains_); }
  bool set_gain(const std::string& name, double value) noexcept override {
    return Gains::table().set(gains_, name, value);
  }

  const Command& update(const RobotState& state, const Reference& reference,
                        double dt) noexcept final {
    if (!(state.is_usable(model_) && is_usable_step(dt))) {
      safe_command_.torque = fallback_torque_;
      safe_command_.reason = reasons::unusable_state;
      return safe_command_;
    }
    if (!terms_.compute(state)) return hold(state.q, terms_.reason());
    age_ = state.age;
    const char* const failure = drive(reference, dt);
    return failure ? hold(state.q, failure) : command_;
  }

 protected:
  /// The largest entry of a Jacobian that counts as zero.
  static constexpr double kRankTolerance = 1e-9;

  /// @throws ModelError  no wheels, a base that is not planar, or another mistake in the wheels.
  WheeledController(const Model& model, const std::vector<Wheel>& wheels)
      : model_(model),
        b_(model.b()),
        n_(model.n()),
        zero_velocity_(VectorV::Zero(model.nv())),
        terms_(model, wheels),
        torque_limits_(model),
        desired_torque_(VectorV::Zero(n_)),
        static_state_(model) {
    Gains::table();  // constructed here, so that setting a gain later does not allocate
    command_.wrench_base.setZero(b_);
    command_.torque.setZero(n_);
    safe_command_ = command_;
    safe_command_.status = Status::holding;
    hold(model.neutral_configuration(), reasons::unusable_state);
    fallback_torque_ = safe_command_.torque;
  }

  /// Write the command at the state of `terms_`, in which the base wrench stays zero; why there is
  /// none, or null.
  virtual const char* drive(const Reference& reference, double dt) noexcept = 0;

  /// Compute the smallest torques S_j^T tau = f of all joints and send them within the limits; why
  /// they cannot be sent, or null.
  const char* send_torque(const VectorV& force, double dt) noexcept {
    if (!find_torque(force) || !desired_torque_.allFinite()) return reasons::reference_too_large;
    Evaluation& d = terms_.evaluation();
    command_.torque = torque_limits_.apply(desired_torque_, d.g().tail(n_), d.v().tail(n_),
                                           gains_.torque_rate, gains_.power, dt);
    command_.status = torque_limits_.reason().empty() ? Status::ok : Status::saturated;
    command_.reason = torque_limits_.reason().text();
    return nullptr;
  }

  /// Whether the joints move all motions of the wheels at a state.
  bool can_drive_all(const RobotState& initial) noexcept {
    return terms_.compute(initial) && find_torque(VectorV::Zero(terms_.dimension()));
  }

  const Model& model_;
  const int b_, n_;
  const VectorV zero_velocity_;  // (nv,) zeros
  WheeledTerms terms_;
  TorqueLimits torque_limits_;
  VectorV desired_torque_;  // (n,) before the limits
  Command command_;
  double age_ = 0.0;  // of the state of terms_, s
  Gains gains_;
  Evaluation static_state_;  // where gravity is compensated, or a reference begins

 private:
  /// Compensate gravity by the joints.
  const Command& hold(const ConstVector& q, const char* reason) noexcept {
    static_state_.set(q, zero_velocity_);
    safe_command_.torque = static_state_.g().tail(n_);
    clip_to_effort(model_, safe_command_.torque);
    safe_command_.reason = reason;
    return safe_command_;
  }

  /// Compute the smallest torques S_j^T tau = f; false where there are none.
  bool find_torque(const VectorV& force) noexcept {
    const MatrixView joint_basis = MatrixView(terms_.basis).bottom_rows(n_);
    multiply(transposed(joint_basis), joint_basis, gram_);
    const Cholesky gram_factor(gram_);
    if (!gram_factor.is_positive()) return false;
    VectorV multipliers = force;
    gram_factor.solve(multipliers.data());
    multiply(joint_basis, multipliers, desired_torque_);
    return true;
  }

  MatrixV gram_;
  Eigen::VectorXd fallback_torque_;  // (n,) the safe output for no state
  Command safe_command_;
};

}  // namespace vms_ph
