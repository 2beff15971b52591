// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/dynamics.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include <Eigen/Geometry>

#include "vms_ph_native/se3.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

Dynamics::Dynamics(const Model& model)
    : tree_(model, false),
      derivatives_(tree_),
      mount_gravity_(model.base_gravity()),
      mount_position_(Vector3d::Zero()),
      mount_rotation_(Matrix3d::Identity()),
      root_gravity_(mount_gravity_),
      q_(VectorXd::Zero(model.nq())),
      v_(VectorXd::Zero(model.nv())),
      rate_(VectorXd::Zero(model.nv())),
      friction_slopes_(VectorXd::Zero(model.n())) {
  for (std::size_t i = 0; i < model.frame_count(); ++i) frames_.push_back(tree_.frame(model, i));
  unit_slices_ = model.unit_slices();
  if (b() > 0) {
    mount_position_ = model.base_mount().translation();
    mount_rotation_ = model.base_mount().rotation();
  }
  mount_potential_ = -model.gravity().dot(mount_position_);
}

bool Dynamics::is_configuration(const double* q) const noexcept {
  return std::isfinite(Eigen::Map<const VectorXd>(q, nq()).squaredNorm()) &&
         are_unit(unit_slices_, q);
}

void Dynamics::set_configuration(const double* q, const Tree* tree) noexcept {
  q_ = Eigen::Map<const VectorXd>(q, nq());
  tree == nullptr ? tree_.set_configuration(q_) : tree_.copy_configuration(*tree);
  place_base(q);
}

void Dynamics::place_base(const double* q) noexcept {
  if (b() == 0) return;
  base_rotation_ = base_rotation(b(), q);
  base_position_ = {q[0], q[1], b() == 6 ? q[2] : 0.0};
  root_gravity_ = base_rotation_.transpose() * mount_gravity_;
}

void Dynamics::set_velocity(const double* v) noexcept {
  v_ = Eigen::Map<const VectorXd>(v, nv());
  tree_.set_velocity(v_);
}

double Dynamics::potential_energy() const noexcept {
  return tree_.potential_in(root_gravity_) +
         tree_.net_mass() * (mount_potential_ - mount_gravity_.dot(base_position_));
}

void Dynamics::gravity(double* out) const noexcept {
  Eigen::Map<VectorXd>{out, nv()}.setZero();
  tree_.add_weight(root_gravity_, 1.0, out);
}

Tree::Frame Dynamics::frame_in_root(int frame) const noexcept {
  return tree_.placement(frames_[static_cast<std::size_t>(frame)]);
}

void Dynamics::jacobian(int frame, bool is_inertial, double* out) const noexcept {
  const Tree::Frame pose = frame_in_root(frame);
  tree_.write_jacobian(pose, is_inertial ? inertial_axes() : pose.rotation, out);
}

