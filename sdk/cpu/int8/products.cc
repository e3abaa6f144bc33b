// Convolutions and linear layers by XNNPACK's kernels for Int8 with a scale per output channel. Of XNNPACK's integer
// kernels only these round alike on every CPU: by a multiplication in float32.
#include "sdk/cpu/int8/products.h"
#include "sdk/cpu/xnnpack/panels.h"

namespace ferry::cpu {
namespace {

class Int8Conv2d : public PanelOp {
 public:
  Int8Conv2d() : PanelOp(fbs::OpParams::Conv2d) {}

  Status create(const Weighted& weighted) {
    const fbs::Conv2d& p = *weighted.op.params_as_Conv2d();
    const Shape& w = weighted.weight;
    const Int8Product product(weighted);
    FERRY_TRY(product.check(weighted.op.params_type()));
    Int8Weights source(weighted.model, weighted.op);
    const auto groups = static_cast<size_t>(p.groups()), inputs = static_cast<size_t>(w[3]);
    const size_t outputs = static_cast<size_t>(w[0]) / groups;
    const bool moves = p.stride_h() > 1 || p.stride_w() > 1;
    const bool pads = p.pad_top() != 0 || p.pad_left() != 0 || p.pad_bottom() != 0 || p.pad_right() != 0;
    const XnnPacking packing{
        .source = source,
        .id = product.identity("xnnpack convolution2d qs8 qc8w", kXnnLayouts).add(groups).add(moves).add(pads),
        .weight_bytes = elements(w),
        .bias_bytes = static_cast<size_t>(w[0]) * sizeof(int32_t)};
    return add(packing, [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return xnn_create_convolution2d_nhwc_qs8_qc8w(
          static_cast<uint32_t>(p.pad_top()), static_cast<uint32_t>(p.pad_right()),
          static_cast<uint32_t>(p.pad_bottom()), static_cast<uint32_t>(p.pad_left()), static_cast<uint32_t>(w[1]),
          static_cast<uint32_t>(w[2]), static_cast<uint32_t>(p.stride_h()), static_cast<uint32_t>(p.stride_w()),
          static_cast<uint32_t>(p.dilation_h()), static_cast<uint32_t>(p.dilation_w()), static_cast<uint32_t>(groups),
          inputs, outputs, groups * inputs, groups * outputs, product.from_zero(), product.from.scale,
          product.scales.data(), integers(weight), reinterpret_cast<const int32_t*>(bias), product.to_zero(),
          product.to.scale, product.low, product.high, XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER,
          /*code_cache=*/nullptr, cache, op);
    });
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    const Shape& x = inputs[0];
    if (sizeof(size_t) < sizeof(uint64_t) && elements(output, 0, 3) > kMaxElements / elements(inputs[1], 1, 3))
      return error(FERRY_UNSUPPORTED, "conv2d: an output of %dx%d is too large for a kernel of %dx%d on 32 bits",
                   output[1], output[2], inputs[1][1], inputs[1][2]);
    size_t alignment = 0, height = 0, width = 0, bytes = 0;
    FERRY_TRY(check(xnn_reshape_convolution2d_nhwc_qs8_qc8w(panels_[0].get(), static_cast<size_t>(x[0]),
                                                            static_cast<size_t>(x[1]), static_cast<size_t>(x[2]),
                                                            &bytes, &alignment, &height, &width, as_xnnpack(pool)),
                    "reshaping"));
    *workspace = bytes;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    return check(
        xnn_setup_convolution2d_nhwc_qs8_qc8w(panels_[0].get(), workspace, integers(inputs[0]), integers(output)),
        "setting up");
  }
};

class Int8Linear : public PanelOp {
 public:
  Int8Linear() : PanelOp(fbs::OpParams::Linear) {}

  Status create(const Weighted& weighted) {
    const Int8Product product(weighted);
    FERRY_TRY(product.check(weighted.op.params_type()));
    Int8Weights source(weighted.model, weighted.op);
    const size_t inputs = weighted.gemm.inputs, outputs = weighted.gemm.outputs;
    const XnnPacking packing{source, product.identity("xnnpack fully_connected qs8 qc8w", kXnnLayouts)};
    return add(packing, [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return xnn_create_fully_connected_nc_qs8_qc8w(
          inputs, outputs, inputs, outputs, product.from_zero(), product.from.scale, product.scales.data(),
          integers(weight), reinterpret_cast<const int32_t*>(bias), product.to_zero(), product.to.scale, product.low,
          product.high, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
    });
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    const size_t rows = elements(inputs[0], 0, inputs[0].rank - 1);
    return check(xnn_reshape_fully_connected_nc_qs8_qc8w(panels_[0].get(), rows, as_xnnpack(pool)), "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_fully_connected_nc_qs8_qc8w(panels_[0].get(), integers(inputs[0]), integers(output)),
                 "setting up");
  }
};

}  // namespace

Status create_int8_conv2d(const Weighted& weighted, std::unique_ptr<Op>* out) {
  auto conv = std::make_unique<Int8Conv2d>();
  FERRY_TRY(conv->create(weighted));
  *out = std::move(conv);
  return add_wide_channels(weighted, out);
}

Status create_int8_linear(const Weighted& weighted, std::unique_ptr<Op>* out) {
  auto linear = std::make_unique<Int8Linear>();
  FERRY_TRY(linear->create(weighted));
  *out = std::move(linear);
  return add_wide_channels(weighted, out);
}

}  // namespace ferry::cpu
