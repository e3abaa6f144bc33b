#include "sdk/cpu/exponential.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// ---- those that XNNPACK lacks, or refuses for some parameters -------------------------------------------------------

using Kernel = void (*)(const float* x, float* y, size_t count, float alpha, float beta);

FERRY_KERNEL void clamp(const float* x, float* y, size_t count, float low, float high) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    float value = x[i];
    value = value < low ? low : value;
    y[i] = value > high ? high : value;
  }
}

FERRY_KERNEL void leaky_relu(const float* x, float* y, size_t count, float slope, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : x[i] * slope;
}

FERRY_KERNEL void hard_sigmoid(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float low = x[i] + 3.0f < 0.0f ? 0.0f : x[i] + 3.0f;
    y[i] = (low > 6.0f ? 6.0f : low) * (1.0f / 6.0f);
  }
}

// Below -87 the result is 0 to within 2e-36.
FERRY_KERNEL void silu(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = (x[i] < -87.0f ? -87.0f : x[i]) * sigmoid(x[i]);
}

// x / 2 * (1 + tanh(y)) is x * sigmoid(2y).
FERRY_KERNEL void gelu_tanh(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i];
    y[i] = value * sigmoid(1.5957691216057308f * (value + 0.044715f * value * value * value));
  }
}

class Own : public Op {
 public:
  Own(Kernel kernel, float alpha, float beta) : kernel_(kernel), alpha_(alpha), beta_(beta) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    count_ = elements(inputs[0]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
      kernel_(input_ + begin, output_ + begin, end - begin, alpha_, beta_);
    });
    return {};
  }

 private:
  Kernel kernel_;
  float alpha_, beta_;
  size_t count_ = 0;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

// ---- XNNPACK's ------------------------------------------------------------------------------------------------------

class Unary : public XnnOp {
 public:
  Unary() : XnnOp(fbs::OpParams::Unary) {}

  Status create(xnn_unary_operator kind) {
    xnn_operator_t created = nullptr;
    const xnn_status status =
        xnn_create_unary_elementwise_nc(kind, xnn_datatype_fp32, xnn_datatype_fp32, /*params=*/nullptr,
                                        /*input_quantization=*/nullptr, /*output_quantization=*/nullptr, 0, &created);
    return own(status, created);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t pool, size_t* workspace) override {
    *workspace = 0;
    return check(xnn_reshape_unary_elementwise_nc(xnn_.get(), elements(inputs[0]), 1, 1, 1, pool), "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_unary_elementwise_nc(xnn_.get(), inputs[0], output), "setting up");
  }
};

xnn_unary_operator xnn_kind(fbs::UnaryKind kind) {
  switch (kind) {
    case fbs::UnaryKind::Sigmoid: return xnn_unary_sigmoid;
    case fbs::UnaryKind::Tanh: return xnn_unary_tanh;
    case fbs::UnaryKind::HardSwish: return xnn_unary_hardswish;
    case fbs::UnaryKind::Gelu: return xnn_unary_gelu;
    case fbs::UnaryKind::Abs: return xnn_unary_abs;
    case fbs::UnaryKind::Neg: return xnn_unary_negate;
    case fbs::UnaryKind::Exp: return xnn_unary_exp;
    case fbs::UnaryKind::Sqrt: return xnn_unary_square_root;
    case fbs::UnaryKind::Square: return xnn_unary_square;
    default: return xnn_unary_invalid;
  }
}

}  // namespace

Status create_unary(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Unary& p = *op.params_as_Unary();
  switch (p.kind()) {
    case fbs::UnaryKind::Clamp: *out = std::make_unique<Own>(clamp, p.alpha(), p.beta()); return {};
    case fbs::UnaryKind::LeakyRelu: *out = std::make_unique<Own>(leaky_relu, p.alpha(), 0.0f); return {};
    case fbs::UnaryKind::Silu: *out = std::make_unique<Own>(silu, 0.0f, 0.0f); return {};
    case fbs::UnaryKind::HardSigmoid: *out = std::make_unique<Own>(hard_sigmoid, 0.0f, 0.0f); return {};
    case fbs::UnaryKind::GeluTanh: *out = std::make_unique<Own>(gelu_tanh, 0.0f, 0.0f); return {};
    default: break;
  }
  auto unary = std::make_unique<Unary>();
  FERRY_TRY(unary->create(xnn_kind(p.kind())));
  *out = std::move(unary);
  return {};
}

}  // namespace ferry::cpu
