#include <algorithm>
#include <cstring>
#include <vector>

#include "sdk/cpu/backend/algorithms.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/weights.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

constexpr fbs::OpParams kType = fbs::OpParams::ConvTranspose2d;

class ConvTranspose2d : public Op {
 public:
  ConvTranspose2d(const fbs::ConvTranspose2d& params, const Shape& weight) : params_(params), weight_(weight) {}

  Status create(WeightSource& source) {
    const fbs::ConvTranspose2d& p = params_;
    const size_t groups = static_cast<size_t>(p.groups());
    const size_t group_inputs = static_cast<size_t>(weight_[3]);
    const size_t group_outputs = static_cast<size_t>(weight_[0]) / groups;
    // Kernels are packed by the stride phase at which their cells meet the output.
    PackingId id("xnnpack deconvolution2d f32", kXnnLayouts);
    for (const int number : {p.stride_h(), p.stride_w(), p.dilation_h(), p.dilation_w(), p.groups()})
      id.add(static_cast<uint64_t>(number));
    const XnnPacking packing{.source = source,
                             .id = id,
                             .weight_bytes = elements(weight_) * sizeof(float),
                             .bias_bytes = static_cast<size_t>(weight_[0]) * sizeof(float)};
    const auto create = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return xnn_create_deconvolution2d_nhwc_f32(
          static_cast<uint32_t>(p.pad_top()), static_cast<uint32_t>(p.pad_right()),
          static_cast<uint32_t>(p.pad_bottom()), static_cast<uint32_t>(p.pad_left()), static_cast<uint32_t>(weight_[1]),
          static_cast<uint32_t>(weight_[2]), static_cast<uint32_t>(p.stride_h()), static_cast<uint32_t>(p.stride_w()),
          static_cast<uint32_t>(p.dilation_h()), static_cast<uint32_t>(p.dilation_w()), static_cast<uint32_t>(groups),
          group_inputs, group_outputs, groups * group_inputs, groups * group_outputs, floats(weight), bias,
          p.output_min(), p.output_max(), /*flags=*/0, /*code_cache=*/nullptr, cache, op);
    };
    return create_packed(packing, kType, create, &xnn_);
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    const Shape& x = inputs[0];
    *workspace = 0;
    // XNNPACK subtracts the stride phase (0 to stride - 1) from the output size and computes the length of its
    // indirection buffer, both without overflow checks.
    for (int d : {1, 2}) {
      const int stride = d == 1 ? params_.stride_h() : params_.stride_w();
      if (output[d] < stride - 1)
        return error(FERRY_UNSUPPORTED, "conv_transpose2d: an output of %dx%d is too small for strides of %dx%d",
                     output[1], output[2], params_.stride_h(), params_.stride_w());
    }
    if (elements(output, 1, 3) > static_cast<size_t>(kMaxElements) / elements(weight_, 1, 3))
      return error(FERRY_UNSUPPORTED, "conv_transpose2d: an output of %dx%d is too large for a kernel of %dx%d",
                   output[1], output[2], weight_[1], weight_[2]);
    size_t height = 0, width = 0;
    FERRY_TRY(check(xnn_reshape_deconvolution2d_nhwc_f32(
                        xnn_.get(), static_cast<size_t>(x[0]), static_cast<size_t>(x[1]), static_cast<size_t>(x[2]),
                        static_cast<uint32_t>(params_.output_padding_h()),
                        static_cast<uint32_t>(params_.output_padding_w()), &height, &width, as_xnnpack(pool)),
                    kType, "reshaping"));
    if (height != static_cast<size_t>(output[1]) || width != static_cast<size_t>(output[2]))
      return error(FERRY_BACKEND_ERROR, "conv_transpose2d: XNNPACK plans an output of %zux%zu for %s", height, width,
                   in_words(output).c_str());
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_deconvolution2d_nhwc_f32(xnn_.get(), floats(inputs[0]), floats(output)), kType,
                 "setting up");
  }

  Status run(Pool* pool) override { return check(xnn_run_operator(xnn_.get(), as_xnnpack(pool)), kType, "running"); }

 private:
  const fbs::ConvTranspose2d& params_;
  Shape weight_;
  PackedXnn xnn_;
};

// Weights of the matrix product that computes the windows: [KH*KW*O,I].
class WindowWeights : public WeightSource {
 public:
  WindowWeights(const Model& model, const fbs::Operator& op, const Shape& weight)
      : WeightSource(model, op),
        cells_(elements(weight, 1, 3)),
        outputs_(elements(weight, 0, 1)),
        inputs_(elements(weight, 3, 4)) {}

 protected:
  void describe(PackingId* id) const override { *id = PackingId("windows", 1).add(id->value()); }

