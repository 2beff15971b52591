// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/rk4.hpp"

#include <cmath>
#include <optional>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/integrators/projected_runge_kutta.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

using Eigen::VectorXd;

struct RK4::Algorithm {
  explicit Algorithm(const Model& robot) : model(robot), data(model.pinocchio()) {
    if (!model.mimics().empty()) {
      coupled.emplace(model);
      weight = VectorXd::Zero(model.nv());
    }
  }

  const Model model;
  pinocchio::Data data;
  std::optional<Dynamics> coupled;  ///< of robots with joints that mimic others
  VectorXd weight;

  void accelerate(const VectorXd& q, const VectorXd& v, const VectorXd& force, VectorXd& a) {
    if (coupled) {
      coupled->set_configuration(q.data());
      coupled->gravity(weight.data());
      weight = force - weight;
      coupled->accelerate(v, weight, a);
    } else {
      // As references, for which Pinocchio's library holds the compiled function.
      a = pinocchio::aba(model.pinocchio(), data, ConstVector(q), ConstVector(v),
                         ConstVector(force));
    }
  }
};

RK4::~RK4() = default;

RK4::RK4(const Model& model, bool gravity)
    : robot_(model, gravity),
      algorithm_(std::make_unique<Algorithm>(
          gravity ? model : model.with_gravity(Eigen::Vector3d::Zero()))) {
  v_ = force_ = a_ = mean_a_ = VectorXd::Zero(model.nv());
  q_ = qdot_ = mean_q_ = VectorXd::Zero(model.nq());
}

void RK4::coordinate_rate(const VectorXd& q, const VectorXd& v) noexcept {
  const int b = robot_.tree.b(), n = robot_.tree.n();
  const Screw twist = robot_.tree.base_twist(v);
  robot_.set_position(robot_.rotation(q) * twist.linear, qdot_);
  if (robot_.k == 3) {
    const Eigen::Quaterniond now(q[6], q[3], q[4], q[5]);
    const Eigen::Vector3d half = 0.5 * twist.angular;
    qdot_.segment<4>(3) = (now * Eigen::Quaterniond(0.0, half.x(), half.y(), half.z())).coeffs();
  } else if (robot_.k == 2) {
    qdot_[2] = -v[2] * q[3];
    qdot_[3] = v[2] * q[2];
  }
  for (int i = 0, at = robot_.tree.nq() - robot_.tree.positions(); i < n; ++i) {
    if (robot_.tree.is_pair(i)) {
      qdot_[at] = -v[b + i] * q[at + 1];
      qdot_[at + 1] = v[b + i] * q[at];
      ++at;
    } else {
      qdot_[at] = v[b + i];
    }
    ++at;
  }
}

void RK4::normalise(VectorXd& q) const noexcept {
  if (robot_.k == 3) q.segment<4>(3).normalize();
  if (robot_.k == 2) q.segment<2>(2).normalize();
  for (int i = 0, at = robot_.tree.nq() - robot_.tree.positions(); i < robot_.tree.n(); ++i) {
    if (robot_.tree.is_pair(i)) q.segment<2>(at++).normalize();
    ++at;
  }
}

StepResult RK4::step(const SolverState& x, const Ports& ports, double t, double dt,
                     SolverState& next) noexcept {
  StepResult result;
  mean_q_.setZero();
  mean_a_.setZero();
  qdot_.setZero();
  a_.setZero();
  force_.setZero();
  for (const auto& [lead, weight, push] : kClassical) {
    q_ = x.q + (lead * dt) * qdot_;
    v_ = x.v + (lead * dt) * a_;
    if (lead > 0.0) normalise(q_);
    if (ports.any) {
      robot_.tree.set_configuration(q_);
      robot_.external_force(ports, t + lead * dt, v_, force_);
      robot_.add_port_energies(ports, v_, weight * dt, result);
    }
    algorithm_->accelerate(q_, v_, force_, a_);
    coordinate_rate(q_, v_);
    mean_q_ += weight * qdot_;
    mean_a_ += weight * a_;
  }
  next.q = x.q + dt * mean_q_;
  next.v = x.v + dt * mean_a_;
  normalise(next.q);
  next.t = x.t + dt;
  if (!std::isfinite(next.q.squaredNorm() + next.v.squaredNorm())) {
    result.failure = Failure::not_finite;
  }
  return result;
}

Eigen::VectorXd pinocchio_rk4(const Model& model, const Eigen::VectorXd& q0,
                              const Eigen::VectorXd& v0, double dt, int steps) {
  const auto& m = model.pinocchio();
  if (q0.size() != m.nq || v0.size() != m.nv) throw ModelError("q or v has a wrong size");
  pinocchio::Data data(m);
  const Eigen::VectorXd tau = Eigen::VectorXd::Zero(m.nv);
  Eigen::VectorXd q = q0, v = v0, at = q0, u = v0, sum = v0, total = v0, a = v0, reach = v0;
  const double fractions[4] = {0.5, 0.5, 1.0, 0.0}, weights[4] = {1.0, 2.0, 2.0, 1.0};
  for (int k = 0; k < steps; ++k) {
    at = q;
    u = v;
    sum.setZero();
    total.setZero();
    for (int stage = 0; stage < 4; ++stage) {
      // As references, for which Pinocchio's library holds the compiled function.
      a = pinocchio::aba(m, data, ConstVector(at), ConstVector(u), ConstVector(tau));
      sum += weights[stage] * u;
      total += weights[stage] * a;
      if (stage == 3) break;
      reach = (fractions[stage] * dt) * u;
      pinocchio::integrate(m, q, reach, at);
      u = v + (fractions[stage] * dt) * a;
    }
    reach = (dt / 6.0) * sum;
    pinocchio::integrate(m, q, reach, at);
    q = at;
    v += (dt / 6.0) * total;
  }
  return q;
}

