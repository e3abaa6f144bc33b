// SPDX-License-Identifier: Apache-2.0
// Latency statistics of any number of frames in a few kilobytes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace camera {

// Milliseconds are counted in steps of 1 %, from 0.01 ms to 82 s.
class Latency {
 public:
  void add(double milliseconds) {
    const double step = std::log(std::max(milliseconds, kLeast) / kLeast) / std::log(kStep);
    ++counts_[std::min(static_cast<size_t>(step), kSteps - 1)];
    ++total_;
  }

  // The percentile `share` (0 to 1) of all latencies, to within 1 %; 0 if there are none.
  double percentile(double share) const {
    const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(total_)));
    uint64_t seen = 0;
    for (size_t i = 0; i < kSteps; ++i) {
      seen += counts_[i];
      if (seen >= rank && seen > 0) return kLeast * std::pow(kStep, static_cast<double>(i) + 0.5);
    }
    return 0;
  }

  uint64_t total() const { return total_; }

 private:
  static constexpr double kLeast = 0.01, kStep = 1.01;
  static constexpr size_t kSteps = 1600;
  std::array<uint64_t, kSteps> counts_{};
  uint64_t total_ = 0;
};

}  // namespace camera
