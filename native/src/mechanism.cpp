// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

#include "vms_ph_native/mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "mechanism_tree.hpp"

namespace vms_ph {

using rigid::Motion;
using rigid::Twist;
using Joint = MechanismTree::Joint;
using Body = MechanismTree::Body;

namespace {

using Vector = Eigen::Map<Eigen::VectorXd>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

double viscous(const MechanismJoint& joint, double theta) {
  if (joint.softening == 0.0) return joint.viscous;
  return joint.viscous * std::exp(-joint.softening * (theta - joint.reference));
}

double magnitude(const MechanismJoint& joint, double rate, double theta) {
  const double speed = std::abs(rate) / joint.slip;
  const double ratio = speed > 1e-4 ? std::tanh(speed) / speed : 1.0 - speed * speed / 3.0;
  return viscous(joint, theta) + joint.dry / joint.slip * ratio;
}

bool is_curved(const MechanismJoint& joint) {
  return joint.kind == PairKind::planar || joint.kind == PairKind::spherical;
}

Motion position(const MechanismJoint& joint, const double* q) {
  Motion at{rigid::Matrix3d::Identity(), rigid::Vector3d::Zero()};
  if (joint.kind == PairKind::planar) {
    at.R.topLeftCorner<2, 2>() << q[0], q[1], q[3], q[4];
    at.p << q[2], q[5], 0.0;
  } else {
    at.R = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(q);
  }
  return at;
}

void set_position(const MechanismJoint& joint, const Motion& at, double* q) {
  using Rotation = Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
  if (joint.kind == PairKind::planar) {
    q[0] = at.R(0, 0), q[1] = at.R(0, 1), q[2] = at.p[0];
    q[3] = at.R(1, 0), q[4] = at.R(1, 1), q[5] = at.p[1];
  } else {
    Rotation{q} = at.R;
  }
}

Twist unpacked(const MechanismJoint& joint, const double* u) {
  Twist out = Twist::Zero();
  if (joint.kind == PairKind::planar) {
    out[0] = u[0], out[1] = u[1], out[5] = u[2];
  } else {
    out.tail<3>() = Eigen::Map<const rigid::Vector3d>(u);
  }
  return out;
}

void pack(const MechanismJoint& joint, const Twist& twist, double* u) {
  if (joint.kind == PairKind::planar) {
    u[0] = twist[0], u[1] = twist[1], u[2] = twist[5];
  } else {
    Eigen::Map<rigid::Vector3d>{u} = twist.tail<3>();
  }
}

}  // namespace

Mechanism::Mechanism(MechanismParts parts) : parts_(std::move(parts)) {
  const auto within = [](int at, int count, int size) { return at >= 0 && at + count <= size; };
  const int bodies = static_cast<int>(parts_.bodies.size());
  const int heats = static_cast<int>(parts_.heats.size());
  bool fits = true;
  for (const MechanismBody& body : parts_.bodies) {
    fits = fits && within(body.momentum, 6, parts_.stored) && within(body.pose, 16, parts_.size) &&
           within(body.pose_rate, 6, parts_.stored) && body.mass > 0.0;
  }
  for (const MechanismJoint& joint : parts_.joints) {
    const int d = joint.freedoms;
    fits = fits && joint.first >= -1 && joint.first < bodies && joint.second >= -1 &&
           joint.second < bodies && joint.first != joint.second && d >= 1 && d <= 3 &&
           joint.subspace.cols() == d && joint.rates.rows() == d && joint.closed.rows() == 6 - d &&
           within(joint.position, is_curved(joint) ? 9 : d, parts_.size) &&
           within(joint.position_rate, d, parts_.stored) && joint.rotor < parts_.stored &&
           (joint.rotor < 0 || (d == 1 && joint.armature > 0.0)) &&
           within(joint.effort, d, parts_.total) && within(joint.effort_1, 6, parts_.total) &&
           within(joint.effort_2, 6, parts_.total) && joint.heat < heats &&
           (joint.friction == FrictionKind::none || joint.heat >= 0);
  }
  for (const MechanismHeat& heat : parts_.heats)
    fits = fits && within(heat.state, 1, parts_.stored);
  for (const MechanismConduction& each : parts_.conductions) {
    fits = fits && within(each.from, 1, heats) && within(each.to, 1, heats);
  }
  if (!fits) throw std::invalid_argument("a part of the mechanism is outside its vectors");
  tree_ = std::make_unique<MechanismTree>(parts_);
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    if (!tree_->joints[j].is_loop) {
      const MechanismJoint& joint = parts_.joints[j];
      tree_rows_ += joint.rotor < 0 ? 6 - joint.freedoms : 6;
    } else if (parts_.joints[j].rotor >= 0) {
      throw std::invalid_argument("a joint that closes a loop has a rotor");
    }
  }
  theta_.resize(parts_.heats.size());
  for (auto& stage : stages_) stage = Eigen::VectorXd::Zero(parts_.stored);
  theta_step_ = stages_[0];
  flow_ = efforts_ = Eigen::VectorXd::Zero(parts_.total);
  middle_ = Eigen::VectorXd::Zero(parts_.size);
}

