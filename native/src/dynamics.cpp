// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/dynamics.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include <Eigen/Geometry>

#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kNormTolerance = 1e-6;  // as Model::is_configuration

void write_screw(const Screw& value, int b, double* out) {
  if (b == 6) {
    vector3(out) = value.linear;
    vector3(out + 3) = value.angular;
  } else if (b == 3) {
    out[0] = value.linear.x();
    out[1] = value.linear.y();
    out[2] = value.angular.z();
  }
}

Screw read_screw(const double* w) {
  return {Eigen::Map<const Vector3d>(w), Eigen::Map<const Vector3d>(w + 3)};
}

}  // namespace

Dynamics::Dynamics(const Model& model)
    : tree_(model, false),
      derivatives_(tree_),
      mount_gravity_(model.base_gravity()),
      mount_position_(Vector3d::Zero()),
      mount_rotation_(Matrix3d::Identity()),
      root_gravity_(mount_gravity_),
      q_(VectorXd::Zero(model.nq())),
      v_(VectorXd::Zero(model.nv())),
      pi_(VectorXd::Zero(model.n())),
      rate_(VectorXd::Zero(model.nv())),
      friction_slopes_(pi_),
      gradient_(VectorXd::Zero(model.nv() + model.n())) {
  for (std::size_t i = 0; i < model.frames(); ++i) frames_.push_back(tree_.frame(model, i));
  unit_slices_ = model.unit_slices();
  if (b() > 0) {
    mount_position_ = model.base_mount().translation();
    mount_rotation_ = model.base_mount().rotation();
  }
  mount_potential_ = -tree_.total_mass() * model.gravity().dot(mount_position_);
}

bool Dynamics::is_configuration(const double* q) const noexcept {
  if (!std::isfinite(Eigen::Map<const VectorXd>(q, nq()).squaredNorm())) return false;
  for (const Model::UnitSlice& slice : unit_slices_) {
    const double length = Eigen::Map<const VectorXd>(q + slice.first, slice.size).norm();
    if (!(std::abs(length - 1.0) <= kNormTolerance)) return false;
  }
  return true;
}

void Dynamics::set_configuration(const double* q) noexcept {
  q_ = Eigen::Map<const VectorXd>(q, nq());
  tree_.set_configuration(q_);
  place_base(q);
}

void Dynamics::copy_configuration(const Tree& tree, const double* q) noexcept {
  q_ = Eigen::Map<const VectorXd>(q, nq());
  tree_.copy_configuration(tree, q_);
  place_base(q);
}

bool Dynamics::copy_state(const Dynamics& other, const double* q, const double* v) noexcept {
  if (!tree_.is_same_robot(other.tree_) || Eigen::Map<const VectorXd>(q, nq()) != other.q_ ||
      Eigen::Map<const VectorXd>(v, nv()) != other.v_) {
    return false;
  }
  copy_configuration(other.tree_, q);
  v_ = other.v_;
  tree_.copy_velocity(other.tree_);
  return true;
}

void Dynamics::place_base(const double* q) noexcept {
  if (b() == 0) return;
  base_rotation_ = base_rotation(b(), q);
  base_position_ = {q[0], q[1], b() == 6 ? q[2] : 0.0};
  root_gravity_ = base_rotation_.transpose() * mount_gravity_;
}

double Dynamics::lifting_power(const double* q, const double* v) noexcept {
  return tree_.lifting_power(q, v, base_rotation(b(), q).transpose() * mount_gravity_);
}

void Dynamics::set_velocity(const double* v) noexcept {
  v_ = Eigen::Map<const VectorXd>(v, nv());
  tree_.set_velocity(v_);
}

double Dynamics::potential_energy() const noexcept {
  return tree_.potential_in(root_gravity_) + mount_potential_ -
         tree_.total_mass() * mount_gravity_.dot(base_position_);
}

