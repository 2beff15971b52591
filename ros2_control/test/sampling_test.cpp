// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A topic has the rate that it is given, whatever that is.
#include <gmock/gmock.h>

#include "../src/publishing.hpp"

namespace {

/// Messages in a hundred seconds of a loop of a kilohertz.
int published(double rate) {
  vms_ph_ros2_control::Sampling sampling(rate);
  int count = 0;
  for (std::int64_t k = 0; k < 100'000; ++k) {
    builtin_interfaces::msg::Time stamp;
    stamp.sec = static_cast<std::int32_t>(1'800'000'000 + k / 1000);
    stamp.nanosec = static_cast<std::uint32_t>(k % 1000) * 1'000'000U;
    count += sampling.begin_sample_if_due(stamp) ? 1 : 0;
  }
  return count;
}

TEST(Sampling, HasTheRateThatItIsGiven) {
  EXPECT_NEAR(published(0.1), 10, 1);
  EXPECT_NEAR(published(2.5), 250, 1);
  EXPECT_NEAR(published(33.3), 3330, 1);
  EXPECT_EQ(published(100.0), 10'000);
  EXPECT_EQ(published(1000.0), 100'000);
}

}  // namespace
