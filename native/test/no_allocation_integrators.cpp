// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A step of any scheme takes nothing from the heap: free, forced, failing, or by Newton's
// iteration.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "core_test.hpp"
#include "vms_ph_native/integrators/schemes.hpp"
#include "vms_ph_native/model.hpp"

namespace no_allocation_integrators {

/// Four links on hinges that turn about x and y in turns; the first may mimic the third.
std::string robot(bool has_mimic) {
  const std::string inertial =
      "<inertial><origin xyz='0.05 0.02 0.2'/><mass value='2'/>"
      "<inertia ixx='0.03' iyy='0.04' izz='0.02' ixy='0.001' ixz='0' iyz='0'/></inertial>";
  std::string xml = "<robot name='chain'>";
  for (int i = 0; i < 5; ++i) {
    xml += "<link name='l" + std::to_string(i) + "'>" + inertial + "</link>";
  }
  for (int i = 0; i < 4; ++i) {
    xml += "<joint name='j" + std::to_string(i) + "' type='" +
           (i == 3 ? "continuous" : "revolute") + "'><origin xyz='0 0 0.4'/><parent link='l" +
           std::to_string(i) + "'/><child link='l" + std::to_string(i + 1) + "'/><axis xyz='" +
           (i % 2 == 0 ? "1 0 0" : "0 1 0") +
           "'/><limit lower='-3' upper='3' effort='9' velocity='9'/>" +
           (has_mimic && i == 0 ? "<mimic joint='j2' multiplier='-0.5' offset='0.1'/>" : "") +
           "</joint>";
  }
  return xml + "</robot>";
}

TEST(no_allocation_integrators) {
  using vms_ph::Base;
  int failures = 0, variant = 0;
  for (const Base base :
       {Base::fixed, Base::planar, Base::floating, Base::fixed, Base::planar, Base::floating}) {
    const bool has_mimic = variant++ >= 3;
    const vms_ph::Model model = vms_ph::Model::from_urdf(robot(has_mimic), base);
    if (model.n() != (has_mimic ? 3 : 4)) ++failures;
    std::vector<std::pair<const char*, std::unique_ptr<vms_ph::Stepper>>> schemes;
    schemes.emplace_back("rkmk4", std::make_unique<vms_ph::RKMK4>(model, true));
    schemes.emplace_back("projected_rk4",
                         std::make_unique<vms_ph::ProjectedRungeKutta>(model, true, 4));
    schemes.emplace_back("discrete_gradient",
                         std::make_unique<vms_ph::DiscreteGradient>(model, true));
    Eigen::VectorXd q = Eigen::VectorXd::Zero(model.nq());
    if (base == Base::floating) q[6] = 1.0;
    if (base == Base::planar) q[2] = 1.0;
    q[model.nq() - 2] = 1.0;
    const Eigen::VectorXd v = Eigen::VectorXd::LinSpaced(model.nv(), -0.7, 0.9);
    vms_ph::Ports forced_ports;
    forced_ports.has_efforts = forced_ports.has_wrench_end_effector = true;
    forced_ports.torque = Eigen::VectorXd::Ones(model.n());
    forced_ports.wrench_base = Eigen::VectorXd::Ones(model.b());
    forced_ports.wrench_end_effector.linear.setOnes();
    forced_ports.damping = forced_ports.dry_friction = Eigen::VectorXd::Constant(model.n(), 0.1);
    vms_ph::Ports stiff_ports = forced_ports;
    stiff_ports.damping.setConstant(1e4);  // no fixed point contracts: Newton's iteration
    const vms_ph::Ports no_ports;
    const vms_ph::Ports* const all_ports[] = {&no_ports, &forced_ports, &stiff_ports};
    for (auto& [name, scheme] : schemes) {
      vms_ph::SolverState x = scheme->begin(q, v, 0.0), scratch = x;
      Eigen::VectorXd q_end = q, v_end = v;
      for (const vms_ph::Ports* ports : all_ports) {
        const long initial_count = allocations();
        const vms_ph::MultiStepResult loop_sums = scheme->run(x, *ports, 0.0, 1e-3, 0, 50, scratch);
        scheme->motion(x, q_end, v_end);
        const long final_count = allocations();
        std::printf("%s, base of %d, %d joints: %ld steps, %ld allocations\n", name, model.b(),
                    model.n(), loop_sums.steps, final_count - initial_count);
        if (final_count != initial_count || (ports != &stiff_ports && loop_sums.steps != 50))
          ++failures;
        if (!std::isfinite(q_end.sum() + v_end.sum())) ++failures;
        x = scheme->begin(q, v, 0.0);
      }
    }
  }
  CHECK(failures == 0);
}

}  // namespace no_allocation_integrators
