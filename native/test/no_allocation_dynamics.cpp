// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Terms, rates and energies of any state take nothing from the heap, nor does a closed loop.
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "arm.hpp"
#include "core_test.hpp"
#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/integrators/stepper.hpp"
#include "vms_ph_native/laws.hpp"

namespace no_allocation_dynamics {

using vms_ph::Base;
using vms_ph::Dynamics;
using vms_ph::Model;

/// Use the form of one velocity of the end effector; NaN where it is singular.
double use_task(Dynamics& d, const Eigen::VectorXd& v, const vms_ph::Efforts& efforts, double* x) {
  if (d.nv() == 1) return 0.0;  // one joint has no null space
  static std::map<int, vms_ph::TaskForm> forms;
  vms_ph::TaskForm& form = forms[d.nv()];
  if (form.frame_rows.empty()) {
    form.frame_rows.push_back({d.frame_count() - 1, 0, 1});
    form.reference = Eigen::MatrixXd::Identity(d.nv(), d.nv()).bottomRows(d.nv() - 1);
    form.min_sigma = 1e-6;
  }
  const int matrix_size = d.nv() * d.nv(), regressor_size = 10 * d.body_count() * d.nv();
  double* y = x + 5 * matrix_size;
  const vms_ph::RateDerivatives out{
      x, x + matrix_size,   x + 2 * matrix_size, x + 3 * matrix_size, x + 4 * matrix_size,
      y, y + regressor_size};
  const bool exist = d.rate_derivatives(false, v.data(), efforts, out, &form) &&
                     d.energy_derivatives(false, v.data(), true, x, x + d.nv(), y, &form);
  return exist ? x[0] + y[0] : vms_ph::kNaN;
}

/// Use everything at one state; the sum of what it gives.
double use(Dynamics& d, const Eigen::VectorXd& q, const Eigen::VectorXd& v,
           const vms_ph::Efforts& efforts, std::vector<double>& out) {
  double* x = out.data();
  d.set_configuration(q.data());
  d.set_velocity(v.data());
  for (const auto write : {&Dynamics::mass, &Dynamics::shape_inertia, &Dynamics::coriolis}) {
    (d.*write)(x);
  }
  d.locked_inverse(x);
  d.connection(x);
  d.gravity(x);
  d.momentum(x);
  d.locked_velocity(x);
  d.shape_momentum(x);
  d.kinetic_regressor(x);
  d.potential_regressor(x);
  d.jacobian(d.frame_count() - 1, true, x);
  d.jacobian_rate(d.frame_count() - 1, false, x);
  double sum = d.kinetic_energy() + d.potential_energy() + d.momenta().spatial.linear.sum();
  for (const bool decoupled : {false, true}) {
    d.rates(decoupled, v.data(), efforts, x, x + d.nv());
    sum += x[d.nv()];
    const int matrix_size = d.nv() * d.nv(), regressor_size = 10 * d.body_count() * d.nv();
    double* y = x + 5 * matrix_size;
    d.rate_derivatives(decoupled, v.data(), efforts,
                       {x, x + matrix_size, x + 2 * matrix_size, x + 3 * matrix_size,
                        x + 4 * matrix_size, y, y + regressor_size});
    d.energy_derivatives(decoupled, v.data(), true, x, x + d.nv(), y);
    sum += y[0];
  }
  return sum + use_task(d, v, efforts, x);
}

int count_terms(const Model& model) {
  Dynamics dynamics(model);
  Eigen::VectorXd q = model.neutral_configuration();
  const Eigen::VectorXd v = Eigen::VectorXd::LinSpaced(model.nv(), -0.7, 0.9);
  const Eigen::VectorXd effort = Eigen::VectorXd::Ones(model.nv() + 6);
  const vms_ph::FrameWrench wrench{dynamics.frame_count() - 1, effort.data()};
  vms_ph::Efforts efforts;
  efforts.torque = efforts.wrench_base = efforts.damping = efforts.dry_friction = effort.data();
  efforts.wrenches = &wrench;
  efforts.wrench_count = 1;
  std::vector<double> out(static_cast<std::size_t>(
      (5 * model.nv() + 20 * dynamics.body_count() + 10) * model.nv() + 400));
  double sum = use(dynamics, q, v, efforts, out);  // the first state of a task takes memory
  const long initial_count = allocations();
  for (int k = 0; k < updates(100); ++k) {
    q[model.nq() - 1] = 1e-2 * k;
    sum += use(dynamics, q, v, efforts, out);
  }
  const long final_count = allocations();
  std::printf("terms, base of %d: %ld allocations\n", model.b(), final_count - initial_count);
  return final_count == initial_count && std::isfinite(sum) ? 0 : 1;
}

/// The loop of a law that has the model of the scheme, or a copy; return where it ends in `x`.
int count_loop(const Model& model, const Model& law_model, vms_ph::SolverState& x) {
  const auto decoupled = vms_ph::make_law("DecoupledVMSController", law_model, {}, true);
  vms_ph::Controller& law = *decoupled;
  vms_ph::ProjectedRungeKutta scheme(model, true, 4);
  vms_ph::ClosedLoop loop(model, scheme, true, 1e-9);
  const Eigen::VectorXd q = model.neutral_configuration(),
                        v = Eigen::VectorXd::Constant(model.nv(), 0.1);
  if (!law.reset({q, v})) return 1;
  x = scheme.begin(q, v, 0.0);
  vms_ph::SolverState scratch = x;
  vms_ph::LoopResult result;
  result.next_command =
      result.last_command = {Eigen::VectorXd::Zero(model.n()), Eigen::VectorXd::Zero(model.b())};
  const vms_ph::Ports no_ports;
  const vms_ph::Reference reference;
  vms_ph::ConstantReference control(law, reference);
  const long initial_count = allocations();
  loop.run(control, x, scratch, no_ports, 0.0, 1e-3, 0, 500, result);
  const long final_count = allocations();
  std::printf("loop, base of %d: %ld steps, %ld allocations\n", model.b(), result.total.steps,
              final_count - initial_count);
  return final_count == initial_count && result.total.steps == 500 ? 0 : 1;
}

/// Whether the terms that a scheme shares with a law change nothing.
int count_loops(const Model& model) {
  vms_ph::SolverState shared, separate;
  const Model copy = model;
  const int failures = count_loop(model, model, shared) + count_loop(model, copy, separate);
  return failures + (shared.q == separate.q && shared.v == separate.v ? 0 : 1);
}

/// A state that was set ahead is set again where another was set in between, as by resume().
bool keeps_states_apart(const Model& model) {
  vms_ph::Evaluation d(model), other(model);
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(model.nv());
  vms_ph::RobotState state{model.neutral_configuration(),
                           Eigen::VectorXd::Constant(model.nv(), 0.1)};
  other.set(state);
  state.evaluation = &d;
  const double ahead = d.set_ahead(state, nullptr).kinetic_energy(),
               energy = other.kinetic_energy();
  const bool is_kept = (d.set(state), d.kinetic_energy()) == energy;
  d.set(state.q, zero);
  return ahead == energy && is_kept && d.kinetic_energy() == 0.0 &&
         (d.set(state), d.kinetic_energy()) == energy && (other.set(state), other.v() == state.v);
}

TEST(no_allocation_dynamics) {
  int failures = 0;
  for (const Base base : {Base::fixed, Base::planar, Base::floating}) {
    const Model model = Model::from_urdf(kArm, base);
    failures += count_terms(model);
    vms_ph::Fluid water;
    water.bodies.resize(1);
    water.bodies[0].link = "lower";
    water.bodies[0].added_mass.setIdentity();
    water.bodies[0].quadratic_drag.setOnes();
    failures += count_terms(model.in_fluid(water));
    if (model.b() > 0) failures += count_loops(model);
    CHECK(keeps_states_apart(model));
    std::string mimic_urdf = kArm;
    mimic_urdf.insert(mimic_urdf.rfind("</joint>"), "<mimic joint='shoulder' multiplier='-0.5'/>");
    const Model coupled_model = Model::from_urdf(mimic_urdf, base);
    if (coupled_model.n() != 1) ++failures;
    failures += count_terms(coupled_model);
    if (coupled_model.b() > 0) failures += count_loops(coupled_model);
  }
  CHECK(failures == 0);
}

}  // namespace no_allocation_dynamics
