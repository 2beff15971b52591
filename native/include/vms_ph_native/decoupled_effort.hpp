// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// The effort of the decoupled law for a potential and a reference.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/held_impedance.hpp"

namespace vms_ph {

/// What a potential, a reference and damping of locked motion and shape demand of a robot on a
/// moving base [A (59)]; the part of vms_ph_controllers.DecoupledVMSController without memory.
///
/// A workspace: one thread at a time. After construction nothing allocates or throws.
class DecoupledEffort {
 public:
  /// The model must outlive it.
  explicit DecoupledEffort(const Model& model);

  /// What is demanded; set before compute().
  struct Demand {
    VectorV gradient, stiffness;  ///< (nv,) of the potential, the stiffness is diagonal
    VectorV velocity;             ///< (nv,) of the reference
    VectorV acceleration;         ///< (nv,) of the reference
    bool is_resting = true;       ///< whether both are zero
    double base = 0.0;            ///< damping of the locked motion, 1/s
    double shape = 0.0;           ///< damping of the shape, 1/s
    double h = 0.0;               ///< the horizon, s
  } demand;

  /// Compute the effort at a state.
  void compute(Evaluation& d) noexcept;

  VectorV error;   ///< of the velocity, (nv,)
  VectorV wanted;  ///< (nv,) the effort in which the energy balance is stated
  VectorV sent;    ///< (nv,) with the reduced spring and the brake
  double kinetic_base = 0.0, kinetic_shape = 0.0;  ///< J
  double damping_base = 0.0, damping_shape = 0.0;  ///< W

  /// What was reduced, in words; empty when nothing was.
  const char* reason() const noexcept { return held_.reason(); }

 private:
  const int b_, n_;
  HeldImpedance held_;
  MatrixV damping_, stiffness_;
};

}  // namespace vms_ph
