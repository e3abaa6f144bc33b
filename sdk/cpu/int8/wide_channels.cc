// Output channels of convolutions and linears whose weights exceed 8 signed bits, as unsigned weights of a file do
// without their zero point: few, mostly one or two in an operator. Products of 16 bits compute them again.
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/int8/products.h"

namespace ferry::cpu {
namespace {

class WideChannels : public Op {
 public:
  WideChannels(const Weighted& weighted, std::unique_ptr<Op> narrow)
      : narrow_(std::move(narrow)),
        convolution_(weighted.op.params_as_Conv2d()),
        outputs_(static_cast<size_t>(weighted.weight[0])) {
    if (convolution_ != nullptr) {
      kernel_h_ = weighted.weight[1], kernel_w_ = weighted.weight[2];
      groups_ = static_cast<size_t>(convolution_->groups());
    }
    inputs_ = static_cast<size_t>(weighted.weight[weighted.weight.rank - 1]);
    const Int8Product product(weighted);
    zero_point_ = product.from.zero_point;
    to_ = {product.to.zero_point, product.low, product.high};
    const StoredConstant weight = weighted.model.stored(weighted.op.inputs()->Get(1));
    const int32_t* const bias =
        weighted.op.inputs()->size() > 2
            ? reinterpret_cast<const int32_t*>(weighted.model.constant(weighted.op.inputs()->Get(2)).data())
            : nullptr;
    const size_t width = window();
    for (size_t o = 0; o < outputs_; ++o) {
      const int8_t* const from = integers(weight.bytes.data()) + o * width;
      const auto wide = [&](int8_t w) { return std::abs(w - weight.type.zero_point) > kMaxNarrow; };
      if (!std::any_of(from, from + width, wide)) continue;
      channels_.push_back(
          {o, bias != nullptr ? bias[o] : 0, product.from.scale * product.scales[o] / product.to.scale});
      for (size_t i = 0; i < width; ++i) weights_.push_back(static_cast<int16_t>(from[i] - weight.type.zero_point));
    }
  }

  bool any() const { return !channels_.empty(); }
  std::unique_ptr<Op> narrow() { return std::move(narrow_); }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    x_ = inputs[0];
    y_ = output;
    return narrow_->reshape(inputs, output, pool, workspace);
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = integers(inputs[0]);
    output_ = integers(output);
    return narrow_->setup(inputs, output, workspace);
  }

  Status run(Pool* pool) override {
    FERRY_TRY(narrow_->run(pool));
    parallel_rows(pool, elements(y_, 0, y_.rank - 1), weights_.size(), [&](size_t begin, size_t end) {
      for (size_t pixel = begin; pixel < end; ++pixel)
        for (size_t i = 0; i < channels_.size(); ++i) compute(pixel, channels_[i], weights_.data() + i * window());
    });
    return {};
  }

 private:
  struct Channel {
    size_t index;
    int32_t bias;
    float multiplier;
  };

  size_t window() const { return static_cast<size_t>(kernel_h_) * static_cast<size_t>(kernel_w_) * inputs_; }

  void compute(size_t pixel, const Channel& channel, const int16_t* weight) const {
    auto sum = static_cast<uint32_t>(channel.bias);
    const auto add = [&](size_t from, const int16_t* w) {
      const size_t first = from * groups_ * inputs_ + channel.index / (outputs_ / groups_) * inputs_;
      sum += static_cast<uint32_t>(wide_product(input_ + first, zero_point_, w, inputs_));
    };
    if (convolution_ == nullptr) {
      add(pixel, weight);
    } else {
      const auto width = static_cast<size_t>(y_[2]), height = static_cast<size_t>(y_[1]);
      const int64_t top =
          int64_t{convolution_->stride_h()} * static_cast<int64_t>(pixel / width % height) - convolution_->pad_top();
      const int64_t left =
          int64_t{convolution_->stride_w()} * static_cast<int64_t>(pixel % width) - convolution_->pad_left();
      const auto image = static_cast<int64_t>(pixel / width / height);
      for (int64_t i = 0; i < kernel_h_; ++i)
        for (int64_t j = 0; j < kernel_w_; ++j) {
          const int64_t row = top + i * convolution_->dilation_h(), column = left + j * convolution_->dilation_w();
          if (row < 0 || row >= x_[1] || column < 0 || column >= x_[2]) continue;
          add(static_cast<size_t>((image * x_[1] + row) * x_[2] + column),
              weight + static_cast<size_t>(i * kernel_w_ + j) * inputs_);
        }
    }
    const auto total = static_cast<int32_t>(sum);
    quantize_sums(&total, channel.multiplier, to_, output_ + pixel * outputs_ + channel.index, 1);
  }

  std::unique_ptr<Op> narrow_;      // computes all channels
  const fbs::Conv2d* convolution_;  // null: a linear
  int64_t kernel_h_ = 1, kernel_w_ = 1;
  size_t groups_ = 1, inputs_ = 0, outputs_;  // inputs_: of a group
  int32_t zero_point_ = 0;                    // of the input
  Int8Output to_;
  std::vector<Channel> channels_;
  std::vector<int16_t> weights_;  // of each channel
  Shape x_, y_;
  const int8_t* input_ = nullptr;
  int8_t* output_ = nullptr;
};

}  // namespace

Status add_wide_channels(const Weighted& weighted, std::unique_ptr<Op>* op) {
  if (weighted.model.stored(weighted.op.inputs()->Get(1)).type.zero_point == 0) return {};
  auto wide = std::make_unique<WideChannels>(weighted, std::move(*op));
  if (wide->any())
    *op = std::move(wide);
  else
    *op = wide->narrow();
  return {};
}

}  // namespace ferry::cpu
