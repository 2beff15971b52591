// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The attitude of a base in space by reaction wheels, with an arm that moves.
#include <memory>
#include <optional>

#include "law_factories.hpp"
#include "vms_ph_native/attitude_and_shape.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {

/// Gains of the attitude in space.
struct AttitudeControlGains : AttitudeGains {
  AttitudeControlGains() {
    frequency_attitude = 0.3;
    frequency_shape = 4.0;
  }

  static const GainTable<AttitudeControlGains>& table();
};

/// Holds the attitude of a base by moments alone, and its joints; the position is free. The law is
/// described in vms_ph_controllers/laws/attitude_and_shape.py.
class AttitudeControl final : public RampedGains<AttitudeAndShape, AttitudeControlGains> {
 public:
  /// Control attitude and joints of a robot, which must outlive the controller.
  ///
  /// @param allocation   its actuators, which can turn the base about all axes.
  /// @throws ModelError  the base does not float without gravity, or nothing turns it.
  AttitudeControl(const Model& model, const std::optional<Allocation>& allocation,
                  bool base_actuated = true);

 private:
  BaseMotion base_motion(Evaluation& d, const LockedBody& body, double h) noexcept override;
  Eigen::Matrix3d attitude_of(const Eigen::Matrix3d& rotation) const noexcept override {
    return rotation;
  }
  Twist twist_of(const Twist& twist) const noexcept override { return twist; }
  double bandwidth() const noexcept override { return gains_now().frequency_attitude; }
};

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
  const Eigen::Vector3d angular_velocity = base().twist().tail<3>();
  const Eigen::Vector3d world_rate = motion.attitude * angular_velocity;
  motion.angular_velocity = body.rotation.transpose() * world_rate;
  return motion;
}

std::unique_ptr<Controller> make_attitude_control(const LawSetup& setup) {
  return std::make_unique<AttitudeControl>(setup.model, setup.allocation, setup.base_actuated);
}

}  // namespace vms_ph
