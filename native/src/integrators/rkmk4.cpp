// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/rkmk4.hpp"

#include <cmath>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/integrators/projected_runge_kutta.hpp"
#include "vms_ph_native/products.hpp"

namespace vms_ph {
namespace {

using Eigen::VectorXd;

const Model& small_enough(const Model& model) {
  if (model.nv() > kMaxVelocities) {
    throw ModelError("the robot '" + model.name() + "' has " + std::to_string(model.nv()) +
                     " degrees of freedom; rkmk4 in C++ covers at most " +
                     std::to_string(kMaxVelocities));
  }
  return model;
}

/// The base part of a velocity as a screw, and back.
Screw screw_of(const VectorXd& v, int b) {
  if (b == 3) return {{v[0], v[1], 0.0}, {0.0, 0.0, v[2]}};
  return {v.head<3>(), v.segment<3>(3)};
}

void write(const Screw& screw, int b, VectorXd& v) {
  if (b == 3) {
    v.head<3>() << screw.linear.x(), screw.linear.y(), screw.angular.z();
  } else {
    v.head<6>() << screw.linear, screw.angular;
  }
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

SolverState RKMK4::begin(const VectorXd& q, const VectorXd& v, double t) {
  SolverState x;
  x.q = q;
  x.v = v;
  x.t = t;
  return x;
}

void RKMK4::motion(const SolverState& x, VectorXd& q, VectorXd& v) noexcept {
  q = x.q;
  v = x.v;
}

/// The acceleration at the stage (q_, v_) at time t, and the work of the efforts there.
void RKMK4::accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept {
  const int b = model_.b(), n = model_.n();
  robot_.place(q_.data());
  robot_.move(v_.data());
  robot_.mass(mass_.data());
  robot_.coriolis(coriolis_.data());
  coriolis_.transposeInPlace();  // it is written row by row
  robot_.gravity(weight_.data());
  force_.setZero();
  if (fluid_.exist()) {
    fluid_.place(robot_);
    fluid_.move(robot_, v_);
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
  constexpr double kLeads[] = {0.0, 0.5, 0.5, 1.0};
  constexpr double kWeights[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  const int b = model_.b();
  StepResult result;
  mean_.setZero();
  mean_a_.setZero();
  rate_.setZero();
  a_.setZero();
  for (int i = 0; i < 4; ++i) {
    reach_ = kLeads[i] * dt * rate_;
    if (i == 0) {
      q_ = x.q;
    } else {
      model_.integrate(x.q, reach_, q_);
    }
    v_ = x.v + kLeads[i] * dt * a_;
    if (!std::isfinite(q_.squaredNorm() + v_.squaredNorm())) {
      result.failure = Failure::not_finite;
      return result;
    }
    accelerate(ports, t + kLeads[i] * dt, kWeights[i] * dt, result);
    rate_ = v_;
    if (b > 0) write(inverse_differential(screw_of(reach_, b), screw_of(v_, b)), b, rate_);
    mean_ += kWeights[i] * rate_;
    mean_a_ += kWeights[i] * a_;
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
