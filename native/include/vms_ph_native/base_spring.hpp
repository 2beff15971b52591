// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A spring that holds the base of a robot where it was.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/pose_potential.hpp"

namespace vms_ph {

/// The components of a twist or wrench that a base has: (b,), none of a fixed one.
VectorB base_components(const Twist& twist, int b) noexcept;

/// A PosePotential of the base about its pose at the last restart. Its stiffness is given by a
/// frequency relative to the locked inertia there.
class BaseSpring {
 public:
  explicit BaseSpring(const Model& model)
      : force(VectorB::Zero(model.b())), stiffness(force), b_(model.b()) {}

  /// Hold the base where it is in a state.
  void restart(Evaluation& d) noexcept;

  /// Hold the base at another pose from now on.
  void move(const Pose& pose) noexcept { home_ = pose; }

  /// Compute the spring at a pose of the base.
  ///
  /// @param frequency  rad/s.
  /// @param share      of the spring of its place that is in force, in [0, 1].
  /// @param turning    of the spring of its attitude.
  void compute(const Pose& pose, double frequency, double share, double turning) noexcept;

  double energy = 0.0;       ///< J
  VectorB force, stiffness;  ///< gradient of the potential and stiffnesses, (b,)

 private:
  const int b_;
  PosePotential potential_;
  Pose home_ = Pose::Identity();
  double mass_ = 0.0, inertia_ = 0.0;
};

}  // namespace vms_ph
