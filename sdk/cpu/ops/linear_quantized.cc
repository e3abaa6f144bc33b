#include "sdk/cpu/ops/linear_quantized.h"
#include "sdk/threads/xnnpack.h"

#include <algorithm>
#include <optional>

#include "sdk/cpu/gemm/linear_blocks.h"
#include "sdk/cpu/xnnpack/weights.h"
#include "sdk/operators/pointwise.h"

namespace ferry::cpu {
namespace {

// Quantization parameters that kernels read past the last row's. XNNPACK documents XNN_EXTRA_QUANTIZATION_PARAMS and
// fills as many, but it has kernels of 14 rows, of which all but one may lie past the last. No kernel has more than 32
// rows.
constexpr size_t kExtraRows = 32;

// Loads the weight's integers in XNNPACK's format, and the bias.
class IntegerWeights : public WeightSource {
 public:
  IntegerWeights(const Model& model, const fbs::Operator& op) : WeightSource(model, op), model_(model), op_(op) {}

  Status load(const void** weight, const float** bias) override {
    const StoredConstant stored = model_.stored(op_.inputs()->Get(1));
    *weight = stored.bytes.data();
    if (stored.type.dtype == fbs::DType::Int4) {  // unsigned, 0 to 15, with the zero point 8
      nibbles_.resize(stored.bytes.size());
      for (size_t i = 0; i < nibbles_.size(); ++i) nibbles_[i] = std::to_integer<uint8_t>(stored.bytes[i]) ^ 0x88;
      *weight = nibbles_.data();
    }
    FERRY_TRY(constant_input(model_, op_, 2, &bias_));
    *bias = bias_.data;
    return {};
  }

 private:
  const Model& model_;
  const fbs::Operator& op_;
  std::vector<uint8_t> nibbles_;
  FloatConstant bias_;
};

class LinearQuantized : public Op {
 public:
  LinearQuantized(fbs::OpParams type, size_t inputs) : type_(type), inputs_(inputs) {}

