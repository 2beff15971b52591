// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Detection of contacts from the balances of momentum and energy.
#pragma once

#include <vector>

#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// The value that a chi-square variable of a dimension exceeds with probability `tail`.
double chi_square_quantile(double tail, int dimension) noexcept;

/// What is known of contact after a sample; see vms_ph_controllers.observers.ContactReport. The
/// bindings follow from this list.
#define VMS_PH_CONTACT_NUMBERS(FIELD) \
  FIELD(by_momentum)                  \
  FIELD(by_energy)                    \
  FIELD(duration)                     \
  FIELD(work)                         \
  FIELD(work_deviation)

struct ContactReport {
  bool contact = false, began = false;
#define VMS_PH_FIELD(name) double name = 0.0;
  VMS_PH_CONTACT_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  int joint = -1;
};

/// Tests whether the external impulse and work of the last samples are noise; see
/// vms_ph_controllers.observers.ContactDetector. Nothing but the constructor allocates.
class ContactDetector {
 public:
  /// @param false_alarms  largest expected number of them in an hour.
  /// @param windows       number of windows; the longest has 2^(windows - 1) samples.
  /// @throws ModelError   a number is not in its range.
  ContactDetector(const ImpulseBalance& balance, double false_alarms, int windows = 6);

  /// Begin without contact.
  void restart() noexcept;

  /// What is known after a sample.
  const ContactReport& add(const ExternalImpulse& impulse) noexcept;

 private:
  // The work of the external forces over a sample, with its uncertainty, J and J^2.
  struct Work {
    bool is_known = false;
    double value = 0.0, before = 0.0, after = 0.0, effort_noise = 0.0, systematic = 0.0,
           curvature = 0.0;
  };
  // Sums over all samples up to one, of which a window is a difference; and of that sample.
  struct Sums {
    explicit Sums(Eigen::Index nv);
    double time, work_sum, work_noise, work_bias;
    Eigen::VectorXd impulse, systematic;
    Eigen::MatrixXd effort_noise, before;
    Work work;
  };

  void begin() noexcept;
  void add_work(const ExternalImpulse& impulse) noexcept;
  double variance(const VectorV& momentum, const VectorV& gravity) noexcept;
  void find_thresholds(double dt) noexcept;
  void by_momentum(const ExternalImpulse& impulse) noexcept;
  void by_energy() noexcept;
  Sums& recent_sums(int k) noexcept;  // the k-th sums from the end, 1 for the last

  const Model& model_;
  const double false_alarms_;
  const int windows_;
  const VectorV positions_, velocities_, efforts_;
  std::vector<Sums> sums_;
  int count_ = 0, last_ = 0, samples_without_contact_ = 0;
  bool contact_ = false, has_end_ = false;
  double threshold_period_ = 0.0, momentum_threshold_ = 0.0, energy_threshold_ = 0.0,
         single_threshold_ = 0.0;
  Work work_;
  VectorQ q_;
  VectorV momentum_, gravity_, model_effort_, displacement_, value_, solved_, diagonal_;
  MatrixV spread_;
  double energy_ = 0.0;
  ContactReport report_;
};

}  // namespace vms_ph