void Dynamics::gravity(double* out) const noexcept {
  Eigen::Map<VectorXd>{out, nv()}.setZero();
  tree_.add_weight(root_gravity_, 1.0, out);
}

Tree::Frame Dynamics::frame_in_root(int frame) const noexcept {
  return tree_.placement(frames_[static_cast<std::size_t>(frame)]);
}

void Dynamics::jacobian(int frame, bool inertial, double* out) const noexcept {
  const Tree::Frame pose = frame_in_root(frame);
  tree_.write_jacobian(
      pose, inertial ? Matrix3d((mount_rotation_ * base_rotation_).transpose()) : pose.rotation,
      out);
}

void Dynamics::jacobian_rate(int frame, bool inertial, double* out) const noexcept {
  const Tree::Frame pose = frame_in_root(frame);
  const Vector3d angular_velocity = inertial ? Vector3d::Zero() : tree_.twist_of(pose.body).angular;
  tree_.write_jacobian_rate(
      pose, inertial ? Matrix3d((mount_rotation_ * base_rotation_).transpose()) : pose.rotation,
      angular_velocity, out);
}

Momenta Dynamics::momenta() const noexcept {
  const Matrix3d base_axes = mount_rotation_ * base_rotation_;
  const Screw& p = tree_.momentum();
  const Vector3d centre_in_root = tree_.centre_of_mass();
  Momenta total_momenta;
  total_momenta.centre_of_mass = mount_position_ + mount_rotation_ * base_position_ +
                                 base_axes * (centre_in_root + tree_.root_origin());
  total_momenta.centroidal = {base_axes * p.linear,
                              base_axes * (p.angular - centre_in_root.cross(p.linear))};
  total_momenta.spatial = total_momenta.centroidal;
  total_momenta.spatial.angular +=
      total_momenta.centre_of_mass.cross(total_momenta.centroidal.linear);
  return total_momenta;
}

void Dynamics::placement(int frame, Eigen::Ref<Matrix3d> rotation,
                         Eigen::Ref<Vector3d> origin) const noexcept {
  const Tree::Frame pose = frame_in_root(frame);
  if (pose.body < -1) {  // fixed in the world, beside a base that moves
    rotation = pose.rotation;
    origin = pose.origin;
    return;
  }
  const Matrix3d base_axes = mount_rotation_ * base_rotation_;
  rotation = base_axes * pose.rotation;
  origin = mount_position_ + mount_rotation_ * base_position_ +
           base_axes * (pose.origin + tree_.root_origin());
}

void Dynamics::mass_rate(const double* v, double* out) noexcept {
  set_velocity(v);
  coriolis(out);
  const int size = nv();
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j <= i; ++j) {
      out[i * size + j] = out[j * size + i] = out[i * size + j] + out[j * size + i];
    }
  }
}

void Dynamics::locked_velocity(double* out) const noexcept {
  write_screw(tree_.locked_twist(tree_.momentum()), b(), out);
}

void Dynamics::shape_momentum(double* out) noexcept { tree_.write_shape_momentum(out); }

void Dynamics::kinetic_regressor(double* out) const noexcept {
  std::fill(out, out + 10 * bodies(), 0.0);
  add_kinetic_regressor(0.5, out);
}

void Dynamics::add_kinetic_regressor(double factor, double* out) const noexcept {
  Eigen::Matrix<double, 10, 1> regressor;
  for (int i = tree_.bodies() - bodies(); i < tree_.bodies(); ++i, out += 10) {
    const Tree::Frame pose = tree_.placement({i, Matrix3d::Identity(), Vector3d::Zero()});
    const Screw& twist = tree_.twist_of(i);
    const Screw body_twist{
        pose.rotation.transpose() * (twist.linear + twist.angular.cross(pose.origin)),
        pose.rotation.transpose() * twist.angular};
    write_momentum_regressor(body_twist, body_twist, regressor.data());
    Eigen::Map<Eigen::Matrix<double, 10, 1>>{out} += factor * regressor;
  }
}