Mechanism::~Mechanism() = default;

int Mechanism::loop_rows() const { return tree_->rows(); }

void Mechanism::set_loop_rank(int rank) {
  tree_->set_rank(std::max(0, std::min(rank, tree_->rows())));
}

const Eigen::VectorXd& Mechanism::loop_values() const { return tree_->values(); }

bool Mechanism::find_temperatures(const double* x) {
  bool good = true;
  for (std::size_t k = 0; k < theta_.size(); ++k) {
    const MechanismHeat& heat = parts_.heats[k];
    theta_[k] =
        heat.capacity > 0.0 ? heat.theta * std::exp(x[heat.state] / heat.capacity) : parts_.theta_0;
    good = good && theta_[k] > 0.0 && std::isfinite(theta_[k]);
  }
  return good;
}

// Writes the forces into the tree and everything but the rates of momenta into `rate`.
void Mechanism::act(const double* flow, double* rate) {
  for (const MechanismHeat& heat : parts_.heats) rate[heat.state] = 0.0;
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& given = parts_.bodies[k];
    Body& body = tree_->bodies[k];
    const rigid::Vector3d f = body.momentum.head<3>(), m = body.momentum.tail<3>();
    const rigid::Vector3d v = body.velocity.head<3>(), w = body.velocity.tail<3>();
    Eigen::Map<Twist>(rate + given.pose_rate) = body.velocity;
    body.force.head<3>() += f.cross(w);  // beside gravity
    body.force.tail<3>() = m.cross(w) + f.cross(v);
    if (flow) body.force += Eigen::Map<const Twist>(flow + given.momentum);
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    Joint& joint = tree_->joints[j];
    const int d = given.freedoms;
    Vector(rate + given.position_rate, d) = joint.rate;
    if (flow) {
      joint.force += ConstVector(flow + given.effort, d);
    }
    if (given.friction != FrictionKind::none) {
      const auto heat = static_cast<std::size_t>(given.heat);
      MechanismTree::Rates force;
      if (given.friction == FrictionKind::coulomb) {
        force = magnitude(given, joint.rate[0], theta_[heat]) * joint.rate;
      } else {
        force = given.tensor.topLeftCorner(d, d) * joint.rate;
      }
      joint.force -= force;
      rate[parts_.heats[heat].state] += joint.rate.dot(force) / theta_[heat];
    }
    const Twist motion = given.subspace * joint.rate;
    joint.bias = -rigid::commutator(motion, joint.moved);
    if (joint.is_loop) {
      const Twist wrench = given.rates.transpose() * joint.force;
      if (given.first >= 0) {
        tree_->bodies[static_cast<std::size_t>(given.first)].force -=
            joint.first_to_joint.push(wrench);
      }
      if (given.second >= 0) {
        tree_->bodies[static_cast<std::size_t>(given.second)].force += joint.offset_2.push(wrench);
      }
    }
  }
  for (const MechanismConduction& each : parts_.conductions) {
    const auto from = static_cast<std::size_t>(each.from), to = static_cast<std::size_t>(each.to);
    const double power = each.conductance * (theta_[from] - theta_[to]);
    rate[parts_.heats[from].state] -= power / theta_[from];
    rate[parts_.heats[to].state] += power / theta_[to];
  }
  if (flow) {
    for (const MechanismHeat& heat : parts_.heats) rate[heat.state] += flow[heat.state];
  }
}

