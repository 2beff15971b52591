// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/differential_drive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "vms_ph_native/held_impedance.hpp"
#include "vms_ph_native/linear_solve.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

// Share of the rate of the velocities up to which errors are fed back to them.
constexpr double kSlower = 0.25;

// Speed over which dry friction is smoothed, rad/s or m/s.
constexpr double kSlip = 0.01;

PlanarPose planar(const pinocchio::SE3& pose) noexcept {
  return {pose.translation().head<2>(), std::atan2(pose.rotation()(1, 0), pose.rotation()(0, 0))};
}

}  // namespace

const GainTable<DriveGains>& DriveGains::table() {
  using G = DriveGains;
  static const GainTable<G> gains{
      LimitGains::table(),
      {
          {"rate", "rate r at which errors of the velocities decay, 1/s", &G::rate, 0.0, 1e3},
          {"rate_base", "rate k at which the base follows its reference, 1/s", &G::rate_base, 0.0,
           50.0},
          {"rate_joints", "rate k_q at which the joints follow their reference, 1/s",
           &G::rate_joints, 0.0, 50.0},
          {"lateral", "turn against an error to the side, of a base that drives, 1/m^2",
           &G::lateral, 0.0, 1e3},
          {"friction", "share of the joints' friction that is compensated", &G::friction, 0.0, 1.0},
          {"speed", "largest speed of the reference of the base, m/s", &G::speed, 1e-3, 20.0},
          {"turn", "largest rate of its heading, rad/s", &G::turn, 1e-3, 20.0},
          {"acceleration", "largest rate of its speed, m/s^2", &G::acceleration, 1e-3, 50.0},
          {"turn_acceleration", "largest rate of its turn, rad/s^2", &G::turn_acceleration, 1e-3,
           50.0},
          {"joint_speed", "largest rate of the joints' reference, rad/s or m/s", &G::joint_speed,
           1e-3, 20.0},
      }};
  return gains;
}

DifferentialDrive::DifferentialDrive(const Model& model, const std::vector<Wheel>& wheels)
    : WheeledController(model, wheels),
      joints_(model.n()),
      fastest_(VectorV::Zero(n_)),
      viscous_(model.damping()),
      coulomb_(model.dry_friction()),
      positions_(fastest_) {
  for (Eigen::Index i = 0; i < n_; ++i) {
    const std::string& name = model.joint_names()[static_cast<std::size_t>(i)];
    const auto turns = [&](const Wheel& wheel) { return wheel.joint == name; };
    if (std::none_of(wheels.begin(), wheels.end(), turns)) arm_.push_back(i);
    const double bound = model.velocity()[i];
    fastest_[i] = bound > 0.0 ? bound : std::numeric_limits<double>::infinity();
  }
  const int m = t_.dimension();
  RobotState home;
  home.q = model.neutral_configuration();
  home.v.setZero(model.nv());
  bool fits = t_.compute(home) && static_cast<std::size_t>(m) == 2 + arm_.size();
  if (fits) {
    take_outputs(t_.basis, map_);
    copy_ = map_;
    right_.setZero(m, 1);
    fits = solve_square(copy_, right_, kRank);
  }
  if (!fits) {
    throw ModelError(
        "DifferentialDrive is for two wheels on one axle, which leave a base its speed and turn; "
        "the wheels of '" +
        model.name() + "' leave " + std::to_string(m) + " motions with " +
        std::to_string(arm_.size()) + " other joints");
  }
  double sideways = 0.0;
  for (int k = 0; k < m; ++k) sideways = std::max(sideways, std::abs(t_.basis(1, k)));
  if (sideways > kRank) {
    throw ModelError("the origin of the base of '" + model.name() +
                     "' is not on the axle of its wheels: it moves sideways as the base turns");
  }
  if (!drives_all(home.q)) {
    throw ModelError("no joint of '" + model.name() + "' drives its base; name its wheels");
  }
  DriveGains::table();  // constructed here, so that setting a gain later does not allocate
  nu_ = nu_rate_ = reference_ = VectorV::Zero(m);
  reset(home);
}

bool DifferentialDrive::reset(const RobotState& state) noexcept {
  if (!model_.is_configuration(state.q)) return false;
  base_.restart(planar(model_.base_pose(state.q)));
  model_.joint_positions(state.q, positions_);
  joints_.restart(positions_);
  limits_.restart();
  return true;
}

