// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/rk4.hpp"

#include <cmath>
#include <optional>

#include <pinocchio/algorithm/aba.hpp>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

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
      coupled->place(q.data());
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

SolverState RK4::begin(const VectorXd& q, const VectorXd& v, double t) {
  SolverState x;
  x.q = q;
  x.v = v;
  x.t = t;
  return x;
}

void RK4::motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q = x.q;
  v = x.v;
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
  constexpr double kLeads[] = {0.0, 0.5, 0.5, 1.0};
  constexpr double kWeights[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  StepResult result;
  mean_q_.setZero();
  mean_a_.setZero();
  qdot_.setZero();
  a_.setZero();
  force_.setZero();
  for (int i = 0; i < 4; ++i) {
    q_ = x.q + (kLeads[i] * dt) * qdot_;
    v_ = x.v + (kLeads[i] * dt) * a_;
    if (i > 0) normalise(q_);
    if (ports.any) {
      robot_.tree.place(q_);
      robot_.external_force(ports, t + kLeads[i] * dt, v_, force_);
      robot_.add_port_energies(ports, v_, kWeights[i] * dt, result);
    }
    algorithm_->accelerate(q_, v_, force_, a_);
    coordinate_rate(q_, v_);
    mean_q_ += kWeights[i] * qdot_;
    mean_a_ += kWeights[i] * a_;
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

}  // namespace vms_ph