void Dynamics::potential_regressor(double* out) const noexcept {
  const double offset = mount_gravity_.dot(base_position_) - mount_potential_ / tree_.total_mass();
  for (int i = tree_.bodies() - bodies(); i < tree_.bodies(); ++i, out += 10) {
    const Tree::Frame pose = tree_.placement({i, Matrix3d::Identity(), Vector3d::Zero()});
    out[0] = -offset - root_gravity_.dot(pose.origin + tree_.root_origin());
    vector3(out + 1) = -(pose.rotation.transpose() * root_gravity_);
    std::fill(out + 4, out + 10, 0.0);
  }
}

Screw Dynamics::screw_of(const double* p) const noexcept {
  if (b() == 6) return read_screw(p);
  if (b() == 3) return {{p[0], p[1], 0.0}, {0.0, 0.0, p[2]}};
  return {};
}

void Dynamics::velocity(bool decoupled, const double* momenta, double* v) noexcept {
  if (decoupled) {
    tree_.solve_decoupled(screw_of(momenta), momenta + b(), v_);
  } else {
    pi_ = Eigen::Map<const VectorXd>(momenta + b(), n());
    tree_.solve(screw_of(momenta), pi_, v_);
  }
  if (v != v_.data()) Eigen::Map<VectorXd>{v, nv()} = v_;
}

void Dynamics::gradient(bool decoupled, const double* momenta, double* out) noexcept {
  double *joint_gradient = out + b(), *rates = joint_gradient + n();
  velocity(decoupled, momenta, v_.data());
  std::fill(joint_gradient, rates, 0.0);
  const auto subtract_gradient = [&]() {
    tree_.set_velocity(v_);
    tree_.add_kinetic_gradient(-1.0, joint_gradient);
  };
  Screw twist = tree_.base_twist(v_);
  if (decoupled && b() > 0) {
    // The energy of the shape is the smallest over all base twists, at the twist without momentum.
    // Its derivative along a joint is so that of the kinetic energy at this velocity, held fixed.
    const Screw locked_twist = tree_.locked_twist(screw_of(momenta));
    tree_.set_base(twist - locked_twist, v_);
    subtract_gradient();
    std::copy(v_.data() + b(), v_.data() + nv(), rates);
    v_.setZero();
    tree_.set_base(locked_twist, v_);
    twist = locked_twist;
    subtract_gradient();
  } else {
    subtract_gradient();
    std::copy(v_.data() + b(), v_.data() + nv(), rates);
  }
  write_screw(twist, b(), out);
}

void Dynamics::rates(bool decoupled, const double* momenta, const Efforts& efforts, double* v,
                     double* rate) noexcept {
  velocity(decoupled, momenta, v);
  tree_.set_velocity(v_);
  write_screw(tree_.momentum_rate(), b(), rate);
  std::fill(rate + b(), rate + nv(), 0.0);
  if (!decoupled) tree_.add_kinetic_gradient(1.0, rate + b());
  add_force(efforts, rate);
  if (decoupled) tree_.add_shape_rates(screw_of(rate), rate + b());
}

void Dynamics::rate_derivatives(bool decoupled, const double* momenta, const Efforts& efforts,
                                const RateDerivatives& out) noexcept {
  velocity(decoupled, momenta, v_.data());
  tree_.set_velocity(v_);
  rate_.setZero();
  write_screw(tree_.momentum_rate(), b(), rate_.data());
  add_force(efforts, rate_.data());
  friction_slopes_.setZero();
  for (int i = 0; efforts.viscous != nullptr && i < n(); ++i) {
    const double smoothed_sign = std::tanh(v_[b() + i] / efforts.slip);
    friction_slopes_[i] = efforts.viscous[i] +
                          efforts.coulomb[i] / efforts.slip * (1.0 - smoothed_sign * smoothed_sign);
  }
  derivatives_.reset(tree_, decoupled, efforts.gravity ? root_gravity_ : Vector3d::Zero(),
                     friction_slopes_.data(), screw_of(rate_.data()));
  for (std::size_t i = 0; i < efforts.wrench_count; ++i) {
    const Tree::Frame pose = frame_in_root(efforts.wrenches[i].frame);
    derivatives_.add_wrench(tree_, pose.body,
                            Tree::in_root_axes(pose, read_screw(efforts.wrenches[i].wrench)));
  }
  derivatives_.write(tree_, out);
}