const char* DifferentialDrive::drive(const Reference& reference, double dt) noexcept {
  follow(reference, dt);
  if (!wanted()) return t_.reason();
  Evaluation& d = t_.d();
  const double rate = gains_.rate / (1.0 + horizon(dt, gains_.delay) * gains_.rate);
  const VectorV error = t_.nu - nu_;
  const VectorV slope = nu_rate_ - rate * error;
  const MatrixView drives = MatrixView(t_.basis).bottom_rows(n_);
  // Friction is compensated at the rates of the reference.
  const auto rates = product<VectorV>(drives, reference_);
  VectorV compensated = d.g();
  for (Eigen::Index i = 0; i < n_; ++i) {
    const double smoothed = std::tanh(rates[i] / kSlip);
    compensated[b_ + i] += gains_.friction * (viscous_[i] * rates[i] + coulomb_[i] * smoothed);
  }
  auto force = product<VectorV>(transposed(t_.basis), compensated);
  add_product(t_.mass, slope, force);
  add_product(t_.coriolis, nu_, force);
  if (const char* obstacle = send(force, gains_, dt)) return obstacle;
  const auto pushed = product<VectorV>(t_.mass, error);
  const double stored = 0.5 * error.dot(pushed);
  const auto slip = product<VectorV>(drives, error);
  command_.energy.closed_loop_energy = stored;
  command_.energy.damping_task = 2.0 * rate * stored;
  command_.energy.clipped_power = (command_.torque - torque_).dot(slip);
  const Eigen::Vector2d away = base_.place() - planar(model_.base_pose(d.q())).place;
  command_.task_error = away.norm();
  return nullptr;
}

/// Advance the references of base and joints; a target that is not finite is ignored.
void DifferentialDrive::follow(const Reference& reference, double dt) noexcept {
  if (reference.pose && reference.pose->allFinite()) {
    const Eigen::Matrix4d& pose = *reference.pose;
    base_.go_to({pose.block<2, 1>(0, 3), std::atan2(pose(1, 0), pose(0, 0))});
  }
  if (reference.has_joints && reference.joints.size() == n_ && reference.joints.allFinite()) {
    joints_.go_to(reference.joints);
  }
  base_.advance({gains_.speed, gains_.turn, gains_.acceleration, gains_.turn_acceleration}, dt);
  VectorV speeds = fastest_;
  for (Eigen::Index i = 0; i < n_; ++i) speeds[i] = std::min(speeds[i], gains_.joint_speed);
  joints_.advance(speeds, gains_.rate_joints, dt);
}

/// Write the rows of speed, turn and the rates of the arm of a matrix (nv,m).
void DifferentialDrive::take_outputs(const MatrixV& basis, MatrixV& result) const noexcept {
  result.resize(static_cast<Eigen::Index>(2 + arm_.size()), basis.cols());
  result.row(0) = basis.row(0);
  result.row(1) = basis.row(2);
  Eigen::Index row = 2;
  for (const Eigen::Index i : arm_) result.row(row++) = basis.row(b_ + i);
}

/// Compute the wanted independent velocities with their rates, and those of the reference.
bool DifferentialDrive::wanted() noexcept {
  const Eigen::VectorXd& q = t_.d().q();
  const double most = kSlower * gains_.rate;
  const double k = std::min(gains_.rate_base, most);
  const double k_joints = std::min(gains_.rate_joints, most);
  const PlanarPose pose = planar(model_.base_pose(q));
  const double c = std::cos(pose.heading), s = std::sin(pose.heading);
  const Eigen::Vector2d away = base_.place() - pose.place;
  const double x = c * away.x() + s * away.y(), y = c * away.y() - s * away.x();
  const double a = base_.heading() - pose.heading;
  const Eigen::VectorXd& v = t_.d().v();
  const double u = v[0], w = v[2], speed = base_.speed();
  const double x_rate = w * y - u + speed * std::cos(a), y_rate = speed * std::sin(a) - w * x;
  const double a_rate = base_.turn() - w;
  model_.joint_positions(q, positions_);

  // Outputs, and those of the reference.
  right_.resize(t_.dimension(), 2);
  right_(0, 0) = speed * std::cos(a) + k * x;
  right_(1, 0) = base_.turn() + gains_.lateral * speed * y + k * std::sin(a);
  right_(0, 1) = speed;
  right_(1, 1) = base_.turn();
  Eigen::Index row = 2;
  for (const Eigen::Index i : arm_) {
    right_(row, 0) = joints_.rates()[i] + k_joints * (joints_.positions()[i] - positions_[i]);
    right_(row++, 1) = joints_.rates()[i];
  }
  take_outputs(t_.basis, map_);
  take_outputs(t_.basis_rate, map_rate_);
  copy_ = map_;
  if (!solve_square(copy_, right_, 0.0)) return false;
  nu_ = right_.col(0);
  reference_ = right_.col(1);

  nu_rate_.setZero();
  add_product(map_rate_, nu_, nu_rate_, -1.0);
  nu_rate_[0] += base_.acceleration() * std::cos(a) - speed * std::sin(a) * a_rate + k * x_rate;
  nu_rate_[1] += base_.turn_acceleration() +
                 gains_.lateral * (base_.acceleration() * y + speed * y_rate) +
                 k * std::cos(a) * a_rate;
  row = 2;
  for (const Eigen::Index i : arm_) {
    nu_rate_[row++] += joints_.accelerations()[i] + k_joints * (joints_.rates()[i] - v[b_ + i]);
  }
  right_ = nu_rate_;
  copy_ = map_;
  if (!solve_square(copy_, right_, 0.0)) return false;
  nu_rate_ = right_.col(0);
  return true;
}

}  // namespace vms_ph