  Status transform(FloatConstant* weight, FloatConstant* bias) override {
    std::vector<float> by_cell(cells_ * outputs_ * inputs_), biases(bias->data != nullptr ? cells_ * outputs_ : 0);
    for (size_t cell = 0; cell < cells_; ++cell) {
      for (size_t o = 0; o < outputs_; ++o)
        std::copy_n(weight->data + (o * cells_ + cell) * inputs_, inputs_, &by_cell[(cell * outputs_ + o) * inputs_]);
      if (bias->data != nullptr) std::copy_n(bias->data, outputs_, &biases[cell * outputs_]);
    }
    weight->storage = std::move(by_cell);
    weight->data = weight->storage.data();
    if (bias->data == nullptr) return {};
    bias->storage = std::move(biases);
    bias->data = bias->storage.data();
    return {};
  }

 private:
  size_t cells_, outputs_, inputs_;
};

// For windows that neither overlap nor are cropped: one matrix product computes the window of each input pixel, then
// its rows are copied to the output.
class Windows : public Op {
 public:
  Windows(const Shape& weight, bool float16)
      : element_bytes_(element_bytes(float16)),
        outputs_(static_cast<size_t>(weight[0])),
        kernel_h_(static_cast<size_t>(weight[1])),
        kernel_w_(static_cast<size_t>(weight[2])),
        inputs_(static_cast<size_t>(weight[3])) {}

  Status create(const CpuFeatures& cpu, const Gemm& gemm, WeightSource& source) {
    return create_gemm(cpu, gemm, source, &product_);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    const Shape& x = inputs[0];
    rows_ = elements(x, 0, 2);
    width_ = static_cast<size_t>(x[2]);
    const uint64_t row = uint64_t{element_bytes_} * width_ * kernel_h_ * kernel_w_ * outputs_;
    together_ = static_cast<size_t>(std::clamp<uint64_t>(kTogetherBytes / row, 1, rows_));
    *workspace = together_ * row;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = static_cast<const std::byte*>(inputs[0]);
    output_ = static_cast<std::byte*>(output);
    windows_ = static_cast<std::byte*>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    for (size_t row = 0; row < rows_; row += together_) FERRY_TRY(run(pool, row, std::min(together_, rows_ - row)));
    return {};
  }

  bool fuse(Next& next) override { return next.function != nullptr && product_->fuse(next); }

 private:
  static constexpr size_t kTogetherBytes = 256 << 10;  // of windows that stay in the L2 cache

  // Computes input rows from `first`. The product's reshape() and setup() only store sizes and addresses.
  Status run(Pool* pool, size_t first, size_t count) {
    const Shape pixels{static_cast<int32_t>(count * width_), static_cast<int32_t>(inputs_)};
    const void* input = input_ + first * width_ * inputs_ * element_bytes_;
    uint64_t workspace = 0;
    FERRY_TRY(product_->reshape({&pixels, 1}, pixels, pool, &workspace));
    FERRY_TRY(product_->setup({&input, 1}, windows_, nullptr));
    FERRY_TRY(product_->run(pool));
    const size_t run = kernel_w_ * outputs_ * element_bytes_, row = width_ * run;
    std::byte* output = output_ + first * kernel_h_ * row;
    parallel_rows(pool, count, kernel_h_ * row / element_bytes_, [&](size_t begin, size_t end) {
      for (size_t pixel = begin * width_; pixel < end * width_; ++pixel)
        for (size_t k = 0; k < kernel_h_; ++k)
          std::memcpy(output + (pixel / width_ * kernel_h_ + k) * row + pixel % width_ * run,
                      windows_ + (pixel * kernel_h_ + k) * run, run);
    });
    return {};
  }

  const size_t element_bytes_;
  size_t outputs_, kernel_h_, kernel_w_, inputs_;
  std::unique_ptr<Op> product_;
  size_t rows_ = 0, width_ = 0, together_ = 1;  // of the input
  const std::byte* input_ = nullptr;
  std::byte *windows_ = nullptr, *output_ = nullptr;
};

}  // namespace

bool windows_are_apart(const Weighted& weighted) {
  const fbs::ConvTranspose2d& p = *weighted.op.params_as_ConvTranspose2d();
  return p.groups() == 1 && p.stride_h() == weighted.weight[1] && p.stride_w() == weighted.weight[2] &&
         p.dilation_h() == 1 && p.dilation_w() == 1 && p.pad_top() == 0 && p.pad_left() == 0 && p.pad_bottom() == 0 &&
         p.pad_right() == 0 && p.output_padding_h() == 0 && p.output_padding_w() == 0;
}

Status create_conv_transpose2d_by_gemm(const Weighted& weighted, std::unique_ptr<Op>* out) {
  WindowWeights source(weighted.model, weighted.op, weighted.weight);
  auto windows = std::make_unique<Windows>(weighted.weight, weighted.float16);
  FERRY_TRY(windows->create(weighted.cpu, weighted.gemm, source));
  *out = std::move(windows);
  return {};
}

Status create_xnnpack_conv_transpose2d(const Weighted& weighted, std::unique_ptr<Op>* out) {
  WeightSource source(weighted.model, weighted.op);
  auto conv = std::make_unique<ConvTranspose2d>(*weighted.op.params_as_ConvTranspose2d(), weighted.weight);
  FERRY_TRY(conv->create(source));
  *out = std::move(conv);
  return {};
}

}  // namespace ferry::cpu
