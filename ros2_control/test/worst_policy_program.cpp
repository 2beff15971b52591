// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// An arm with servos behind a PositionGuard between two walls, and policies that are searched for.
// The energies are those of the Runge-Kutta integration here, never those of the guard. Lines of
// the standard input are each answered by a line; test_worst_policy.py says what is in them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "vms_ph_native/energy_guard/servo_guard.hpp"

namespace {

using vms_ph::JointServo;
using vms_ph::JointValues;
using vms_ph::PositionGuard;
using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;  // rows

constexpr std::size_t kMost = 7;  // joints

Vector operator+(Vector a, Vector b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vector operator*(double s, Vector a) { return {s * a[0], s * a[1], s * a[2]}; }
Vector operator-(Vector a, Vector b) { return a + -1.0 * b; }
double dot(Vector a, Vector b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(Vector a, Vector b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vector operator*(const Matrix& m, Vector a) { return {dot(m[0], a), dot(m[1], a), dot(m[2], a)}; }
Matrix transposed(const Matrix& m) {
  return {{{m[0][0], m[1][0], m[2][0]}, {m[0][1], m[1][1], m[2][1]}, {m[0][2], m[1][2], m[2][2]}}};
}
Matrix operator*(const Matrix& a, const Matrix& b) {
  const Matrix columns = transposed(b);
  return transposed({a * columns[0], a * columns[1], a * columns[2]});
}

// A joint that turns about an axis, and the link behind it, in the frame of the joint.
struct Link {
  Matrix turn;  // of the frame in that of the link before
  Vector place, axis;
  double mass;
  Vector center;
  Matrix inertia;   // about the center
  double armature;  // kg m^2
};

struct State {
  std::array<double, kMost> q{}, v{};
  double by_servos = 0.0, to_walls = 0.0;  // energies, J
};

struct Scene {
  std::size_t n = 0;
  std::vector<Link> links;
  Vector tool{};
  std::array<double, kMost> q{};                                    // at the start
  std::vector<double> stiffness, damping, declared, effort, speed;  // damping: true, declared
  Vector side{};                                                    // into the first wall
  std::array<double, 2> gap{};               // to it and to the one behind, m
  double wall = 0.0, loss = 0.0, rub = 0.0;  // N/m, s/m, s/m
  double dt = 0.0, step = 0.0, duration = 0.0, budget = 0.0;
  std::size_t delay = 0;
  double uncertainty = 0.2;  // that the guard is told
  bool is_total = false;     // whether the limit is that of springs and dampers together
};

class Arm {
 public:
  explicit Arm(const Scene& scene) : s(scene) { home = tool_at(s.q); }

  const Scene& s;
  std::array<double, kMost> stiffness{}, damping{}, command{};
  bool touches = false;

  // The rate of a state; its positions and velocities are those of q and v.
  State rate(const State& at) {
    kinematics(at);
    std::array<double, kMost> force{};
    State d;
    for (std::size_t k = 0; k < s.n; ++k) {
      const double limit = s.effort[k];
      const double spring = stiffness[k] * (command[k] - at.q[k]), damper = damping[k] * at.v[k];
      force[k] = s.is_total ? std::clamp(spring - damper, -limit, limit)
                            : std::clamp(spring, -limit, limit) - damper;
      d.q[k] = at.v[k];
      d.by_servos += force[k] * at.v[k];
    }
    const Vector push = wall_force();
    touches = dot(push, push) > 0.0;
    d.to_walls = -dot(push, tool_velocity);
    for (std::size_t k = 0; k < s.n; ++k) {
      force[k] += dot(push, cross(axis[k], tool - origin[k])) - bias[k];
    }
    d.v = solved(force);
    return d;
  }

  double kinetic(const State& at) {
    kinematics(at);
    double twice = 0.0;
    for (std::size_t i = 0; i < s.n; ++i) {
      for (std::size_t j = 0; j < s.n; ++j) twice += at.v[i] * mass[i][j] * at.v[j];
    }
    return 0.5 * twice;
  }

  Vector tool_at(const std::array<double, kMost>& q) {
    State at;
    at.q = q;
    kinematics(at);
    return tool;
  }

  // A step of Runge and Kutta.
  void advance(State& at, double h) {
    const State a = rate(at), b = rate(moved(at, a, 0.5 * h)), c = rate(moved(at, b, 0.5 * h)),
                d = rate(moved(at, c, h));
    at = moved(moved(moved(moved(at, a, h / 6.0), b, h / 3.0), c, h / 3.0), d, h / 6.0);
  }

 private:
  static State moved(State at, const State& rate, double h) {
    for (std::size_t k = 0; k < kMost; ++k) {
      at.q[k] += h * rate.q[k];
      at.v[k] += h * rate.v[k];
    }
    at.by_servos += h * rate.by_servos;
    at.to_walls += h * rate.to_walls;
    return at;
  }

  // The mass matrix and the forces of Coriolis and of the centers, and the motion of the tool.
  void kinematics(const State& at) {
    Matrix turn{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    Vector place{}, spin{}, spin_rate{}, velocity{}, acceleration{};
    for (auto& row : mass) row.fill(0.0);
    bias.fill(0.0);
    for (std::size_t k = 0; k < s.n; ++k) {
      const Link& link = s.links[k];
      const Vector arm = turn * link.place;
      acceleration = acceleration + cross(spin_rate, arm) + cross(spin, cross(spin, arm));
      velocity = velocity + cross(spin, arm);
      place = place + arm;
      turn = turn * link.turn;
      axis[k] = turn * link.axis;
      origin[k] = place;
      spin_rate = spin_rate + at.v[k] * cross(spin, axis[k]);
      spin = spin + at.v[k] * axis[k];
      turn = turn * rotation(link.axis, at.q[k]);
      const Vector to_center = turn * link.center;
      const Matrix inertia = turn * link.inertia * transposed(turn);
      const Vector force = link.mass * (acceleration + cross(spin_rate, to_center) +
                                        cross(spin, cross(spin, to_center)));
      const Vector torque = inertia * spin_rate + cross(spin, inertia * spin);
      std::array<Vector, kMost> lever;
      for (std::size_t i = 0; i <= k; ++i) {
        lever[i] = cross(axis[i], place + to_center - origin[i]);
        bias[i] += dot(lever[i], force) + dot(axis[i], torque);
        const Vector turned = inertia * axis[i], moved = link.mass * lever[i];
        for (std::size_t j = 0; j <= i; ++j) {
          mass[i][j] += dot(moved, lever[j]) + dot(turned, axis[j]);
        }
      }
      mass[k][k] += link.armature;
    }
    for (std::size_t i = 0; i < s.n; ++i) {
      for (std::size_t j = 0; j < i; ++j) mass[j][i] = mass[i][j];
    }
    const Vector arm = turn * s.tool;
    tool = place + arm;
    tool_velocity = velocity + cross(spin, arm);
  }

  static Matrix rotation(Vector u, double angle) {
    const double c = std::cos(angle), d = std::sin(angle), e = 1.0 - c;
    return {{{c + e * u[0] * u[0], e * u[0] * u[1] - d * u[2], e * u[0] * u[2] + d * u[1]},
             {e * u[1] * u[0] + d * u[2], c + e * u[1] * u[1], e * u[1] * u[2] - d * u[0]},
             {e * u[2] * u[0] - d * u[1], e * u[2] * u[1] + d * u[0], c + e * u[2] * u[2]}}};
  }

  // Springs that lose energy where they are pressed, and rub; they store, and give none.
  Vector wall_force() const {
    const double way = dot(s.side, tool - home), along = dot(s.side, tool_velocity);
    const Vector slide = tool_velocity - along * s.side;
    Vector total{};
    for (const double sign : {1.0, -1.0}) {
      const double depth = sign * way - s.gap[sign > 0.0 ? 0 : 1];
      if (depth <= 0.0) continue;
      const double spring = s.wall * depth;
      // Not so hard that the steps would have to be shorter.
      const double loss = std::min(s.loss * spring, 200.0), rub = std::min(s.rub * spring, 200.0);
      const double press = std::max(0.0, spring + loss * sign * along);
      total = total - sign * press * s.side - rub * slide;
    }
    return total;
  }

  std::array<double, kMost> solved(std::array<double, kMost> x) const {
    auto l = mass;  // Cholesky
    for (std::size_t i = 0; i < s.n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = l[i][j];
        for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
        l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
      }
    }
    for (std::size_t i = 0; i < s.n; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
      x[i] /= l[i][i];
    }
    for (std::size_t i = s.n; i-- > 0;) {
      for (std::size_t k = i + 1; k < s.n; ++k) x[i] -= l[k][i] * x[k];
      x[i] /= l[i][i];
    }
    return x;
  }

  Vector home{}, tool{}, tool_velocity{};
  std::array<Vector, kMost> axis{}, origin{};
  std::array<std::array<double, kMost>, kMost> mass{};
  std::array<double, kMost> bias{};
};

double share(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// A policy of 3 n + 12 numbers of about one: two directions, the errors of the stiffness, and
// timing, chunks, what it does at contact, and the error of the damping.
class Policy {
 public:
  Policy(const Scene& scene, const std::vector<double>& x) : s(scene), x(x), y(&x[3 * s.n]) {
    period = 0.03 * std::pow(40.0, share(y[0]));
    chunk = 1 + static_cast<long>(std::min(0.3 / s.dt, 24.0) * share(y[6] - 1.0));
  }

  double stiffness_error(std::size_t k) const { return std::clamp(x[2 * s.n + k], -1.0, 1.0); }
  double damping_error() const { return std::clamp(y[11], -1.0, 1.0); }

  // Write the command of sample k at positions q.
  void command(long k, const JointValues& q, bool touches, JointValues& wanted) {
    const long part = k / chunk, within = k % chunk;
    if (within == 0) {  // a chunk begins: it may be the last one again
      is_old = y[8] > 0.7 && part % 3 == 2;
      if (!is_old) seen = q, last_chunk.clear();
      is_stalled = y[7] > 0.7 && part % 2 == 1;
    }
    const auto old = static_cast<std::size_t>(within);
    if (is_old && old < last_chunk.size()) {
      wanted = last_chunk[old];
    } else if (k > 0 && is_stalled) {
      // The last command stays.
    } else {
      const bool is_open = y[9] > 0.0;  // within a chunk what is measured is not seen
      const JointValues& here = is_open ? seen : q;
      const double turn = static_cast<double>(k) * s.dt / period + share(y[1]);
      const double phase = turn - std::floor(turn);
      const double square = phase < share(y[2]) ? 1.0 : -1.0;
      const double blend = share(2.0 * y[3]);
      const double wave = blend * square + (1.0 - blend) * std::sin(6.283185307179586 * phase);
      const double jump = y[10] > 0.0 && part % 2 == 1 ? 1.0 : 0.0;
      const double follow = std::clamp(y[4], -1.0, 1.5);
      for (std::size_t i = 0; i < s.n; ++i) {
        double c = s.q[i] + follow * (here[i] - s.q[i]) + 0.4 * x[i] * wave +
                   0.4 * x[s.n + i] * (jump + (y[5] > 1.0 && phase > 0.5 ? 1.0 : 0.0));
        if (touches && y[5] < 0.0) c = here[i] + y[5] * (c - here[i]);  // reversal at contact
        wanted[i] = c;
      }
    }
    if (!is_old) last_chunk.push_back(wanted);
  }

 private:
  const Scene& s;
  const std::vector<double>& x;
  const double* y;
  double period;
  long chunk;
  bool is_old = false, is_stalled = false;
  JointValues seen;
  std::vector<JointValues> last_chunk;
};

struct Outcome {
  double to_walls = 0.0, by_servos = 0.0, defect = 0.0;  // largest energies, error of balance, J
  bool is_kept = true;
};

// Run a policy; write what the guard saw and answered if there is a log.
Outcome run(const Scene& s, const std::vector<double>& x, bool is_guarded, int finer, FILE* log) {
  std::vector<JointServo> servos;
  for (std::size_t k = 0; k < s.n; ++k) {
    servos.push_back({"j", s.stiffness[k], s.declared[k], s.effort[k], s.speed[k]});
  }
  PositionGuard guard(servos, s.uncertainty, s.delay);
  guard.settings.tank_capacity = guard.settings.tank_initial = s.budget;
  JointValues q(s.q.begin(), s.q.begin() + static_cast<long>(s.n)), wanted = q;
  guard.engage(q, q);
  Policy policy(s, x);
  Arm arm(s);
  State at;
  at.q = s.q;
  for (std::size_t k = 0; k < s.n; ++k) {
    arm.stiffness[k] = s.stiffness[k] * (1.0 + 0.2 * policy.stiffness_error(k));
    arm.damping[k] = s.damping[k] * (1.0 + 0.2 * policy.damping_error());
  }
  std::vector<JointValues> acting(s.delay, q);
  Outcome worst;
  const long samples = std::lround(s.duration / s.dt);
  const long steps = finer * static_cast<long>(std::ceil(s.dt / s.step - 1e-9));
  bool touches = false;
  for (long k = 0; k < samples; ++k) {
    std::copy_n(at.q.begin(), s.n, q.begin());
    policy.command(k, q, touches, wanted);
    acting.push_back(is_guarded ? guard.update(q, wanted, s.dt).command : wanted);
    if (log != nullptr) {
      for (const auto* each : {&q, &wanted, &acting.back()}) {
        for (const double value : *each) std::fprintf(log, " %.17g", value);
      }
    }
    std::copy_n(acting.front().begin(), s.n, arm.command.begin());
    acting.erase(acting.begin());
    touches = false;
    for (long i = 0; i < steps; ++i) {
      arm.advance(at, s.dt / static_cast<double>(steps));
      touches = touches || arm.touches;
      const double defect = at.by_servos - at.to_walls - arm.kinetic(at);
      // With a delay the guard assumes the velocity limits: beyond them nothing counts.
      for (std::size_t j = 0; s.delay > 0 && j < s.n; ++j) {
        if (is_guarded && std::abs(at.v[j]) > s.speed[j]) return worst;
      }
      // Nor does what this integration no longer resolves: the guard bounds speeds, its absence
      // none.
      if (!is_guarded && !(std::abs(defect) <= 1e-3 * (1.0 + at.by_servos))) return worst;
      worst.to_walls = std::max(worst.to_walls, at.to_walls);
      worst.by_servos = std::max(worst.by_servos, at.by_servos);
      worst.defect = std::isfinite(defect) ? std::max(worst.defect, std::abs(defect)) : HUGE_VAL;
    }
    worst.is_kept = std::string(guard.certificate().verdict()) == "kept";
  }
  return worst;
}

char line[1 << 16];

double number(char*& text) { return std::strtod(text, &text); }

std::vector<double> numbers(char*& text, std::size_t n) {
  std::vector<double> values(n);
  for (double& value : values) value = number(text);
  return values;
}

Vector vector_of(char*& text) { return {number(text), number(text), number(text)}; }

Matrix matrix_of(char*& text) { return {vector_of(text), vector_of(text), vector_of(text)}; }

Scene scene_of(char* text) {
  Scene s;
  s.n = std::min(kMost, static_cast<std::size_t>(number(text)));
  for (std::size_t k = 0; k < s.n; ++k) {
    const Matrix turn = matrix_of(text);
    const Vector place = vector_of(text), axis = vector_of(text);
    const double mass = number(text);
    const Vector center = vector_of(text);
    const Matrix inertia = matrix_of(text);
    s.links.push_back({turn, place, axis, mass, center, inertia, number(text)});
  }
  s.tool = vector_of(text);
  for (std::size_t k = 0; k < s.n; ++k) s.q[k] = number(text);
  for (auto* each : {&s.stiffness, &s.damping, &s.declared, &s.effort, &s.speed}) {
    *each = numbers(text, s.n);
  }
  s.side = vector_of(text);
  for (double* each :
       {&s.gap[0], &s.gap[1], &s.wall, &s.loss, &s.rub, &s.dt, &s.step, &s.duration, &s.budget}) {
    *each = number(text);
  }
  s.delay = static_cast<std::size_t>(number(text));
  s.is_total = number(text) != 0.0;
  s.uncertainty = number(text);
  return s;
}

}  // namespace

int main() {
  Scene scene;
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char* text = line + 1;
    if (line[0] == 's') {  // a scene
      scene = scene_of(text);
    } else if (line[0] == 'a') {  // accelerations at q and v, of servos that pull to a command
      Arm arm(scene);
      State at;
      for (auto* each : {&at.q, &at.v, &arm.command}) {
        for (std::size_t k = 0; k < scene.n; ++k) (*each)[k] = number(text);
      }
      std::copy_n(scene.stiffness.begin(), scene.n, arm.stiffness.begin());
      std::copy_n(scene.damping.begin(), scene.n, arm.damping.begin());
      const State rate = arm.rate(at);
      for (std::size_t k = 0; k < scene.n; ++k) std::printf(" %.17g", rate.v[k]);
      std::printf(" %.17g", arm.kinetic(at));
    } else {  // a policy: with guard or without, how much finer, whether all samples are told
      const bool is_guarded = number(text) != 0.0;
      const int finer = static_cast<int>(number(text));
      FILE* log = number(text) != 0.0 ? stdout : nullptr;
      const auto x = numbers(text, 3 * scene.n + 12);
      const Outcome found = run(scene, x, is_guarded, finer, log);
      std::printf(" %.17g %.17g %.17g %d", found.to_walls, found.by_servos, found.defect,
                  found.is_kept);
    }
    std::puts("");
    std::fflush(stdout);
  }
}
