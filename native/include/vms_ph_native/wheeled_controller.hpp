// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Common base class of the laws for robots on wheels that do not slip.
#pragma once

#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// A law in the velocities that wheels allow. Its safe output compensates gravity by the joints.
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
    const char* const failure = write_command(reference, dt);
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
        d_at_rest_(model) {
    Gains::table();  // constructed here, so that setting a gain later does not allocate
    command_.wrench_base.setZero(b_);
    command_.torque.setZero(n_);
    safe_command_ = command_;
    safe_command_.status = Status::holding;
    hold(model.neutral_configuration(), reasons::unusable_state);
    fallback_torque_ = safe_command_.torque;
  }

  /// Write the command at the state of `terms_`; its base wrench stays zero. Returns why there is
  /// none; null on success.
  virtual const char* write_command(const Reference& reference, double dt) noexcept = 0;

  /// Command the smallest torques S_j^T tau = f of all joints, within the limits. Returns why there
  /// are none; null on success.
  const char* set_torque(const VectorV& force, double dt) noexcept {
    if (!find_torque(force) || !desired_torque_.allFinite()) return reasons::reference_too_large;
    Evaluation& d = terms_.evaluation();
    command_.torque = torque_limits_.apply(desired_torque_, d.g().tail(n_), d.v().tail(n_),
                                           gains_.max_torque_rate, gains_.max_power, dt);
    command_.status = torque_limits_.reason().empty() ? Status::ok : Status::saturated;
    command_.reason = torque_limits_.reason().text();
    return nullptr;
  }

  /// Whether the joints can drive all motions of the wheels at a state.
  bool can_drive_all_motions(const RobotState& state) noexcept {
    return terms_.compute(state) && find_torque(VectorV::Zero(terms_.dimension()));
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
  Evaluation d_at_rest_;  // where gravity is compensated, or a reference begins

 private:
  /// Compensate gravity by the joints.
  const Command& hold(const ConstVector& q, const char* reason) noexcept {
    d_at_rest_.set(q, zero_velocity_);
    safe_command_.torque = d_at_rest_.g().tail(n_);
    clip_to_max_effort(model_, safe_command_.torque);
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