MechanismStatus Mechanism::rates(const double* x, const double* flow, double* rate,
                                 double* efforts) {
  if (!find_temperatures(x)) return MechanismStatus::too_cold;
  tree_->place(x);
  tree_->find_rates(x);
  tree_->factorise();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& body = parts_.bodies[k];
    const Motion pose = Motion::read(x + body.pose);
    tree_->bodies[k].force.head<3>() = -(pose.R.transpose() * body.weight);
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    Joint& joint = tree_->joints[j];
    joint.force.setZero();
    if (!given.spring) continue;
    for (int k = 0; k < given.freedoms; ++k) {
      joint.force[k] = -given.stiffness[k] * (x[given.position + k] - given.rest[k]);
    }
  }
  act(flow, rate);
  if (efforts) {
    write_efforts(efforts);
    for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
      const MechanismBody& body = parts_.bodies[k];
      const Motion pose = Motion::read(x + body.pose);
      Twist slope = Twist::Zero();
      slope.head<3>() = pose.R.transpose() * body.weight;
      Eigen::Map<Twist>(efforts + body.pose_rate) = slope;
    }
    for (const MechanismJoint& joint : parts_.joints) {
      for (int k = 0; k < joint.freedoms; ++k) {
        efforts[joint.position_rate + k] =
            joint.spring ? joint.stiffness[k] * (x[joint.position + k] - joint.rest[k]) : 0.0;
      }
    }
  }
  tree_->solve();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& body = parts_.bodies[k];
    const Twist& a = tree_->bodies[k].acceleration;
    Eigen::Map<rigid::Vector3d>(rate + body.momentum) = body.mass * a.head<3>();
    Eigen::Map<rigid::Vector3d>(rate + body.momentum + 3) = body.inertia * a.tail<3>();
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& joint = parts_.joints[j];
    if (joint.rotor >= 0) rate[joint.rotor] = joint.armature * tree_->joints[j].acceleration[0];
  }
  return MechanismStatus::good;
}

void Mechanism::write_efforts(double* efforts) const {
  std::fill(efforts, efforts + parts_.total, 0.0);
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    Eigen::Map<Twist>(efforts + parts_.bodies[k].momentum) = tree_->bodies[k].velocity;
  }
  for (std::size_t k = 0; k < theta_.size(); ++k) {
    if (parts_.heats[k].capacity > 0.0) {
      efforts[parts_.heats[k].state] = theta_[k] - parts_.theta_0;
    }
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    const Joint& joint = tree_->joints[j];
    Vector(efforts + given.effort, given.freedoms) = joint.rate;
    Eigen::Map<Twist> first(efforts + given.effort_1), second(efforts + given.effort_2);
    if (given.first >= 0) {
      first = joint.offset_1.pull(tree_->bodies[static_cast<std::size_t>(given.first)].velocity);
    }
    if (given.second >= 0) {
      second = joint.offset_2.pull(tree_->bodies[static_cast<std::size_t>(given.second)].velocity);
    }
  }
}

void Mechanism::move(const double* x, const double* step, double* after) const {
  if (after != x) std::copy(x, x + parts_.size, after);
  for (const MechanismBody& body : parts_.bodies) {
    for (int k = 0; k < 6; ++k)
      after[body.momentum + k] = x[body.momentum + k] + step[body.momentum + k];
    const Motion pose = Motion::read(x + body.pose);
    rigid::stepped(pose, Eigen::Map<const Twist>(step + body.pose_rate)).write(after + body.pose);
  }
  for (const MechanismHeat& heat : parts_.heats)
    after[heat.state] = x[heat.state] + step[heat.state];
  for (const MechanismJoint& joint : parts_.joints) {
    if (joint.rotor >= 0) after[joint.rotor] = x[joint.rotor] + step[joint.rotor];
    if (is_curved(joint)) {
      const Twist u = unpacked(joint, step + joint.position_rate);
      set_position(joint, rigid::stepped(position(joint, x + joint.position), u),
                   after + joint.position);
      continue;
    }
    for (int k = 0; k < joint.freedoms; ++k) {
      after[joint.position + k] = x[joint.position + k] + step[joint.position_rate + k];
    }
  }
}

void Mechanism::turn(const double* theta, double* rate) const {
  for (const MechanismBody& body : parts_.bodies) {
    Eigen::Map<Twist> u(rate + body.pose_rate);
    u = rigid::step_rate(Eigen::Map<const Twist>(theta + body.pose_rate), Twist(u));
  }
  for (const MechanismJoint& joint : parts_.joints) {
    if (!is_curved(joint)) continue;
    const Twist u = unpacked(joint, rate + joint.position_rate);
    pack(joint, rigid::step_rate(unpacked(joint, theta + joint.position_rate), u),
         rate + joint.position_rate);
  }
}

