// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The actuators of a simulated base in time.
#pragma once

#include <optional>
#include <vector>

#include "vms_ph_native/base_actuation.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/plant/actuators.hpp"

namespace vms_ph {

/// Whether an input works.
enum class Health : unsigned char {
  good,
  failed,  ///< it gives nothing, and the allocation does without it
  hidden,  ///< it gives nothing, and the allocation does not know
};

/// Makes of the wrench that is commanded the one that actuators apply: the nearest within their
/// limits, with the dead zones and the lags of rotors, tilts, the steering of casters, the momentum
/// of rotors and wheels, the friction of wheels and failures; as ActuatorDynamics in
/// vms_ph_dynamics/actuation/actuator_dynamics.py. Without actuators, the commanded one. Of their
/// energy,
///
///     electric = work on the base + change of rotors and wheels stores + lost
///
/// Over a step inputs are constant. After construction nothing allocates or throws.
class ActuatedBase {
 public:
  /// @param step  length of the steps, s.
  /// @throws ModelError  actuators of another kind of base, or more than the core serves.
  ActuatedBase(const Model& model, std::optional<BaseActuators> actuators, double step);

  /// Return to the start, where rotors turn as they do when a wrench (b,) has long been commanded;
  /// failures remain.
  void reset(const Eigen::VectorXd& wrench) noexcept;

  /// Keep the present state, for restore().
  void save() noexcept { saved_ = now_; }
  void restore() noexcept { now_ = saved_; }

  /// Set the health of an input, from the next step on.
  void set_health(std::size_t input, Health health) noexcept { health_[input] = health; }

  /// Let rotors turn as they do when a wrench (b,) has long been commanded; the supply gives what
  /// they store more.
  void settle(const Eigen::VectorXd& wrench) noexcept;

  /// The wrench (b,) over a step of a base that moves with `twist` (b,), but for the gyroscopic
  /// moment; `wrench` (b,) is commanded.
  const Eigen::VectorXd& hold(const Eigen::VectorXd& wrench, const Eigen::VectorXd& twist) noexcept;

  /// The momentum of rotors and wheels over the step that was held, from time `t` s on.
  const Spin& spin(double t) noexcept;

  /// Enter the step that was held, and its energy.
  ///
  /// @param work   of the wrench during the step, J.
  /// @param twist  (b,) of the base at its end.
  void commit(double work, const Eigen::VectorXd& twist) noexcept;

  /// Steer casters by a step in which a stand holds the base.
  ///
  /// @param before, after  (b,) twists at its start and end.
  void follow(const Eigen::VectorXd& before, const Eigen::VectorXd& after) noexcept;

  double electric() const noexcept { return now_.electric; }  ///< taken from the supply, J
  double lost() const noexcept { return now_.lost; }  ///< in fluid, friction and windings, J
  double stored() const noexcept;                     ///< kinetic energy of rotors and wheels, J

  /// Angular momentum of rotors and wheels, in the base frame, kg m^2/s.
  Eigen::Vector3d momentum() const noexcept;

  /// Angles (m,) of tilts and of steering, rad; there are actuators.
  const Eigen::VectorXd& angles() const noexcept { return now_.angles; }

 private:
  /// What changes with time.
  struct State {
    Eigen::VectorXd rates, thrusts, angles;  ///< (m,) of shafts, of rotors, of tilts and steering
    double electric = 0.0, lost = 0.0;
  };

  /// Parts that exist where there are actuators.
  struct Allocating {
    explicit Allocating(const BaseActuators& actuators);
    PrioritisedActuation nearest;  ///< of a map that does not turn, in its usual limits
    Eigen::MatrixXd weighted;      ///< map times weights
    NearestInputs search;
    ActuatorMap map;
    TiltAllocation tilting;
  };

  void set_limits() noexcept;
  void allocate(const Eigen::VectorXd& wrench, const Eigen::VectorXd& twist) noexcept;
  void lag() noexcept;
  void steer(const Eigen::VectorXd& rates) noexcept;

  double step_;
  std::optional<BaseActuators> actuators_;
  std::optional<Allocating> parts_;
  std::vector<Health> health_;
  Eigen::VectorXd remaining_;  ///< of a deviation after a step with the lag
  Eigen::VectorXd lower_, upper_;
  VectorB goal_;
  Eigen::VectorXd sent_, inputs_, friction_, acting_;  ///< over the step
  Eigen::VectorXd rates_, angles_;                     ///< at its end
  Eigen::VectorXd twist_, moving_,
      mean_rates_;  ///< of the base; of the inputs; mean rates of shafts
  Eigen::VectorXd wrench_;
  Spin spin_;
  State now_, saved_;
};

}  // namespace vms_ph
