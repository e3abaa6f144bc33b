#include <cmath>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/ops/channel_norm.h"

namespace ferry::cpu {
namespace {

class Grn : public ChannelNorm {
 public:
  explicit Grn(double epsilon) : ChannelNorm(/*centered=*/false), epsilon_(epsilon) {}

 private:
  void scale_and_shift(const Sums& squares, const float*, const float* weight, const float* bias, float* scale,
                       float* shift) const override {
    double mean = 0;
    for (size_t c = 0; c < squares.channels; ++c) mean += std::sqrt(squares.of[c]);
    mean = mean / static_cast<double>(squares.channels) + epsilon_;
    for (size_t c = 0; c < squares.channels; ++c) {
      scale[c] = static_cast<float>(1 + static_cast<double>(weight[c]) * std::sqrt(squares.of[c]) / mean);
      shift[c] = bias[c];
    }
  }

  double epsilon_;
};

}  // namespace

Status create_grn(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Grn>(static_cast<double>(op.params_as_Grn()->epsilon()));
  return {};
}

}  // namespace ferry::cpu
