#include "converter/quantize/sample.h"

#include <algorithm>

#include "converter/error.h"

namespace ferry::int8 {

Split split(std::span<const Sample> samples, std::vector<std::string>* notes) {
  Samples sorted;
  for (const Sample& sample : samples) sorted.push_back(&sample);
  std::sort(sorted.begin(), sorted.end(), [](const Sample* a, const Sample* b) {
    return a->sha256 != b->sha256 ? a->sha256 < b->sha256 : a->name < b->name;
  });
  const auto equal = [](const Sample* a, const Sample* b) { return a->sha256 == b->sha256; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), equal), sorted.end());
  if (const size_t copies = samples.size() - sorted.size(); copies > 0)
    notes->push_back(std::to_string(copies) + " of " + std::to_string(samples.size()) +
                     " images are copies of others: each content counts once");
  if (sorted.size() < kMinSamples)
    fail("%zu different images are too few: quantisation needs at least %zu, and 100 or more for a useful bound",
         sorted.size(), kMinSamples);
  if (sorted.size() > kMaxSamples) {
    notes->push_back(std::to_string(kMaxSamples) + " of " + std::to_string(sorted.size()) + " images are used");
    sorted.resize(kMaxSamples);
  }
  const size_t fifth = sorted.size() / 5;
  Split out;
  for (size_t i = 0; i < sorted.size(); ++i)
    (i < fifth ? out.held_out : i < 2 * fifth ? out.tune : out.calibrate).push_back(sorted[i]);
  return out;
}

}  // namespace ferry::int8