double Mechanism::correct(double* x) {
  tree_->place(x);
  tree_->factorise();
  for (Body& body : tree_->bodies) body.force.setZero();
  double opening = 0.0;
  const auto pose = [&](int body) {
    return Motion::read(x + parts_.bodies[static_cast<std::size_t>(body)].pose);
  };
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    Joint& joint = tree_->joints[j];
    const Motion first =
        given.first < 0 ? joint.first_to_joint : pose(given.first) * joint.first_to_joint;
    const Motion second = given.second < 0 ? joint.offset_2 : pose(given.second) * joint.offset_2;
    joint.bias = rigid::step_to(second.inverse() * first);
    joint.force.setZero();
    opening = std::max(opening, joint.bias.cwiseAbs().maxCoeff());
    if (!joint.bias.allFinite()) opening = std::nan("");
  }
  tree_->solve();
  theta_step_.setZero();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    theta_step_.segment<6>(parts_.bodies[k].pose_rate) = tree_->bodies[k].acceleration;
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    theta_step_.segment(parts_.joints[j].position_rate, parts_.joints[j].freedoms) =
        tree_->joints[j].acceleration;
  }
  move(x, theta_step_.data(), x);
  project_momenta(nullptr, x);
  return opening;
}

// With the configuration that was placed last where x is null.
void Mechanism::project_momenta(const double* x, double* momenta) {
  if (x) {
    tree_->place(x);
    tree_->factorise();
  }
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& given = parts_.bodies[k];
    Body& body = tree_->bodies[k];
    body.velocity.head<3>() =
        Eigen::Map<const rigid::Vector3d>(momenta + given.momentum) / given.mass;
    body.velocity.tail<3>() =
        given.inverse * Eigen::Map<const rigid::Vector3d>(momenta + given.momentum + 3);
    body.force.setZero();
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    Joint& joint = tree_->joints[j];
    joint.force.setZero();
    joint.bias.setZero();
    if (given.first >= 0) {
      joint.bias =
          joint.first_to_joint.pull(tree_->bodies[static_cast<std::size_t>(given.first)].velocity);
    }
    if (given.second >= 0) {
      joint.bias -=
          joint.offset_2.pull(tree_->bodies[static_cast<std::size_t>(given.second)].velocity);
    }
    if (given.rotor >= 0) {
      joint.bias += given.subspace * (momenta[given.rotor] / given.armature);
    }
  }
  tree_->solve();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& given = parts_.bodies[k];
    const Twist& a = tree_->bodies[k].acceleration;
    Eigen::Map<rigid::Vector3d>(momenta + given.momentum) += given.mass * a.head<3>();
    Eigen::Map<rigid::Vector3d>(momenta + given.momentum + 3) += given.inertia * a.tail<3>();
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    if (given.rotor >= 0) {
      momenta[given.rotor] += given.armature * tree_->joints[j].acceleration[0];
    }
  }
}

double Mechanism::project(double* x, double tolerance) {
  if (parts_.joints.empty()) return 0.0;
  const double opening = correct(x);
  if (opening > tolerance && opening * opening <= tolerance) correct(x);
  return opening;
}

double Mechanism::violation(const double* x) {
  tree_->place(x);
  double largest = 0.0;
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    const Joint& joint = tree_->joints[j];
    Motion first = joint.first_to_joint, second = joint.offset_2;
    if (given.first >= 0) {
      first = Motion::read(x + parts_.bodies[static_cast<std::size_t>(given.first)].pose) * first;
    }
    if (given.second >= 0) {
      second =
          Motion::read(x + parts_.bodies[static_cast<std::size_t>(given.second)].pose) * second;
    }
    largest = std::max(largest, rigid::step_to(second.inverse() * first).cwiseAbs().maxCoeff());
  }
  return largest;
}