void Dynamics::energy_derivatives(bool decoupled, const double* momenta, bool has_gravity,
                                  double* by_q, double* by_momenta,
                                  double* by_parameters) noexcept {
  const int locked_size = decoupled ? b() : 0;
  gradient(decoupled, momenta, gradient_.data());
  Eigen::Map<VectorXd> gradient_by_q{by_q, nv()}, gradient_by_momenta{by_momenta, nv()};
  gradient_by_momenta << gradient_.head(b()), gradient_.tail(n());
  gradient_by_q.setZero();
  if (has_gravity) tree_.add_weight(root_gravity_, 1.0, by_q);
  gradient_by_q.tail(n()) += gradient_.segment(b(), n());
  std::fill(by_parameters, by_parameters + 10 * bodies(), 0.0);
  if (has_gravity) potential_regressor(by_parameters);
  // The derivative of the energy at fixed momenta is minus that at fixed velocities, which are
  // those of the motions in gradient().
  add_kinetic_regressor(-0.5, by_parameters);
  if (locked_size == 0) return;
  velocity(true, momenta, v_.data());
  v_.head(locked_size) -= gradient_.head(locked_size);
  tree_.set_velocity(v_);
  add_kinetic_regressor(-0.5, by_parameters);
}

void Dynamics::add_force(const Efforts& efforts, double* force) const noexcept {
  double* joint_force = force + b();
  if (efforts.torque != nullptr) {
    for (int i = 0; i < n(); ++i) joint_force[i] += efforts.torque[i];
  }
  if (efforts.wrench_base != nullptr) {
    for (int i = 0; i < b(); ++i) force[i] += efforts.wrench_base[i];
  }
  if (efforts.viscous != nullptr) {
    for (int i = 0; i < n(); ++i) {
      const double v = v_[b() + i];
      joint_force[i] -= efforts.viscous[i] * v + efforts.coulomb[i] * std::tanh(v / efforts.slip);
    }
  }
  for (std::size_t i = 0; i < efforts.wrench_count; ++i) {
    const FrameWrench& frame_wrench = efforts.wrenches[i];
    const Tree::Frame pose = frame_in_root(frame_wrench.frame);
    tree_.add_wrench(pose, Tree::in_root_axes(pose, read_screw(frame_wrench.wrench)), force);
  }
  if (efforts.gravity) tree_.add_weight(root_gravity_, -1.0, force);
}

namespace {

// Tasks that a thread takes at once: some tens of microseconds, so that none waits long at the end.
constexpr std::size_t kMaxChunk = 64;

}  // namespace

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  const std::size_t chunk = std::max<std::size_t>(1, std::min(kMaxChunk, count / (4 * threads)));
  const auto run_worker = [&](std::size_t worker) {
    while (true) {
      const std::size_t begin = next.fetch_add(chunk);
      if (begin >= count) return;
      for (std::size_t i = begin; i < std::min(count, begin + chunk); ++i) task(worker, i);
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t k = 1; k < std::min(threads, (count + chunk - 1) / chunk); ++k) {
    pool.emplace_back(run_worker, k);
  }
  run_worker(0);
  for (std::thread& thread : pool) thread.join();
}

Batch::Batch(const Model& model, std::size_t threads) {
  for (std::size_t k = 0; k < std::max<std::size_t>(1, threads); ++k) {
    workspaces_.push_back(std::make_unique<Dynamics>(model));
  }
}

}  // namespace vms_ph
