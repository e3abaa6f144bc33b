#include <cmath>

#include "sdk/cpu/channel_norm.h"
#include "sdk/cpu/lowerings.h"

namespace ferry::cpu {
namespace {

class GroupNorm : public ChannelNorm {
 public:
  explicit GroupNorm(const fbs::GroupNorm& params) : params_(params) {}

 private:
  void scale_and_shift(const Statistics& s, const float* weight, const float* bias, float* scale,
                       float* shift) const override {
    const size_t width = s.channels / static_cast<size_t>(params_.groups());
    const double count = static_cast<double>(s.places * width);
    for (size_t first = 0; first < s.channels; first += width) {
      double sum = 0, squares = 0;
      for (size_t c = first; c < first + width; ++c) {
        sum += s.sums[c];
        squares += s.squares[c];
      }
      const double mean = sum / count;
      const double variance = std::max(squares / count - mean * mean, 0.0);
      const double factor = 1 / std::sqrt(variance + static_cast<double>(params_.epsilon()));
      for (size_t c = first; c < first + width; ++c) {
        scale[c] = static_cast<float>(factor * static_cast<double>(weight[c]));
        shift[c] = static_cast<float>(static_cast<double>(bias[c]) - mean * factor * static_cast<double>(weight[c]));
      }
    }
  }

  const fbs::GroupNorm& params_;
};

}  // namespace

Status create_group_norm(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<GroupNorm>(*op.params_as_GroupNorm());
  return {};
}

}  // namespace ferry::cpu