Mechanism::Step Mechanism::step(double t, const double* x, double dt, const Flows* flows,
                                double tolerance, double* x_after, double* along, double* supplied,
                                double* exergy) {
  Step result;
  if (supplied) std::fill(supplied, supplied + parts_.total, 0.0);
  if (exergy) std::fill(exergy, exergy + parts_.total, 0.0);
  const double fractions[4] = {0.0, 0.5, 0.5, 1.0};
  const double weights[4] = {dt / 6.0, dt / 3.0, dt / 3.0, dt / 6.0};
  const bool watched = exergy && flows;
  for (int k = 0; k < 4; ++k) {
    const double* at = x;
    if (k) {
      theta_step_ = (fractions[k] * dt) * stages_[k - 1];
      move(x, theta_step_.data(), middle_.data());
      at = middle_.data();
    }
    if (flows) {
      flow_.setZero();
      (*flows)(t + fractions[k] * dt, at, flow_.data());
    }
    result.status = rates(at, flows ? flow_.data() : nullptr, stages_[k].data(),
                          watched ? efforts_.data() : nullptr);
    if (result.status != MechanismStatus::good) return result;
    if (k) turn(theta_step_.data(), stages_[k].data());
    if (supplied && flows) Vector(supplied, parts_.total) += weights[k] * flow_;
    if (exergy && flows) {
      Vector(exergy, parts_.total).array() += weights[k] * efforts_.array() * flow_.array();
    }
  }
  Vector step(along, parts_.stored);
  step = (dt / 6.0) * (stages_[0] + 2.0 * stages_[1] + 2.0 * stages_[2] + stages_[3]);
  move(x, along, x_after);
  for (const MechanismBody& body : parts_.bodies) {
    Motion pose = Motion::read(x_after + body.pose);
    pose.R = rigid::orthonormal(pose.R);
    pose.write(x_after + body.pose);
  }
  for (const MechanismJoint& joint : parts_.joints) {
    if (!is_curved(joint)) continue;
    Motion at = position(joint, x_after + joint.position);
    at.R = rigid::orthonormal(at.R);
    set_position(joint, at, x_after + joint.position);
  }
  const ConstVector after(x_after, parts_.size);
  if (!after.allFinite()) {
    result.status = MechanismStatus::not_finite;
    return result;
  }
  result.opening = project(x_after, tolerance);
  if (!after.allFinite()) {
    result.status = MechanismStatus::not_finite;
  } else if (!find_temperatures(x_after)) {
    result.status = MechanismStatus::too_cold;
  }
  return result;
}

double Mechanism::energy(const double* x) const {
  double sum = 0.0;
  for (const MechanismBody& body : parts_.bodies) {
    const Eigen::Map<const rigid::Vector3d> f(x + body.momentum), m(x + body.momentum + 3);
    sum += 0.5 * (f.squaredNorm() / body.mass + m.dot(body.inverse * m));
    sum += body.weight.dot(Motion::read(x + body.pose).p);
  }
  for (const MechanismJoint& joint : parts_.joints) {
    if (joint.rotor >= 0) sum += 0.5 * x[joint.rotor] * x[joint.rotor] / joint.armature;
    for (int k = 0; joint.spring && k < joint.freedoms; ++k) {
      const double stretch = x[joint.position + k] - joint.rest[k];
      sum += 0.5 * joint.stiffness[k] * stretch * stretch;
    }
  }
  for (const MechanismHeat& heat : parts_.heats) {
    sum += heat.capacity > 0.0
               ? heat.capacity * heat.theta * std::exp(x[heat.state] / heat.capacity)
               : parts_.theta_0 * x[heat.state];
  }
  return sum;
}

double Mechanism::friction_rate(const double* x) {
  find_temperatures(x);
  tree_->place(x);
  double sum = 0.0;
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& given = parts_.joints[j];
    if (given.friction == FrictionKind::none) continue;
    const Joint& joint = tree_->joints[j];
    const int d = given.freedoms;
    MechanismTree::Freedoms mobility = MechanismTree::Freedoms::Zero(d, d);
    if (given.rotor >= 0) {
      mobility(0, 0) = 1.0 / given.armature;
    } else {
      const std::pair<int, const Motion*> sides[] = {{given.first, &joint.first_to_joint},
                                                     {given.second, &joint.offset_2}};
      for (const auto& [index, frame] : sides) {
        if (index < 0) continue;
        const MechanismBody& body = parts_.bodies[static_cast<std::size_t>(index)];
        for (int k = 0; k < d; ++k) {
          const Twist a = frame->push(given.rates.row(k).transpose());
          Twist moved;
          moved << a.head<3>() / body.mass, body.inverse * a.tail<3>();
          for (int l = 0; l < d; ++l) {
            mobility(k, l) += frame->push(given.rates.row(l).transpose()).dot(moved);
          }
        }
      }
    }
    if (given.friction == FrictionKind::coulomb) {
      const double theta = theta_[static_cast<std::size_t>(given.heat)];
      sum += mobility(0, 0) * (viscous(given, theta) + given.dry / given.slip);
    } else {
      sum += mobility.cwiseProduct(given.tensor.topLeftCorner(d, d)).sum();
    }
  }
  return sum;
}

}  // namespace vms_ph