  Status create(const CpuFeatures& cpu, const StoredConstant& weight, const Gemm& gemm, IntegerWeights& source) {
    const size_t outputs = static_cast<size_t>(weight.shape[0]);
    xnn_operator_t created = nullptr;
    const xnn_status status = xnn_create_convert_nc_f32_qd8(/*flags=*/0, &created);
    if (status == xnn_status_success) rounding_.reset(created);
    FERRY_TRY(check(status, type_, "creating"));
    if (LinearBlocks::pays(cpu, weight)) {
      own_.emplace(cpu, inputs_, outputs, gemm.output_min, gemm.output_max);
      return own_->create(weight, source);
    }
    eight_bits_ = weight.type.dtype == fbs::DType::Int8;
    if (eight_bits_) {
      std::vector<float> scales(outputs);
      const float* stored = reinterpret_cast<const float*>(weight.scales.data());
      for (size_t o = 0; o < outputs; ++o) scales[o] = stored[weight.scales.size() == sizeof(float) ? 0 : o];
      const XnnPacking packing{source, PackingId("xnnpack fully_connected qd8 f32 qc8w", kXnnLayouts)};
      return create_packed(
          packing, type_,
          [&](const void* integers, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
            return xnn_create_fully_connected_nc_qd8_f32_qc8w(
                inputs_, outputs, inputs_, outputs, scales.data(), static_cast<const int8_t*>(integers), bias,
                gemm.output_min, gemm.output_max, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
          },
          &product_);
    }
    constexpr uint8_t kZeroPoint = 8;
    const XnnPacking packing{source, PackingId("xnnpack fully_connected qd8 f32 qb4w", kXnnLayouts)};
    return create_packed(
        packing, type_,
        [&](const void* integers, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
          return xnn_create_fully_connected_nc_qd8_f32_qb4w(
              inputs_, outputs, inputs_, outputs, static_cast<size_t>(weight.type.block), kZeroPoint,
              reinterpret_cast<const uint16_t*>(weight.scales.data()), integers, bias, gemm.output_min, gemm.output_max,
              /*flags=*/0, /*code_cache=*/nullptr, cache, op);
        },
        &product_);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    rows_ = elements(inputs[0], 0, inputs[0].rank - 1);
    FERRY_TRY(check(xnn_reshape_convert_nc_f32_qd8(rounding_.get(), rows_, inputs_, inputs_, inputs_, as_xnnpack(pool)),
                    type_, "reshaping"));
    // Workspace: the rows' integers, then their quantization parameters.
    *workspace = padded_size(rows_ * inputs_) + uint64_t{rows_ + kExtraRows} * sizeof(xnn_quantization_params);
    if (own_) {
      *workspace += own_->sums(rows_) * sizeof(int32_t);
      return {};
    }
    const xnn_status status =
        eight_bits_ ? xnn_reshape_fully_connected_nc_qd8_f32_qc8w(product_.get(), rows_, as_xnnpack(pool))
                    : xnn_reshape_fully_connected_nc_qd8_f32_qb4w(product_.get(), rows_, as_xnnpack(pool));
    return check(status, type_, "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    int8_t* rows = static_cast<int8_t*>(workspace);
    auto* steps = reinterpret_cast<xnn_quantization_params*>(rows + padded_size(rows_ * inputs_));
    last_row_ = steps + rows_ - 1;
    FERRY_TRY(
        check(xnn_setup_convert_nc_f32_qd8(rounding_.get(), floats(inputs[0]), rows, steps), type_, "setting up"));
    if (own_) {
      y_ = floats(output);
      own_rows_ = {rows, steps, reinterpret_cast<int32_t*>(steps + rows_ + kExtraRows), rows_};
      return {};
    }
    return check(eight_bits_ ? xnn_setup_fully_connected_nc_qd8_f32_qc8w(product_.get(), rows, floats(output), steps)
                             : xnn_setup_fully_connected_nc_qd8_f32_qb4w(product_.get(), rows, floats(output), steps),
                 type_, "setting up");
  }

  Status run(Pool* pool) override {
    FERRY_TRY(check(xnn_run_operator(rounding_.get(), as_xnnpack(pool)), type_, "running"));
    if (own_) {
      own_->run(own_rows_, y_, pool);
      return {};
    }
    std::fill_n(last_row_ + 1, kExtraRows, *last_row_);
    return check(xnn_run_operator(product_.get(), as_xnnpack(pool)), type_, "running");
  }

 private:
  fbs::OpParams type_;
  size_t inputs_, rows_ = 0;
  bool eight_bits_ = true;
  xnn_quantization_params* last_row_ = nullptr;
  XnnOperator rounding_;
  PackedXnn product_;
  std::optional<LinearBlocks> own_;  // replaces XNNPACK's operator
  BlockRows own_rows_{};
  float* y_ = nullptr;
};

}  // namespace

bool linear_quantized_applies(const Weighted& weighted) {
  const Type type = type_of(weighted.model.tensor(weighted.op.inputs()->Get(1)));
  const fbs::Conv2d* convolution = weighted.op.params_as_Conv2d();
  if (!type.quantized || type.zero_point != 0) return false;
  const bool float16 = type.block > 0 && weighted.model.tensor(type.scale).dtype() == fbs::DType::Float16;
  if (convolution != nullptr && !is_pointwise(*convolution, weighted.weight)) return false;
  if (type.block == kLinearBlock) return true;
  return type.dtype == fbs::DType::Int8 ? type.block == 0 && type.axis == 0 : type.block > 0 && !float16;
}

Status create_linear_quantized(const Weighted& weighted, std::unique_ptr<Op>* out) {
  const fbs::Operator& op = weighted.op;
  const StoredConstant weight = weighted.model.stored(op.inputs()->Get(1));
  IntegerWeights source(weighted.model, op);
  auto linear = std::make_unique<LinearQuantized>(op.params_type(), weighted.gemm.inputs);
  const Status status = linear->create(weighted.cpu, weight, weighted.gemm, source);
  if (status.ok()) *out = std::move(linear);
  // XNNPACK accepts block sizes that are multiples of 32, and positive normal scales; some CPUs have no kernel.
  return status.code() == FERRY_UNSUPPORTED ? Status() : status;
}

}  // namespace ferry::cpu
