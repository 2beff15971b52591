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
                       static_cast<std::size_t>(20 * m.nv() * dynamics.body_count()));
    for (auto* x : {&block, &vector_term, &rate}) x->resize(matrix.size() + 6 * v[0].size());
  }

  Efforts efforts(const VectorXd& f) const { return {f.data() + model.b(), f.data()}; }

  const Model& model;
  pinocchio::Data data;
  Dynamics dynamics;
  std::vector<VectorXd> q, v, force;
  TaskForm task;  ///< the velocity of the end effector's origin; regular everywhere, for the time
  std::vector<double> matrix, block, vector_term, rate, derivatives;  ///< results, overwritten
  double energy_sum = 0.0;
};

}  // namespace

Contenders dynamics(const Model& model) {
  const auto fixture = std::make_shared<Fixture>(model);
  Contenders contenders;
  const auto add = [&](const char* name, auto evaluate) {
    contenders.push_back({name,
                          [fixture, evaluate](int) {
                            for (std::size_t i = 0; i < kStates; ++i) {
                              evaluate(*fixture, ConstVector(fixture->q[i]),
                                       ConstVector(fixture->v[i]), fixture->force[i]);
                            }
                          },
                          kStates});
  };
  using Vector = const ConstVector&;
  add("Pinocchio aba", [](Fixture& f, Vector q, Vector v, const VectorXd& force) {
    pinocchio::aba(f.model.pinocchio(), f.data, q, v, ConstVector(force));
  });
  add("Pinocchio computeABADerivatives", [](Fixture& f, Vector q, Vector v, const VectorXd& force) {
    pinocchio::computeABADerivatives(f.model.pinocchio(), f.data, q, v, ConstVector(force));
  });
  add("Pinocchio crba + computeCoriolisMatrix",
      [](Fixture& f, Vector q, Vector v, const VectorXd&) {
        pinocchio::crba(f.model.pinocchio(), f.data, q);
        pinocchio::computeCoriolisMatrix(f.model.pinocchio(), f.data, q, v);
      });
  add("Pinocchio both energies", [](Fixture& f, Vector q, Vector v, const VectorXd&) {
    f.energy_sum += pinocchio::computeKineticEnergy(f.model.pinocchio(), f.data, q, v);
    f.energy_sum += pinocchio::computePotentialEnergy(f.model.pinocchio(), f.data);
  });
  const auto add_rate = [&](const char* name, bool is_decoupled) {
    add(name, [is_decoupled](Fixture& f, Vector q, Vector v, const VectorXd& force) {
      f.dynamics.set_configuration(q.data());
      f.dynamics.rates(is_decoupled, v.data(), f.efforts(force), f.vector_term.data(),
                       f.rate.data());
    });
  };
  add_rate("StandardForm rate", false);
  add_rate("DecoupledForm rate", true);
  const auto add_derivatives = [&](const char* name, bool is_decoupled, bool has_parameters,
                                   bool is_task = false) {
    add(name, [=](Fixture& f, Vector q, Vector v, const VectorXd& force) {
      f.dynamics.set_configuration(q.data());
      double* out = f.derivatives.data();
      const int nv = f.model.nv(), size = nv * nv,
                parameter_size = 10 * nv * f.dynamics.body_count();
      RateDerivatives outputs{out, out + size, out + 2 * size, out + 3 * size, out + 4 * size};
      if (has_parameters) {
        outputs.velocity_by_parameters = out + 5 * size;
        outputs.rate_by_parameters = out + 5 * size + parameter_size;
      }
      f.dynamics.rate_derivatives(is_decoupled, v.data(), f.efforts(force), outputs,
                                  is_task ? &f.task : nullptr);
    });
  };
  add_derivatives("StandardForm rate_derivatives", false, false);
  add_derivatives("DecoupledForm rate_derivatives", true, false);
  add_derivatives("DecoupledForm rate_derivatives, by parameters too", true, true);
  add_derivatives("TaskSpaceForm rate_derivatives", false, false, true);
  add("all terms of evaluate", [](Fixture& f, Vector q, Vector v, const VectorXd&) {
    Dynamics& d = f.dynamics;
    d.set_configuration(q.data());
    d.set_velocity(v.data());
    d.mass(f.matrix.data());
    d.coriolis(f.matrix.data());
    d.shape_inertia(f.matrix.data());
    d.connection(f.block.data());
    d.locked_inverse(f.block.data());
    d.gravity(f.vector_term.data());
    d.momentum(f.vector_term.data());
    d.locked_velocity(f.vector_term.data());
    d.shape_momentum(f.vector_term.data());
    d.jacobian(static_cast<int>(f.model.end_effector()), false, f.block.data());
    f.energy_sum += d.kinetic_energy() + d.potential_energy();
  });
  add("both energies", [](Fixture& f, Vector q, Vector v, const VectorXd&) {
    f.dynamics.set_configuration(q.data());
    f.dynamics.set_velocity(v.data());
    f.energy_sum += f.dynamics.kinetic_energy() + f.dynamics.potential_energy();
  });
  return contenders;
}

}  // namespace vms_ph
