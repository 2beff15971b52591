// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms and rates of the robot beside Pinocchio's algorithms, per state.
#include <memory>
#include <random>
#include <vector>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/energy.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "contender.hpp"
#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace vms_ph {
namespace {

constexpr int kStates = 64;  // of one update: its time is far above the resolution of the clock

struct Fixture {
  explicit Fixture(const Model& m) : model(m), data(m.pinocchio()), dynamics(m) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    const auto random = [&](int size) {
      return VectorXd(VectorXd::NullaryExpr(size, [&]() { return uniform(generator); }));
    };
    VectorXd configuration(m.nq());
    for (int i = 0; i < kStates; ++i) {
      m.integrate(m.neutral_configuration(), random(m.nv()), configuration);
      q.push_back(configuration);
      v.push_back(random(m.nv()));
      force.push_back(random(m.nv()));
    }
    task = {{{static_cast<int>(m.end_effector()), 0, 3}},
            Eigen::MatrixXd::Identity(m.nv(), m.nv()).bottomRows(m.nv() - 3),
            1e-6};
    matrix.resize(static_cast<std::size_t>(m.nv() * m.nv()));
    derivatives.resize(5 * matrix.size() +
                       static_cast<std::size_t>(20 * m.nv() * dynamics.bodies()));
    for (auto* x : {&block, &vector_term, &rate}) x->resize(matrix.size() + 6 * v[0].size());
  }

  Efforts efforts(const VectorXd& f) const { return {f.data() + model.b(), f.data()}; }

  const Model& model;
  pinocchio::Data data;
  Dynamics dynamics;
  std::vector<VectorXd> q, v, force;
  TaskForm task;  ///< the velocity of the end effector's origin; regular everywhere, for the time
  std::vector<double> matrix, block, vector_term, rate, derivatives;
  double energy_sum = 0.0;
};

}  // namespace

Contenders dynamics(const Model& model) {
  const auto f = std::make_shared<Fixture>(model);
  Contenders contenders;
  const auto add = [&](const char* name, auto evaluate) {
    contenders.push_back({name,
                          [f, evaluate](int) {
                            for (std::size_t i = 0; i < kStates; ++i) {
                              evaluate(*f, ConstVector(f->q[i]), ConstVector(f->v[i]), f->force[i]);
                            }
                          },
                          kStates});
  };
  using Vector = const ConstVector&;
  add("Pinocchio aba", [](Fixture& x, Vector q, Vector v, const VectorXd& force) {
    pinocchio::aba(x.model.pinocchio(), x.data, q, v, ConstVector(force));
  });
  add("Pinocchio computeABADerivatives", [](Fixture& x, Vector q, Vector v, const VectorXd& force) {
    pinocchio::computeABADerivatives(x.model.pinocchio(), x.data, q, v, ConstVector(force));
  });
  add("Pinocchio crba + computeCoriolisMatrix",
      [](Fixture& x, Vector q, Vector v, const VectorXd&) {
        pinocchio::crba(x.model.pinocchio(), x.data, q);
        pinocchio::computeCoriolisMatrix(x.model.pinocchio(), x.data, q, v);
      });
  add("Pinocchio both energies", [](Fixture& x, Vector q, Vector v, const VectorXd&) {
    x.energy_sum += pinocchio::computeKineticEnergy(x.model.pinocchio(), x.data, q, v);
    x.energy_sum += pinocchio::computePotentialEnergy(x.model.pinocchio(), x.data);
  });
  const auto add_rate = [&](const char* name, bool is_decoupled) {
    add(name, [is_decoupled](Fixture& x, Vector q, Vector v, const VectorXd& force) {
      x.dynamics.set_configuration(q.data());
      x.dynamics.rates(is_decoupled, v.data(), x.efforts(force), x.vector_term.data(),
                       x.rate.data());
    });
  };
  add_rate("StandardForm rate", false);
  add_rate("DecoupledForm rate", true);
  const auto add_derivatives = [&](const char* name, bool is_decoupled, bool by_parameters,
                                   bool is_task = false) {
    add(name, [=](Fixture& x, Vector q, Vector v, const VectorXd& force) {
      x.dynamics.set_configuration(q.data());
      double* out = x.derivatives.data();
      const int nv = x.model.nv(), size = nv * nv, parameter_size = 10 * nv * x.dynamics.bodies();
      RateDerivatives outputs{out, out + size, out + 2 * size, out + 3 * size, out + 4 * size};
      if (by_parameters) {
        outputs.velocity_by_parameters = out + 5 * size;
        outputs.rate_by_parameters = out + 5 * size + parameter_size;
      }
      x.dynamics.rate_derivatives(is_decoupled, v.data(), x.efforts(force), outputs,
                                  is_task ? &x.task : nullptr);
    });
  };
  add_derivatives("StandardForm rate_derivatives", false, false);
  add_derivatives("DecoupledForm rate_derivatives", true, false);
  add_derivatives("DecoupledForm rate_derivatives, by parameters too", true, true);
  add_derivatives("TaskSpaceForm rate_derivatives", false, false, true);
  add("all terms of evaluate", [](Fixture& x, Vector q, Vector v, const VectorXd&) {
    Dynamics& d = x.dynamics;
    d.set_configuration(q.data());
    d.set_velocity(v.data());
    d.mass(x.matrix.data());
    d.coriolis(x.matrix.data());
    d.shape_inertia(x.matrix.data());
    d.connection(x.block.data());
    d.locked_inverse(x.block.data());
    d.gravity(x.vector_term.data());
    d.momentum(x.vector_term.data());
    d.locked_velocity(x.vector_term.data());
    d.shape_momentum(x.vector_term.data());
    d.jacobian(static_cast<int>(x.model.end_effector()), false, x.block.data());
    x.energy_sum += d.kinetic_energy() + d.potential_energy();
  });
  add("both energies", [](Fixture& x, Vector q, Vector v, const VectorXd&) {
    x.dynamics.set_configuration(q.data());
    x.dynamics.set_velocity(v.data());
    x.energy_sum += x.dynamics.kinetic_energy() + x.dynamics.potential_energy();
  });
  return contenders;
}

}  // namespace vms_ph
