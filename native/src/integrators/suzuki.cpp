#include "vms_ph_native/integrators/suzuki.hpp"

#include <cmath>

namespace vms_ph {

Carried Suzuki::begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) {
  other_ = inner_->begin(q, v, t);
  return other_;
}

Advance Suzuki::step(const Carried& x, const Ports& ports, double t, double dt,
                     Carried& next) noexcept {
  static const double outer = 1.0 / (4.0 - std::cbrt(4.0));
  const double fractions[] = {outer, outer, 1.0 - 4.0 * outer, outer, outer};
  Advance books;
  const Carried* from = &x;
  Carried* to = &next;
  for (const double fraction : fractions) {
    const Advance part = inner_->step(*from, ports, t, fraction * dt, *to);
    if (part.failure != Failure::none) return part;
    books.add(part);
    books.iterations += part.iterations;
    t += fraction * dt;
    // Five steps: the last one ends in `next`, as the first one did.
    from = to;
    to = to == &next ? &other_ : &next;
  }
  return books;
}

}  // namespace vms_ph
