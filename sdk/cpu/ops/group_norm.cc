#include <algorithm>
#include <cmath>
#include <numeric>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/ops/channel_norm.h"

namespace ferry::cpu {
namespace {

class GroupNorm : public ChannelNorm {
 public:
  explicit GroupNorm(const fbs::GroupNorm& params) : ChannelNorm(/*centered=*/true), params_(params) {}

 private:
  // body(first channel of a group, end channel, mean of the group)
  template <typename Body>
  void for_each_group(const Sums& sums, const Body& body) const {
    const size_t width = sums.channels / static_cast<size_t>(params_.groups());
    for (size_t first = 0; first < sums.channels; first += width) {
      const double sum = std::accumulate(sums.of + first, sums.of + first + width, 0.0);
      body(first, first + width, sum / static_cast<double>(sums.places * width));
    }
  }

  void find_means(const Sums& sums, float* means) const override {
    for_each_group(sums, [&](size_t first, size_t end, double mean) {
      std::fill(means + first, means + end, static_cast<float>(mean));
    });
  }

  void scale_and_shift(const Sums& squares, const float* means, const float* weight, const float* bias, float* scale,
                       float* shift) const override {
    for_each_group(squares, [&](size_t first, size_t end, double variance) {
      const double factor = 1 / std::sqrt(variance + static_cast<double>(params_.epsilon()));
      for (size_t c = first; c < end; ++c) {
        const double times = factor * static_cast<double>(weight[c]);
        scale[c] = static_cast<float>(times);
        shift[c] = static_cast<float>(static_cast<double>(bias[c]) - static_cast<double>(means[c]) * times);
      }
    });
  }

  const fbs::GroupNorm& params_;
};

}  // namespace

Status create_group_norm(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<GroupNorm>(*op.params_as_GroupNorm());
  return {};
}

}  // namespace ferry::cpu
