#include <algorithm>

#include "sdk/cpu/backend/algorithms.h"
#include "sdk/cpu/xnnpack/panels.h"
#include "sdk/operators/built_in.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

#if defined(__aarch64__)
constexpr bool kFloat16Conv2d = false;  // only our own kernels
#else
constexpr bool kFloat16Conv2d = built_in(Feature::Float16);
#endif

bool pads(const fbs::Conv2d& p) {
  return p.pad_top() != 0 || p.pad_left() != 0 || p.pad_bottom() != 0 || p.pad_right() != 0;
}

class Conv2d : public PanelOp {
 public:
  explicit Conv2d(bool float16) : PanelOp(fbs::OpParams::Conv2d), float16_(float16) {}

  // width: output channels per panel.
  Status create(const fbs::Conv2d& p, const Shape& w, size_t width, WeightSource& source) {
    const size_t groups = static_cast<size_t>(p.groups());
    const size_t group_inputs = static_cast<size_t>(w[3]);
    const size_t group_outputs = static_cast<size_t>(w[0]) / groups;
    const size_t channel = elements(w, 1, 4);  // weights per output channel
    width_ = width;
    // One indirection buffer in the session's workspace instead of one per convolution, whose size is that of the
    // output times the kernel. Panels run concurrently and belong to small images: they keep their own.
    const uint32_t flags = (width_ < group_outputs ? 0 : XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER) |
                           (float16_ ? XNN_FLAG_FP32_STATIC_WEIGHTS : 0);
    for (size_t begin = 0; begin < group_outputs; begin += width_) {
      const size_t outputs = std::min(width_, group_outputs - begin);
      // A kernel that reads each pixel once, without padding, is packed for a matrix product.
      const bool moves = p.stride_h() > 1 || p.stride_w() > 1, bordered = pads(p);
      const PackingId id = PackingId(float16_ ? "xnnpack convolution2d f16" : "xnnpack convolution2d f32", kXnnLayouts)
                               .add(groups)
                               .add(begin)
                               .add(outputs)
                               .add(moves)
                               .add(bordered);
      const XnnPacking packing{.source = source,
                               .id = id,
                               .weight_bytes = elements(w) * sizeof(float),
                               .bias_bytes = static_cast<size_t>(w[0]) * sizeof(float)};
      FERRY_TRY(add(packing, [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
        const auto created = [&](auto function) {
          return function(static_cast<uint32_t>(p.pad_top()), static_cast<uint32_t>(p.pad_right()),
                          static_cast<uint32_t>(p.pad_bottom()), static_cast<uint32_t>(p.pad_left()),
                          static_cast<uint32_t>(w[1]), static_cast<uint32_t>(w[2]), static_cast<uint32_t>(p.stride_h()),
                          static_cast<uint32_t>(p.stride_w()), static_cast<uint32_t>(p.dilation_h()),
                          static_cast<uint32_t>(p.dilation_w()), static_cast<uint32_t>(groups), group_inputs, outputs,
                          groups * group_inputs, groups * group_outputs, DataPointer(floats(weight) + begin * channel),
                          bias != nullptr ? bias + begin : nullptr, p.output_min(), p.output_max(), flags,
                          /*code_cache=*/nullptr, cache, op);
        };
        return with_float16<kFloat16Conv2d>(float16_, created, xnn_create_convolution2d_nhwc_f16,
                                            xnn_create_convolution2d_nhwc_f32);
      }));
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    const Shape &x = inputs[0], &w = inputs[1];
    // XNNPACK computes the length of its indirection buffer without overflow checks.
    if (sizeof(size_t) < sizeof(uint64_t) && elements(output, 0, 3) > kMaxElements / elements(w, 1, 3))
      return error(FERRY_UNSUPPORTED, "conv2d: an output of %dx%d is too large for a kernel of %dx%d on 32 bits",
                   output[1], output[2], w[1], w[2]);
    for (const PackedXnn& panel : panels_) {
      size_t alignment = 0, height = 0, width = 0, bytes = 0;
      const auto plan = [&](auto function) {
        return function(panel.get(), static_cast<size_t>(x[0]), static_cast<size_t>(x[1]), static_cast<size_t>(x[2]),
                        &bytes, &alignment, &height, &width, as_xnnpack(within(pool)));
      };
      FERRY_TRY(check(with_float16<kFloat16Conv2d>(float16_, plan, xnn_reshape_convolution2d_nhwc_f16,
                                                   xnn_reshape_convolution2d_nhwc_f32),
                      "reshaping"));
      *workspace = bytes;
      if (height != static_cast<size_t>(output[1]) || width != static_cast<size_t>(output[2]) || alignment > kAlignment)
        return error(FERRY_BACKEND_ERROR, "conv2d: XNNPACK plans an output of %zux%zu for %s", height, width,
                     in_words(output).c_str());
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    auto* to = static_cast<std::byte*>(output);
    for (const PackedXnn& panel : panels_) {
      const auto set = [&](auto function) {
        return function(panel.get(), workspace, DataPointer(inputs[0]), DataPointer(to));
      };
      FERRY_TRY(check(with_float16<kFloat16Conv2d>(float16_, set, xnn_setup_convolution2d_nhwc_f16,
                                                   xnn_setup_convolution2d_nhwc_f32),
                      "setting up"));
      to += width_ * element_bytes(float16_);
    }
    return {};
  }

 private:
  const bool float16_;
};

}  // namespace

Status create_xnnpack_conv2d(const Weighted& weighted, std::unique_ptr<Op>* out) {
  const fbs::Conv2d& p = *weighted.op.params_as_Conv2d();
  const Shape& w = weighted.weight;
#if defined(__aarch64__)
  if (!weighted.float16 && !built_in(Feature::OtherDepthwise) && w[3] == 1)
    return left_out("a depthwise convolution that is not 3x3");
#endif
  const size_t group_outputs = static_cast<size_t>(w[0] / p.groups());
  const size_t channel_bytes = elements(w, 1, 4) * element_bytes(weighted.float16);
  WeightSource source(weighted.model, weighted.op);
  auto conv = std::make_unique<Conv2d>(weighted.float16);
  const size_t width = p.groups() == 1 ? panel_width(weighted.rows, channel_bytes, group_outputs) : group_outputs;
  FERRY_TRY(conv->create(p, w, width, source));
  *out = std::move(conv);
  return {};
}

// XNNPACK's depthwise kernels for float16 take 5 to 25 taps; without one of them it computes such a convolution slowly.
bool xnnpack_conv2d_applies(const Weighted& weighted) {
  const Shape& w = weighted.weight;
  const int64_t taps = int64_t{w[1]} * w[2];
  return !weighted.float16 || (kFloat16Conv2d && (w[3] != 1 || (taps >= 5 && taps <= 25)));
}

}  // namespace ferry::cpu
