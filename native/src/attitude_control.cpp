// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/attitude_control.hpp"

#include "vms_ph_native/products.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {
namespace {

// Singular values below this share of the largest count as zero.
constexpr double kRank = 1e-6;

const Allocation& checked(const Model& model, const std::optional<Allocation>& allocation,
                          bool base_actuated) {
  if (model.base() != Base::floating || !model.gravity().isZero(0.0)) {
    throw ModelError(
        "AttitudeControl is for robots that float freely in space, without gravity and fluid; '" +
        model.name() + "' does not");
  }
  if (!allocation || !base_actuated) {
    throw ModelError("AttitudeControl needs what turns '" + model.name() +
                     "'; give its allocation, as actuators:=own does");
  }
  const Eigen::MatrixXd moments = allocation->matrix().bottomRows(3);
  SymmetricEigen squares;
  squares.compute(product<Eigen::MatrixXd>(moments, transposed(moments)));
  if (!(squares.values()[0] > kRank * kRank * squares.values()[2])) {
    throw ModelError("the actuators of '" + model.name() + "' cannot turn it about all axes");
  }
  return *allocation;
}

}  // namespace

const GainTable<AttitudeControlGains>& AttitudeControlGains::table() {
  static const GainTable<AttitudeControlGains> gains{AttitudeGains::table(), {}};
  return gains;
}

AttitudeControl::AttitudeControl(const Model& model, const std::optional<Allocation>& allocation,
                                 bool base_actuated)
    : RampedGains(model, checked(model, allocation, base_actuated)) {
  begin();
}

BaseMotion AttitudeControl::base_motion(Evaluation&, const LockedBody& body, double) noexcept {
  BaseMotion motion;
  motion.attitude = base().pose().topLeftCorner<3, 3>();
  const Eigen::Vector3d turning = base().twist().tail<3>();
  const Eigen::Vector3d turned = motion.attitude * turning;
  motion.turning = body.rotation.transpose() * turned;
  return motion;
}

}  // namespace vms_ph