void Dynamics::jacobian_rate(int frame, bool is_inertial, double* out) const noexcept {
  const Tree::Frame pose = frame_in_root(frame);
  const Vector3d angular_velocity =
      is_inertial ? Vector3d::Zero() : tree_.twist_of(pose.body).angular;
  tree_.write_jacobian_rate(pose, is_inertial ? inertial_axes() : pose.rotation, angular_velocity,
                            out);
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

void Dynamics::kinetic_gradient(double* out) const noexcept {
  double* joint_gradient = tree_.write_base(tree_.momentum_rate(), out);
  std::fill(joint_gradient, joint_gradient + n(), 0.0);
  tree_.add_kinetic_gradient(1.0, joint_gradient);
}

void Dynamics::locked_velocity(double* out) const noexcept {
  tree_.write_base(tree_.locked_twist(tree_.momentum()), out);
}

void Dynamics::kinetic_regressor(double* out) const noexcept {
  std::fill(out, out + 10 * body_count(), 0.0);
  add_kinetic_regressor(0.5, out);
}

void Dynamics::add_kinetic_regressor(double factor, double* out) const noexcept {
  Eigen::Matrix<double, 10, 1> regressor;
  for (int i = tree_.body_count() - body_count(); i < tree_.body_count(); ++i, out += 10) {
    const Tree::Frame pose = tree_.placement({i, Matrix3d::Identity(), Vector3d::Zero()});
    const Screw body_twist = in_axes_of(pose, tree_.twist_of(i));
    write_momentum_regressor(body_twist, body_twist, regressor.data());
    Eigen::Map<Eigen::Matrix<double, 10, 1>>{out} += factor * regressor;
  }
}

void Dynamics::potential_regressor(double* out) const noexcept {
  const double base_potential = mount_potential_ - mount_gravity_.dot(base_position_);
  for (int i = tree_.body_count() - body_count(); i < tree_.body_count(); ++i, out += 10) {
    const Tree::Frame pose = tree_.placement({i, Matrix3d::Identity(), Vector3d::Zero()});
    out[0] = base_potential - root_gravity_.dot(pose.origin + tree_.root_origin());
    vector3(out + 1) = -(pose.rotation.transpose() * root_gravity_);
    std::fill(out + 4, out + 10, 0.0);
  }
}

void Dynamics::velocity(bool is_decoupled, const double* momenta, double* v) noexcept {
  if (is_decoupled) {
    tree_.solve_decoupled(tree_.base_twist(momenta), momenta + b(), v_);
  } else {
    const Eigen::Map<const VectorXd> pi(momenta + b(), n());
    tree_.solve_velocity(tree_.base_twist(momenta), pi, v_);
  }
  if (v != v_.data()) Eigen::Map<VectorXd>{v, nv()} = v_;
}

void Dynamics::rates(bool is_decoupled, const double* momenta, const Efforts& efforts, double* v,
                     double* rate) noexcept {
  velocity(is_decoupled, momenta, v);
  tree_.set_velocity(v_);
  kinetic_gradient(rate);
  add_force(efforts, rate);
  if (is_decoupled) tree_.add_shape_rates(tree_.base_twist(rate), rate + b());
}

bool Dynamics::rate_derivatives(bool is_decoupled, const double* momenta, const Efforts& efforts,
                                const RateDerivatives& out, const TaskForm* task) noexcept {
  if (task != nullptr && !task_.compute(*this, *task, momenta)) return false;
  rates(is_decoupled, task ? task_.momentum.data() : momenta, efforts, v_.data(), rate_.data());
  if (task != nullptr) task_.compute_rates(*this, *task, rate_);
  friction_slopes_.setZero();
  for (int i = 0; efforts.damping != nullptr && i < n(); ++i) {
    const double smoothed_sign = std::tanh(v_[b() + i] / efforts.slip_speed);
    friction_slopes_[i] = efforts.damping[i] + efforts.dry_friction[i] / efforts.slip_speed *
                                                   (1.0 - smoothed_sign * smoothed_sign);
  }
  derivatives_.reset(tree_, is_decoupled, efforts.has_gravity ? root_gravity_ : Vector3d::Zero(),
                     friction_slopes_.data(), tree_.base_twist(rate_), task ? &task_ : nullptr);
  for (std::size_t i = 0; i < efforts.wrench_count; ++i) {
    const Tree::Frame pose = frame_in_root(efforts.wrenches[i].frame);
    derivatives_.add_wrench(
        tree_, pose.body,
        Tree::in_root_axes(pose, screw_of(Eigen::Map<const Twist>(efforts.wrenches[i].wrench))));
  }
  if (efforts.has_drag) derivatives_.add_drag(tree_);
  if (task != nullptr) task_.write(*this, *task, v_, derivatives_);
  derivatives_.write(tree_, out);
  return true;
}

bool Dynamics::energy_derivatives(bool is_decoupled, const double* momenta, bool has_gravity,
                                  double* by_q, double* by_momenta, double* by_parameters,
                                  const TaskForm* task) noexcept {
  if (task != nullptr && !task_.compute(*this, *task, momenta)) return false;
  // The kinetic energy is that of two parts of the motion, without a common term: the derivative of
  // each at fixed momenta is minus that at its fixed velocity.
  VectorXd& projected_velocity = rate_;
  projected_velocity.setZero();
  velocity(is_decoupled, task ? task_.momentum.data() : momenta, v_.data());
  Eigen::Map<VectorXd>{by_momenta, nv()} = v_;
  if (task != nullptr) {
    projected_velocity = task_.null_velocity;
  } else if (is_decoupled && b() > 0) {
    tree_.set_base(tree_.locked_twist(tree_.base_twist(momenta)), projected_velocity);
    std::copy_n(projected_velocity.data(), b(), by_momenta);
  }
  Eigen::Map<VectorXd>{by_q, nv()}.setZero();
  if (has_gravity) tree_.add_weight(root_gravity_, 1.0, by_q);
  std::fill(by_parameters, by_parameters + 10 * body_count(), 0.0);
  if (has_gravity) potential_regressor(by_parameters);
  if (task != nullptr) task_.add_energy(*this, *task, v_, by_q, by_momenta);
  v_ -= projected_velocity;
  for (const VectorXd* motion : {&v_, &projected_velocity}) {
    tree_.set_velocity(*motion);
    tree_.add_kinetic_gradient(-1.0, by_q + b());
    add_kinetic_regressor(-0.5, by_parameters);
    if (task == nullptr && !(is_decoupled && b() > 0)) break;
  }
  return true;
}

void Dynamics::add_force(const Efforts& efforts, double* force) const noexcept {
  double* joint_force = force + b();
  for (int i = 0; efforts.torque != nullptr && i < n(); ++i) joint_force[i] += efforts.torque[i];
  for (int i = 0; efforts.wrench_base != nullptr && i < b(); ++i)
    force[i] += efforts.wrench_base[i];
  for (int i = 0; efforts.damping != nullptr && i < n(); ++i) {
    const double v = v_[b() + i];
    joint_force[i] -=
        efforts.damping[i] * v + efforts.dry_friction[i] * std::tanh(v / efforts.slip_speed);
  }
  for (std::size_t i = 0; i < efforts.wrench_count; ++i) {
    const FrameWrench& frame_wrench = efforts.wrenches[i];
    const Tree::Frame pose = frame_in_root(frame_wrench.frame);
    tree_.add_wrench(
        pose, Tree::in_root_axes(pose, screw_of(Eigen::Map<const Twist>(frame_wrench.wrench))),
        force);
  }
  if (efforts.has_gravity) tree_.add_weight(root_gravity_, -1.0, force);
  if (efforts.has_drag) tree_.add_drag(force);
}

namespace {

// Tasks that a thread takes at once: some tens of microseconds, so that none waits long at the end.
constexpr std::size_t kMaxChunk = 64;

}  // namespace

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t, std::size_t)>& task) {
  std::atomic<std::size_t> next_index{0};
  const std::size_t chunk = std::max<std::size_t>(1, std::min(kMaxChunk, count / (4 * threads)));
  const auto run_worker = [&](std::size_t worker) {
    while (true) {
      const std::size_t begin = next_index.fetch_add(chunk);
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