namespace {

const Model& small_enough(const Model& model) {
  if (model.nv() > kMaxVelocities) {
    throw ModelError("the robot '" + model.name() + "' has " + std::to_string(model.nv()) +
                     " degrees of freedom; rkmk4 in C++ covers at most " +
                     std::to_string(kMaxVelocities));
  }
  return model;
}

}  // namespace

RKMK4::RKMK4(const Model& model, bool gravity)
    : model_(small_enough(gravity ? model : model.with_gravity(Eigen::Vector3d::Zero()))),
      robot_(model_),
      fluid_(model_),
      tool_(static_cast<int>(model_.end_effector())),
      at_tool_(6, model_.nv()) {
  v_ = a_ = rate_ = mean_ = mean_a_ = reach_ = VectorXd::Zero(model_.nv());
  q_ = VectorXd::Zero(model_.nq());
  mass_ = coriolis_ = MatrixV::Zero(model_.nv(), model_.nv());
  force_ = weight_ = VectorV::Zero(model_.nv());
}

/// The acceleration at the stage (q_, v_) at time t, and the work of the efforts there.
void RKMK4::accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept {
  const int b = model_.b(), n = model_.n();
  robot_.set_configuration(q_.data());
  robot_.set_velocity(v_.data());
  robot_.mass(mass_.data());
  robot_.coriolis(coriolis_.data());
  coriolis_.transposeInPlace();  // it is written row by row
  robot_.gravity(weight_.data());
  force_.setZero();
  if (fluid_.exist()) {
    fluid_.set_configuration(robot_);
    fluid_.set_velocity(robot_, v_);
    fluid_.add_mass(mass_);
    fluid_.add_coriolis(coriolis_);
    fluid_.add_gravity(weight_);
    fluid_.add_drag(force_);
    result.dissipated += duration * fluid_.drag_power();
  }
  if (ports.any) {
    if (ports.torque.size() > 0) {
      force_.tail(n) += ports.torque;
      result.supplied[0] += duration * ports.torque.dot(v_.tail(n));
    }
    if (ports.wrench_base.size() > 0) {
      force_.head(b) += ports.wrench_base;
      result.supplied[1] += duration * ports.wrench_base.dot(v_.head(b));
    }
    if (ports.spin.any) force_.segment<3>(3) += ports.spin.moment(t, v_.segment<3>(3));
    if (ports.has_tool) {
      robot_.jacobian(tool_, false, at_tool_.data());
      Eigen::Matrix<double, 6, 1> wrench;
      wrench << ports.tool.linear, ports.tool.angular;
      const VectorV acting = product<VectorV>(transposed(at_tool_), wrench);
      force_ += acting;
      result.supplied[2] += duration * acting.dot(v_);
    }
    for (Eigen::Index i = 0; i < ports.viscous.size(); ++i) {
      const double rate = v_[b + i];
      const double braking =
          ports.viscous[i] * rate + ports.coulomb[i] * std::tanh(rate / ports.slip);
      force_[b + i] -= braking;
      result.dissipated += duration * braking * rate;
    }
  }
  force_ -= weight_;
  add_product(coriolis_, v_, force_, -1.0);
  Cholesky(mass_).solve(force_.data());
  a_ = force_;
}

StepResult RKMK4::step(const SolverState& x, const Ports& ports, double t, double dt,
                       SolverState& next) noexcept {
  const Tree& tree = robot_.tree();
  StepResult result;
  mean_.setZero();
  mean_a_.setZero();
  rate_.setZero();
  a_.setZero();
  for (const auto& [lead, weight, push] : kClassical) {
    reach_ = lead * dt * rate_;
    if (lead == 0.0) {
      q_ = x.q;
    } else {
      model_.integrate(x.q, reach_, q_);
    }
    v_ = x.v + lead * dt * a_;
    if (!std::isfinite(q_.squaredNorm() + v_.squaredNorm())) {
      result.failure = Failure::not_finite;
      return result;
    }
    accelerate(ports, t + lead * dt, weight * dt, result);
    rate_ = v_;
    tree.set_base(inverse_differential(tree.base_twist(reach_), tree.base_twist(v_)), rate_);
    mean_ += weight * rate_;
    mean_a_ += weight * a_;
  }
  reach_ = dt * mean_;
  model_.integrate(x.q, reach_, next.q);
  next.v = x.v + dt * mean_a_;
  next.t = t + dt;
  if (!std::isfinite(next.q.squaredNorm() + next.v.squaredNorm())) {
    result.failure = Failure::not_finite;
  }
  return result;
}

}  // namespace vms_ph
