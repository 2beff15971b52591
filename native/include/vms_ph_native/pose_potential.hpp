// A potential on the poses of a moving base: no Euler angles, no unwinding, no place to get stuck.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/se3.hpp"

namespace vms_ph {

/// 1/2 e^T k_p e + 4 k_r (1 - s eta) of the pose (R, e) of a body in its reference.
///
/// eta is the scalar part of the unit quaternion, s a sign that is kept until it is wrong by a
/// margin and then turned (C. G. Mayhew, R. G. Sanfelice, A. R. Teel, IEEE Trans. Automatic Control
/// 56(11), 2011); see vms_ph_controllers/potentials/pose_potential.py.
class PosePotential {
 public:
  /// Begin anew at a pose error, on the shorter way round.
  void restart(const Pose& error) noexcept;

  /// Take note of a new pose error; whether the sign turned.
  bool follow(const Pose& error) noexcept;

  /// The potential of the pose error last followed, J; k_position in N/m, k_rotation in N m/rad
  /// for small angles.
  double value(const Pose& error, double k_position, double k_rotation) const noexcept;

  /// The wrench in the body's axes, linear first, whose power is the potential's rate.
  Twist gradient(const Pose& error, double k_position, double k_rotation) const noexcept;

 private:
  Eigen::Vector4d quaternion_ = Eigen::Vector4d::UnitW();  // x, y, z, w
  double sign_ = 1.0;
};

}  // namespace vms_ph
