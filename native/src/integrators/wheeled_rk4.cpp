// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/wheeled_rk4.hpp"

#include <cmath>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/integrators/projected_runge_kutta.hpp"
#include "vms_ph_native/products.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

using Eigen::VectorXd;

// Largest change of the speed by the closing of the balance, as a share; beyond it, at rest, the
// residual of the step is left in the balance.
constexpr double kMaxCorrection = 1e-3;

/// The factor of the speed that gives the desired kinetic energy, J; 1 at rest.
double closing(double energy_change, double target) noexcept {
  if (!(energy_change > 0.0 && target > 0.0)) return 1.0;
  const double factor = std::sqrt(target / energy_change);
  return std::abs(factor - 1.0) <= kMaxCorrection ? factor : 1.0;
}

}  // namespace

WheeledRK4::WheeledRK4(const Model& model, bool gravity, const std::vector<Wheel>& wheels)
    : gravity_(gravity), model_(model), robot_(model, false), terms_(model, wheels) {
  if (model.fluid() != nullptr) {
    throw ModelError("'" + model.name() + "' is in a fluid; wheels roll on dry ground");
  }
  at_.q = VectorXd::Zero(model.nq());
  at_.v = rate_ = mean_ = reach_ = force_ = velocity_ = VectorXd::Zero(model.nv());
  slope_ = mean_slope_ = VectorV::Zero(terms_.dimension());
}

SolverState WheeledRK4::begin(const VectorXd& q, const VectorXd& v, double t) {
  at_.q = q;
  at_.v = v;
  if (!terms_.compute(at_, WheeledTerms::Velocities::best_here)) throw ModelError(terms_.reason());
  return Stepper::begin(q, product<VectorXd>(terms_.basis, terms_.nu), t);
}

/// Compute the terms at `reach_` from a configuration, with the velocities in `at_`, of which the
/// independent ones are taken.
Failure WheeledRK4::evaluate_at(const VectorXd& from, double lead) noexcept {
  if (lead > 0.0) {
    model_.integrate(from, reach_, at_.q);
  } else {
    at_.q = from;
  }
  if (!std::isfinite(at_.q.squaredNorm() + at_.v.squaredNorm())) return Failure::not_finite;
  using Velocities = WheeledTerms::Velocities;
  if (!terms_.compute(at_, lead > 0.0 ? Velocities::as_before : Velocities::best_here)) {
    return Failure::undetermined;
  }
  multiply(terms_.basis, terms_.nu, velocity_);
  return Failure::none;
}

/// Kinetic energy, and potential energy where gravity acts, of the terms computed last, J.
double WheeledRK4::energy() noexcept {
  Evaluation& d = terms_.d();
  return d.kinetic_energy() + (gravity_ ? d.potential_energy() : 0.0);
}

/// Compute the rates of the terms computed last, `reach_` from the start of the step, and enter the
/// energies of the ports over a time, s.
void WheeledRK4::accelerate(const Ports& ports, double elapsed, StepResult& result) noexcept {
  force_.setZero();
  if (ports.any) {
    robot_.tree.set_configuration(at_.q);
    robot_.external_force(ports, 0.0, velocity_, force_);  // held efforts only
    robot_.add_port_energies(ports, velocity_, elapsed, result);
  }
  if (gravity_) force_ -= terms_.d().g();
  multiply(transposed(terms_.basis), force_, slope_);
  add_product(terms_.coriolis, terms_.nu, slope_, -1.0);
  Cholesky(terms_.mass).solve(slope_.data());
  rate_ = velocity_;
  const Tree& tree = robot_.tree;
  tree.set_base(inverse_differential(tree.base_twist(reach_), tree.base_twist(velocity_)), rate_);
}

StepResult WheeledRK4::step(const SolverState& x, const Ports& ports, double, double dt,
                            SolverState& next) noexcept {
  StepResult result;
  const auto& independent = terms_.independent();
  const auto lead_to = [&](double by, const VectorXd& rate, const VectorV& slope) {
    reach_ = by * rate;
    at_.v = x.v;
    for (std::size_t k = 0; k < independent.size(); ++k) {
      at_.v[independent[k]] += by * slope[static_cast<Eigen::Index>(k)];
    }
  };
  mean_.setZero();
  mean_slope_.setZero();
  rate_.setZero();
  slope_.setZero();
  double before = 0.0;
  for (const auto& [lead, weight, push] : kClassical) {
    lead_to(lead * dt, rate_, slope_);
    result.failure = evaluate_at(x.q, lead);
    if (result.failure != Failure::none) return result;
    if (lead == 0.0) before = energy();
    accelerate(ports, weight * dt, result);
    mean_ += weight * rate_;
    mean_slope_ += weight * slope_;
  }
  lead_to(dt, mean_, mean_slope_);
  result.failure = evaluate_at(x.q, 1.0);
  if (result.failure != Failure::none) return result;
  const double kinetic = terms_.d().kinetic_energy();
  const double target = before + result.net() - (energy() - kinetic);
  next.q = at_.q;
  next.v = closing(kinetic, target) * velocity_;
  next.t = x.t + dt;
  return result;
}

}  // namespace vms_ph
