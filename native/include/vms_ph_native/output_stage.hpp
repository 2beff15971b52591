// From the efforts a law wants to those a robot gets: actuators, tank, limits, safe output.
#pragma once

#include <optional>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/gain_table.hpp"
#include "vms_ph_native/limits.hpp"
#include "vms_ph_native/tank_layer.hpp"

namespace vms_ph {

/// What a user can set of the output stage.
struct OutputGains {
  double limit_margin = 0.05, limit_frequency = 10.0;
  double torque_rate = 0.0, power = 0.0;
  double tank_capacity = 0.0, tank_initial = 1.0;

  static const GainTable<OutputGains>& table();
};

/// Makes of the generalised force a law wants one that the robot can make.
///
/// What the base cannot do of its wrench is kept from the shape: the joints get
/// tau = tau_hat + A^T w with the shape force tau_hat that the law wants [A (73)] and the wrench w
/// that the base makes.
class OutputStage {
 public:
  /// Take a robot and its base's actuators; see BaseActuation. The model must outlive it.
  ///
  /// @throws ModelError  an allocation for another kind of base.
  OutputStage(const Model& model, std::optional<Allocation> allocation, bool base_actuated);

  /// Whether the base can do anything.
  bool base_is_actuated() const noexcept { return actuation_.actuated(); }

  /// What the energy tank holds, J; zero where there is none.
  double tank_level() const noexcept { return tank_.level(); }

  /// Begin anew: torques may jump, the tank is filled.
  void restart(Evaluation& d) noexcept;

  /// Know that the safe output acts, while nobody sees the robot.
  void missed_updates() noexcept;

  /// The safe output at a state, for a law that wants what is not finite.
  const Command& refuse(Evaluation& d) noexcept;

  /// What the robot gets of a wanted force (nv,): base wrench, then joint torques.
  const VectorV& apply(Evaluation& d, const VectorV& wanted, const OutputGains& gains,
                       double dt) noexcept;

  /// What the last call changed, in words; empty when nothing was.
  const Reason& reason() const noexcept { return reason_; }

  /// What holds the robot against gravity as well as its base can.
  const Command& safe() const noexcept { return safe_; }

 private:
  void hold(Evaluation& d) noexcept;
  void add_reason(const Reason& part) noexcept;

  const int b_, n_;
  const Eigen::VectorXd& effort_;
  BaseActuation actuation_;
  TorqueLimits limits_;
  TankLayer tank_;
  VectorV active_, force_;
  Reason reason_;
  Command safe_, refused_;
};

}  // namespace vms_ph
