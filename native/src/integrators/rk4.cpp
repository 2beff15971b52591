// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/rk4.hpp"

#include <cmath>

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
      centroidal_(model_, gravity) {
  v_ = a_ = rate_ = mean_ = mean_a_ = reach_ = acting_ = VectorXd::Zero(model_.nv());
  q_ = VectorXd::Zero(model_.nq());
  mass_ = coriolis_ = MatrixV::Zero(model_.nv(), model_.nv());
  force_ = weight_ = VectorV::Zero(model_.nv());
}

/// The acceleration at the stage (q_, v_) at time t, and the work of the efforts there.
void RKMK4::accelerate(const Ports& ports, double t, double duration, StepResult& result) noexcept {
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
    centroidal_.tree.set_configuration(q_);
    centroidal_.external_force(ports, t, v_, acting_);
    centroidal_.add_port_energies(ports, v_, duration, result);
    force_ += acting_;
  }
  force_ -= weight_;
  add_product(coriolis_, v_, force_, -1.0);
  Cholesky(mass_).solve(force_.data());
  a_ = force_;
}

StepResult RKMK4::step(const SolverState& x, const Ports& ports, double t, double dt,
                       SolverState& next) noexcept {
  const Tree& tree = centroidal_.tree;
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
